/* SPDX-License-Identifier: GPL-2.0-only */
/* A client that is fed in cycles and computes in deferred work. */
#ifndef TIPME_MEASURE_LATENCY_DEFERRED_H
#define TIPME_MEASURE_LATENCY_DEFERRED_H

#include "latency_model.h"

/*
 * As tipme_latency_model(), in a softirq instead of a thread: the distribution is that of stage
 * irq_deferred, and the priority means nothing.
 */
int tipme_latency_deferred(struct tipme_latencies *all, struct tipme_model *model,
			   unsigned int duration_s, char *why, size_t why_len);

#endif
