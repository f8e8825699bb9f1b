/* SPDX-License-Identifier: GPL-2.0-only */
/* The X server's clock, in milliseconds of 32 bits, as CLOCK_MONOTONIC nanoseconds. */
#ifndef TIPME_X_TIME_H
#define TIPME_X_TIME_H

#include <stdint.h>

struct tipme_x_time {
	/* of CLOCK_MONOTONIC; 0 for a server that uses it, as all do that we know */
	int32_t ahead_ms;
};

/*
 * Compares: the server said `server_ms` between the times before_ns and after_ns. A clock that fits
 * is taken as the same, for a millisecond of rounding must not become an offset.
 */
static inline void tipme_x_time_tie(struct tipme_x_time *time, uint32_t server_ms,
				    uint64_t before_ns, uint64_t after_ns)
{
	int32_t early = (int32_t)(server_ms - (uint32_t)(before_ns / 1000000));
	int32_t late = (int32_t)(server_ms - (uint32_t)(after_ns / 1000000));

	/* A coarse clock of the server stands still for up to 1 ms, and counts whole ones. */
	time->ahead_ms = early >= -2 && late <= 1 ? 0 : late;
}

/*
 * The beginning of the millisecond that the server names; now_ns tells which of the many of that
 * name.
 */
static inline uint64_t tipme_x_time_ns(const struct tipme_x_time *time, uint32_t server_ms,
				       uint64_t now_ns)
{
	int64_t now_ms = (int64_t)(now_ns / 1000000);
	int32_t age_ms = (int32_t)((uint32_t)now_ms - (server_ms - (uint32_t)time->ahead_ms));

	return (uint64_t)((now_ms - age_ms) * 1000000);
}

#endif
