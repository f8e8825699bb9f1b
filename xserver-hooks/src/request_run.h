/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Joins requests of one client to runs, so that a client that sends millions does not wipe the
 * ring.
 */
#ifndef TIPME_REQUEST_RUN_H
#define TIPME_REQUEST_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "join.h"

/*
 * A run is of short requests that follow each other closely, so that its duration is work. In a
 * flood it is whatever comes.
 */
#define TIPME_RUN_SHORT_NS 20000
#define TIPME_RUN_GAP_NS 20000
#define TIPME_RUN_SPAN_NS 1000000
#define TIPME_RUN_FLOOD_SHORT_NS 500000

/* The run's record as it stands in the ring; count 0: none. */
struct tipme_request_run {
	struct tipme_x_request rec;
};

static TIPME_INLINE bool tipme_request_run_fits(const struct tipme_request_run *run,
						const struct tipme_x_request *req, bool flood)
{
	const struct tipme_x_request *rec = &run->rec;
	uint64_t begun_ns = req->ts_ns - rec->ts_ns;
	uint32_t short_ns = flood ? TIPME_RUN_FLOOD_SHORT_NS : TIPME_RUN_SHORT_NS;

	/* count has 16 bits: a run ends before it could wrap */
	if (!rec->count || rec->client != req->client || rec->pid != req->pid ||
	    rec->count > 65500 || req->duration_ns > short_ns ||
	    (rec->count == 1 && rec->duration_ns > short_ns))
		return false;
	if (flood)
		return begun_ns <= TIPME_JOIN_NS;
	return rec->duration_ns <= TIPME_RUN_SPAN_NS &&
	       begun_ns <= rec->duration_ns + (uint64_t)TIPME_RUN_GAP_NS;
}

/*
 * True: the request was added to the run, whose record has changed. False: the run is over, and
 * this one begins another.
 */
static TIPME_INLINE bool tipme_request_run_add(struct tipme_request_run *run,
					       const struct tipme_x_request *req, bool flood)
{
	struct tipme_x_request *rec = &run->rec;

	if (!tipme_request_run_fits(run, req, flood)) {
		*rec = *req;
		return false;
	}
	rec->duration_ns = (uint32_t)(req->ts_ns + req->duration_ns - rec->ts_ns);
	rec->major = req->major;
	rec->minor = req->minor;
	rec->sequence = req->sequence;
	rec->count = (uint16_t)(rec->count + req->count);
	return true;
}

TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, pid) == 16 &&
	     __builtin_offsetof(struct tipme_x_request, duration_ns) == 20);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, client) == 24 &&
	     __builtin_offsetof(struct tipme_x_request, major) == 26);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, minor) == 27 &&
	     __builtin_offsetof(struct tipme_x_request, sequence) == 28);
TIPME_ASSERT(__builtin_offsetof(struct tipme_x_request, count) == 30);

/* Writes the run over its slot. */
static TIPME_INLINE bool tipme_request_run_amend(const struct tipme_request_run *run,
						 struct tipme_xring *ring, uint64_t index)
{
	const struct tipme_x_request *rec = &run->rec;

	return tipme_xring_amend_body(
		ring, index, rec->pid | (uint64_t)rec->duration_ns << 32,
		rec->client | (uint64_t)rec->major << 16 | (uint64_t)rec->minor << 24 |
			(uint64_t)rec->sequence << 32 | (uint64_t)rec->count << 48);
}

static TIPME_INLINE void tipme_request_run_end(struct tipme_request_run *run)
{
	run->rec.count = 0;
}

#endif
