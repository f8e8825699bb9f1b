/* SPDX-License-Identifier: GPL-2.0-only */
/* Hours of measuring in constant memory: the longest latency of each minute. */
#ifndef TIPME_MEASURE_LATENCY_HOURS_H
#define TIPME_MEASURE_LATENCY_HOURS_H

#include <json-c/json.h>
#include <stdint.h>

#include "latency.h"

/* Blocks that are kept. When all are used two and two become one, of twice the length: hours of
 * measuring take no more memory than minutes. */
#define TIPME_LATENCY_BLOCKS 4096

struct tipme_latency_hours;

/* A block is `block_s` long, as often as tipme_hours_take() is called. Returns 0 or -ENOMEM. */
int tipme_hours_make(struct tipme_latency_hours **to, unsigned int block_s);
void tipme_hours_free(struct tipme_latency_hours *h);

/*
 * A block has passed, or the end has come: what the distributions of `all` have more than at the
 * last call is the block's. They may go on being written meanwhile. `ended`: a block that is not
 * full is closed, with its length.
 */
void tipme_hours_take(struct tipme_latency_hours *h, const struct tipme_latencies *all,
		      uint64_t now_ns, int ended);

/* The blocks so far, as docs/formats.md describes them. */
struct json_object *tipme_hours_json(const struct tipme_latency_hours *h);

#endif
