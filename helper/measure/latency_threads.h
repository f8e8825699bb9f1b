/* SPDX-License-Identifier: GPL-2.0-only */
/* A real-time thread on each CPU. */
#ifndef TIPME_MEASURE_LATENCY_THREADS_H
#define TIPME_MEASURE_LATENCY_THREADS_H

#include <pthread.h>

#include "latency.h"

struct tipme_latency_thread {
	struct tipme_latencies *all;
	unsigned int index; /* of its CPU in `all` */
	int fd; /* of the source; -1: none */
	uint64_t period_ns, threshold_ns;
	unsigned int priority; /* what it has: 0 if real-time was refused */
	int err;
	pthread_t thread;
};

struct tipme_latency_work {
	void *(*run)(void *thread); /* on each CPU */
	/* may be NULL; twenty times a second */
	void (*meanwhile)(struct tipme_latencies *all, int fd);
	/* may be NULL; before a minute is taken */
	int (*refresh)(struct tipme_latencies *all, int fd);
};

/*
 * Runs `run` on each CPU at this priority until the time is over or a signal came. The rest is
 * called in the caller's thread. Returns 0 or -errno; the first error of a thread is one.
 */
int tipme_latency_threads(struct tipme_latencies *all, const struct tipme_latency_options *opt,
			  int fd, const struct tipme_latency_work *work);

#endif
