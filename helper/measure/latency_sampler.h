/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cause sampler of stock kernels: a tracing program on a timer, or a counter of cycles, of each
 * CPU.
 */
#ifndef TIPME_MEASURE_LATENCY_SAMPLER_H
#define TIPME_MEASURE_LATENCY_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "tipme_latency_uapi.h"

struct tipme_sampler;

/*
 * Samples the CPUs in `cpu` (n of them) every period_us. Returns 0, or -errno and in `why` what is
 * missing; *kind is then what makes the samples (enum tipme_sample_kind). Close takes NULL.
 */
int tipme_sampler_start(struct tipme_sampler **sampler, const unsigned int *cpu, unsigned int n,
			unsigned int period_us, uint8_t *kind, char *why, size_t why_len);
void tipme_sampler_close(struct tipme_sampler *sampler);

/*
 * Copies the samples of [from_ns, to_ns] of a CPU, oldest first; the caller runs on that CPU.
 * Returns how many; those that had no room or were overwritten meanwhile are added to *lost.
 */
uint32_t tipme_sampler_copy(const struct tipme_sampler *sampler, unsigned int cpu, uint64_t from_ns,
			    uint64_t to_ns, struct tipme_latency_sample *to, uint32_t max,
			    uint32_t *lost);

#endif
