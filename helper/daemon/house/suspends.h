/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When the machine slept: CLOCK_MONOTONIC stands still then, so records on both sides of it look
 * like neighbours. And when its clock was set.
 */
#ifndef TIPMED_SUSPENDS_H
#define TIPMED_SUSPENDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define TIPMED_SUSPENDS_MAX 16

/* Read one after the other. */
struct tipmed_clocks {
	uint64_t monotonic_ns, boottime_ns, realtime_ns;
};

struct tipmed_suspends {
	pthread_mutex_t lock;
	int64_t offset_ns; /* of CLOCK_BOOTTIME, at the start or after the last suspend */
	int64_t wall_ns; /* of CLOCK_REALTIME to that, at the start or after it was last set */
	unsigned int count, steps;
	struct tipmed_suspend {
		uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC: it was at some time between these */
		uint64_t slept_ns;
	} suspend[TIPMED_SUSPENDS_MAX];
	struct tipmed_clock_step {
		uint64_t from_ns, to_ns; /* the same */
		int64_t by_ns; /* how far the machine's clock went on, or back */
	} step[TIPMED_SUSPENDS_MAX];
	uint64_t looked_ns;
};

struct tipmed_clocks tipmed_clocks_read(void);

void tipmed_suspends_init(struct tipmed_suspends *s, const struct tipmed_clocks *now);

/*
 * A descriptor that becomes readable at once when the machine wakes, or its clock is set; -errno:
 * then only looks tell. tipmed_suspends_watch_again() when it is.
 */
int tipmed_suspends_watch(void);
void tipmed_suspends_watch_again(int fd);

/*
 * Each second, and when the descriptor tells. `from_ns` and `to_ns`: between which moments it
 * slept, from who saw it; 0: nobody did, then it was since the last look. Returns whether it slept.
 */
bool tipmed_suspends_look(struct tipmed_suspends *s, const struct tipmed_clocks *now,
			  uint64_t from_ns, uint64_t to_ns);

/* Those that ended at or after `since_ns`, oldest first. Returns how many. */
unsigned int tipmed_suspends_since(struct tipmed_suspends *s, uint64_t since_ns,
				   struct tipmed_suspend *out);
unsigned int tipmed_clock_steps_since(struct tipmed_suspends *s, uint64_t since_ns,
				      struct tipmed_clock_step *out);

#endif
