/* SPDX-License-Identifier: GPL-2.0-only */
/* How fast CPUs may run and do, by /sys: a record where it changed. */
#ifndef TIPMED_CPU_SPEED_H
#define TIPMED_CPU_SPEED_H

#include <stddef.h>
#include <stdint.h>

#define TIPMED_SPEED_CPUS 256 /* of more CPUs the first are looked at */

struct tipmed_speed {
	struct tipmed_speed_cpu {
		uint32_t khz, limit_khz;
		uint64_t throttled;
		uint8_t power;
		uint8_t known;
	} cpu[TIPMED_SPEED_CPUS];
	unsigned int next; /* whose turn it is */
};

/* Whether anything here tells the frequency of a CPU. */
int tipmed_speed_any(void);

/* Emits a record for each CPU whose speed, limit or power has changed since the last. */
void tipmed_speed_look(struct tipmed_speed *s, uint64_t now_ns,
		       void (*emit)(void *arg, const void *rec, size_t len), void *arg);

#endif
