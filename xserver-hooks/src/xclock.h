/* SPDX-License-Identifier: GPL-2.0-only */
/* The one clock: CLOCK_MONOTONIC in nanoseconds. */
#ifndef TIPME_X_CLOCK_H
#define TIPME_X_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t tipme_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
