/* SPDX-License-Identifier: GPL-2.0-only */
/* The one clock of all records. */
#ifndef TIPME_CLOCK_H
#define TIPME_CLOCK_H

#include <stdint.h>
#include <time.h>

#define TIPME_NS_PER_S 1000000000ULL

static inline uint64_t tipme_clock_of_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * TIPME_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static inline uint64_t tipme_clock_ns(void)
{
	return tipme_clock_of_ns(CLOCK_MONOTONIC);
}

#endif
