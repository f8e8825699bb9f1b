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

/*
 * By how much CLOCK_BOOTTIME is ahead. Who is kept from his CPU between two looks finds too much:
 * the least of several is right.
 */
static inline uint64_t tipme_clock_slept_ns(void)
{
	uint64_t least = ~0ULL;

	for (int i = 0; i < 8; i++) {
		uint64_t now = tipme_clock_ns(), ahead = tipme_clock_of_ns(CLOCK_BOOTTIME) - now;

		least = ahead < least ? ahead : least;
	}
	return least;
}

#endif
