/* SPDX-License-Identifier: GPL-2.0-only */
/* Latencies as the kernel's own tracer of them, timerlat, tells them. */
#ifndef TIPME_MEASURE_LATENCY_TIMERLAT_H
#define TIPME_MEASURE_LATENCY_TIMERLAT_H

#include <stdint.h>

struct tipme_timerlat_line {
	unsigned int cpu;
	uint64_t number; /* of the expiry */
	int stage; /* enum tipme_latency_stage */
	uint64_t seen_ns, ns;
};

/* Whether the line of a trace tells a latency. */
int tipme_timerlat_line(const char *text, struct tipme_timerlat_line *to);

#endif
