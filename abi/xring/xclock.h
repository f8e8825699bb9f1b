/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one clock, CLOCK_MONOTONIC in nanoseconds, at half its price: the time-stamp counter, tied
 * anew to the clock when it was not for 100 milliseconds, with the rate of the last second. A time
 * never runs back. Where the kernel itself does not trust the counter, this is clock_gettime(). One
 * thread only.
 */
#ifndef TIPME_XCLOCK_H
#define TIPME_XCLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <x86intrin.h>

#include "hot.h"

struct tipme_xclock {
	uint64_t base_tsc;
	uint64_t base_ns;
	/* how far from the base the counter may be used; 0: not at all */
	uint64_t reach_tsc;
	uint64_t mult; /* ns per tick, times 2^32 */
	uint64_t last_ns;
	uint64_t anchor_tsc; /* where the rate is measured from */
	uint64_t anchor_ns;
	uint64_t tie_tsc; /* reach_tsc after a tie; 0: the rate is not known yet */
	unsigned misfits; /* times that the rate came out different */
	bool use_tsc;
};

void tipme_xclock_init(struct tipme_xclock *clock);

/* The slow way: asks the kernel, and ties the counter to the answer. */
uint64_t tipme_xclock_tie(struct tipme_xclock *clock);

static TIPME_INLINE uint64_t tipme_xclock_ns(struct tipme_xclock *clock)
{
	uint64_t ticks = __rdtsc() - clock->base_tsc, ns;

	/* Also when the counter is behind the base: then the difference is huge. */
	if (__builtin_expect(ticks >= clock->reach_tsc, 0))
		ns = tipme_xclock_tie(clock);
	else
		ns = clock->base_ns + (ticks * clock->mult >> 32);
	if (ns < clock->last_ns)
		ns = clock->last_ns;
	clock->last_ns = ns;
	return ns;
}

#endif
