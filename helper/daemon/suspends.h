/* SPDX-License-Identifier: GPL-2.0-only */
/* When the machine slept: CLOCK_MONOTONIC stands still then, so records on both sides of it look like neighbours. */
#ifndef TIPMED_SUSPENDS_H
#define TIPMED_SUSPENDS_H

#include <pthread.h>
#include <stdint.h>

#define TIPMED_SUSPENDS_MAX 16

struct tipmed_suspends {
	pthread_mutex_t lock;
	int64_t offset_ns; /* of CLOCK_BOOTTIME at the last look */
	unsigned int count;
	struct tipmed_suspend {
		uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC: it was at some time between these */
		uint64_t slept_ns;
	} suspend[TIPMED_SUSPENDS_MAX];
	uint64_t looked_ns;
};

void tipmed_suspends_init(struct tipmed_suspends *s, uint64_t monotonic_ns, uint64_t boottime_ns);

/* Each second: both clocks, read one after the other. */
void tipmed_suspends_look(struct tipmed_suspends *s, uint64_t monotonic_ns, uint64_t boottime_ns);

/* Those that ended at or after `since_ns`, oldest first. Returns how many. */
unsigned int tipmed_suspends_since(struct tipmed_suspends *s, uint64_t since_ns, struct tipmed_suspend *out);

#endif
