/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of the calling thread and of all that it starts: perf_event_open(), or a recorded trace.
 */
#ifndef TIPME_BENCH_COUNTERS_H
#define TIPME_BENCH_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#define TIPME_COUNTERS_MAX 16

struct tipme_counter {
	const char *name;
	int fd; /* -1: not available, or from a trace */
	int err; /* why it is not available: an errno; 0: it is */
	bool user_only; /* the kernel lets us count user mode only */
	bool read; /* `count` holds a value: the counter ran between start and stop */
	double count; /* between start and stop, scaled where the PMU was shared */
	uint64_t from[3];
	uint64_t *trace; /* readings in order, three numbers each, instead of the kernel's */
	unsigned int traced, next;
};

struct tipme_counters {
	struct tipme_counter at[TIPME_COUNTERS_MAX];
	unsigned int number;
};

/*
 * Opens all counters. What cannot be counted here stays in the list with its reason; it never reads
 * as zero. Threads and processes that are started later are counted with their parent.
 */
void tipme_counters_open(struct tipme_counters *c);

/*
 * The same from a file: lines `NAME VALUE ENABLED RUNNING`, in the order of the readings; `#`
 * begins a comment. A counter that the file does not name is not available. Returns 0 or -errno
 * (-EINVAL: a line that is none of these, an unknown name, or an odd number of readings).
 */
int tipme_counters_open_trace(struct tipme_counters *c, const char *path);

void tipme_counters_start(struct tipme_counters *c);
void tipme_counters_stop(struct tipme_counters *c);
void tipme_counters_close(struct tipme_counters *c);

#endif
