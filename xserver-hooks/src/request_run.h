/* SPDX-License-Identifier: GPL-2.0-only */
/* Joins short requests of one client to runs, so that a client that sends millions does not wipe the ring. */
#ifndef TIPME_REQUEST_RUN_H
#define TIPME_REQUEST_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "tipme_records.h"

/* Longer requests stand alone; a pause that long between two ends the run, so that its duration is work. */
#define TIPME_RUN_SHORT_NS 20000
#define TIPME_RUN_GAP_NS 20000
/* A run is written at least so often: what waits here is lost to a copy made while the server hangs. */
#define TIPME_RUN_SPAN_NS 1000000

/* The record under construction; count 0: none. */
struct tipme_request_run {
	struct tipme_x_request rec;
};

/* Adds a request; false: it does not fit, write the run first (tipme_request_run_take) and add it again. */
static inline bool tipme_request_run_add(struct tipme_request_run *run, const struct tipme_x_request *req)
{
	struct tipme_x_request *rec = &run->rec;
	uint64_t end_ns = rec->ts_ns + rec->duration_ns;

	if (!rec->count) {
		*rec = *req;
		return true;
	}
	/* count has 16 bits; the last value is left out so that a run is written before it could wrap */
	if (rec->client != req->client || rec->pid != req->pid || rec->count == 65534 ||
	    rec->duration_ns > TIPME_RUN_SPAN_NS || req->duration_ns > TIPME_RUN_SHORT_NS ||
	    (rec->count == 1 && rec->duration_ns > TIPME_RUN_SHORT_NS) || req->ts_ns - end_ns > TIPME_RUN_GAP_NS)
		return false;
	rec->duration_ns = (uint32_t)(req->ts_ns + req->duration_ns - rec->ts_ns);
	rec->major = req->major;
	rec->minor = req->minor;
	rec->sequence = req->sequence;
	rec->count++;
	return true;
}

/* The run's record, to be written, and the run is empty again; NULL if there is none. */
static inline const struct tipme_x_request *tipme_request_run_take(struct tipme_request_run *run,
								   struct tipme_x_request *out)
{
	if (!run->rec.count)
		return NULL;
	*out = run->rec;
	run->rec.count = 0;
	return out;
}

#endif
