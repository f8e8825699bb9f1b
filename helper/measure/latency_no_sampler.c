// SPDX-License-Identifier: GPL-2.0-only
/* Sampler, stages and the client in deferred work where tracing programs are not built. */
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "latency_deferred.h"
#include "latency_sampler.h"
#include "latency_stages.h"

int tipme_sampler_start(struct tipme_sampler **sampler, const unsigned int *cpu, unsigned int n,
			unsigned int period_us, uint8_t *kind, char *why, size_t why_len)
{
	*sampler = NULL;
	*kind = 0;
	snprintf(why, why_len, "this tipme was built without tracing programs");
	return -EOPNOTSUPP;
}

void tipme_sampler_close(struct tipme_sampler *sampler)
{
}

uint32_t tipme_sampler_copy(const struct tipme_sampler *sampler, unsigned int cpu, uint64_t from_ns,
			    uint64_t to_ns, struct tipme_latency_sample *to, uint32_t max,
			    uint32_t *lost)
{
	return 0;
}

int tipme_stages_open(struct tipme_stages **stages, char *why, size_t why_len)
{
	*stages = NULL;
	snprintf(why, why_len, "this tipme was built without tracing programs");
	return -EOPNOTSUPP;
}

void tipme_stages_close(struct tipme_stages *s)
{
}

uint64_t tipme_stages_begin(struct tipme_stages *s, unsigned int cpu, struct tipme_stages_way *way,
			    struct tipme_distribution *d, uint64_t expiry_ns)
{
	return expiry_ns;
}

uint64_t tipme_stages_end(struct tipme_stages *s, unsigned int cpu, struct tipme_stages_way *way,
			  struct tipme_distribution *d, uint64_t due_ns, uint64_t now_ns)
{
	return 0;
}

int tipme_latency_deferred(struct tipme_latencies *all, struct tipme_model *model,
			   unsigned int duration_s, char *why, size_t why_len)
{
	snprintf(why, why_len, "this tipme was built without tracing programs");
	return -EOPNOTSUPP;
}
