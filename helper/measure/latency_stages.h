/* SPDX-License-Identifier: GPL-2.0-only */
/* The stages of a wake-up on stock kernels, by tracing programs. */
#ifndef TIPME_MEASURE_LATENCY_STAGES_H
#define TIPME_MEASURE_LATENCY_STAGES_H

#include "latency.h"

struct tipme_stages;

/* What a thread remembers of the deferred work that it is waiting for. */
struct tipme_stages_way {
	uint64_t due_ns; /* 0: nothing is on its way */
	uint64_t irq_ns; /* of that expiry; 0: not seen */
};

/* Returns 0, or -errno and in `why` what is missing. Close takes NULL. */
int tipme_stages_open(struct tipme_stages **stages, char *why, size_t why_len);
void tipme_stages_close(struct tipme_stages *s);

/*
 * By the thread of that CPU, before it sleeps: until when it is to sleep, `expiry_ns` or a little
 * later.
 */
uint64_t tipme_stages_begin(struct tipme_stages *s, unsigned int cpu, struct tipme_stages_way *way,
			    struct tipme_distribution *d, uint64_t expiry_ns);
/*
 * ... after it has seen that time, at `now_ns`: counts the stages in `d`. Returns the expiry to its
 * handler, 0: not seen.
 */
uint64_t tipme_stages_end(struct tipme_stages *s, unsigned int cpu, struct tipme_stages_way *way,
			  struct tipme_distribution *d, uint64_t due_ns, uint64_t now_ns);

#endif
