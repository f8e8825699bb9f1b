/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel source's own counters, looked at each second: what status shows, and what was lost in
 * the last seconds.
 */
#ifndef TIPMED_WATCH_H
#define TIPMED_WATCH_H

#include <stdint.h>

#include "kernel_source.h"

struct tipmed_watch;

struct tipmed_watched {
	struct tipme_kernel_stats stats;
	uint64_t seen_ns; /* when */
	uint64_t rate; /* records in the last second */
	unsigned int threads; /* in the last picture */
	uint64_t picture_ns; /* how long that took */
};

int tipmed_watch_new(struct tipmed_watch **watch, struct tipme_kernel_source *source);
void tipmed_watch_free(struct tipmed_watch *watch);

/* Looks; only the thread that keeps house calls it. */
void tipmed_watch_look(struct tipmed_watch *watch, unsigned int threads, uint64_t picture_ns);

/* Any thread. Coverage of at most `n` CPUs; returns how many. */
unsigned int tipmed_watch_get(struct tipmed_watch *watch, struct tipmed_watched *now,
			      struct tipme_kernel_coverage *cov, unsigned int n);

/* The seconds of which all CPUs have everything, as the last look found; any thread may ask. */
double tipmed_watch_kept_s(struct tipmed_watch *watch, uint64_t now_ns);

/* The losses counted up to `ns` or shortly before; zero if that is before recording began. */
void tipmed_watch_lost_before(struct tipmed_watch *watch, uint64_t ns,
			      struct tipme_kernel_lost *lost);

#endif
