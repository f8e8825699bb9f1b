/* SPDX-License-Identifier: GPL-2.0-only */
/* What the latency driver and the cause sampler offer each other. */
#ifndef TIPME_LATENCY_H
#define TIPME_LATENCY_H

#include "tipme.h"
#include "tipme_latency_uapi.h"

int tipme_latency_init(void);
void tipme_latency_exit(void);

/*
 * --- sampler.c: one user, the latency driver, which calls these in this order with its own mutex
 * held ---
 */

/*
 * Chooses what makes the samples (enum tipme_sample_kind), at least for `period_us` each. 0: this
 * machine has nothing.
 */
u8 tipme_sampler_open(u32 period_us);
int tipme_sampler_cpu_up(unsigned int cpu); /* on that CPU */
void tipme_sampler_cpu_down(unsigned int cpu);
void tipme_sampler_close(void); /* all CPUs are down */

/* In the timer's interrupt: a sample, where nothing better makes them. */
void tipme_sampler_timer(void);

/*
 * Copies the samples of this CPU's [from_ns, to_ns] to `to` and, as records, into the ring; those
 * of an earlier call are left out. In a thread bound to the CPU, one at a time. Returns how many
 * were copied; `lost` grows by those without room.
 */
u32 tipme_sampler_copy(u64 from_ns, u64 to_ns, struct tipme_latency_sample *to, u32 max, u32 *lost);

#endif
