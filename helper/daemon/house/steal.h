/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time that the host of a virtual machine took from it, by /proc/stat: in ticks of 10 ms, each
 * second.
 */
#ifndef TIPMED_STEAL_H
#define TIPMED_STEAL_H

#include <stddef.h>
#include <stdint.h>

#define TIPMED_STEAL_CPUS 1024

struct tipmed_steal {
	uint64_t ticks[TIPMED_STEAL_CPUS];
	uint64_t looked_ns; /* 0: never */
};

/*
 * Whether the kernel counts it at all: the column is there on every machine, but only a virtual one
 * has a host.
 */
int tipmed_steal_any(void);

/* With emit, gives a steal record for each CPU that lost time since the last look. */
void tipmed_steal_look(struct tipmed_steal *steal, uint64_t now_ns,
		       void (*emit)(void *arg, const void *rec, size_t len), void *arg);

#endif
