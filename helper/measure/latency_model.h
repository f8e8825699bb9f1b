/* SPDX-License-Identifier: GPL-2.0-only */
/* A client that is fed in cycles, for real. */
#ifndef TIPME_MEASURE_LATENCY_MODEL_H
#define TIPME_MEASURE_LATENCY_MODEL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latency.h"

struct tipme_model {
	uint32_t buffers; /* 2 or more */
	uint32_t cycle_us, compute_us; /* compute below cycle */
	uint32_t priority; /* of SCHED_FIFO, 1 to 98; 0: an ordinary thread */
	/* found */
	uint64_t cycles;
	uint64_t missed; /* done too late: counted */
	uint64_t late; /* woken later than the slack: what the distribution predicts */
	uint32_t longest_us; /* from the expiry until it was done */
};

/*
 * Runs for `duration_s`; fills what was found, and the distribution of how late it was woken (stage
 * total_user of the first CPU: it may run on any). Returns 0, or -errno and a sentence in `why`.
 */
int tipme_latency_model(struct tipme_latencies *all, struct tipme_model *model,
			unsigned int duration_s, char *why, size_t why_len);

struct json_object *tipme_model_json(const struct tipme_model *m, bool deferred);

#endif
