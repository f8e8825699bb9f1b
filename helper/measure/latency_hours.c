// SPDX-License-Identifier: GPL-2.0-only
/* The longest latency of each stage in each minute. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "latency_hours.h"

struct tipme_latency_hours {
	unsigned int call_s; /* between two calls */
	unsigned int block_s; /* length of a block: call_s, or a power of two of it */
	unsigned int count; /* blocks that are full */
	unsigned int calls; /* of the block that is being filled */
	uint64_t begun_ns; /* 0: the first call only looks */
	uint32_t last_s; /* of a block that the end has cut; 0: none */
	uint32_t max_us[TIPME_LATENCY_BLOCKS + 1][TIPME_ALL_STAGES];
	/* of all CPUs, up to the last call */
	uint64_t seen[TIPME_ALL_STAGES][TIPME_LATENCY_BUCKETS];
	uint8_t measured[TIPME_ALL_STAGES];
};

int tipme_hours_make(struct tipme_latency_hours **to, unsigned int block_s)
{
	struct tipme_latency_hours *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->call_s = block_s;
	h->block_s = block_s;
	*to = h;
	return 0;
}

void tipme_hours_free(struct tipme_latency_hours *h)
{
	free(h);
}

/* The longest latency of a stage since the last call, by the bucket that has more than it had. */
static uint32_t longest_new(struct tipme_latency_hours *h, const struct tipme_latencies *all,
			    unsigned int stage)
{
	uint32_t longest = 0;

	for (unsigned int b = 0; b < TIPME_LATENCY_BUCKETS; b++) {
		uint64_t n = 0;

		for (unsigned int i = 0; i < all->cpus; i++)
			n += __atomic_load_n(&all->stage[i][stage].bucket[b], __ATOMIC_RELAXED);
		if (n > h->seen[stage][b])
			longest = (uint32_t)tipme_latency_bucket_us(b);
		h->seen[stage][b] = n;
	}
	return longest;
}

/* Two and two become one. An odd one at the end goes on being filled. */
static void fold(struct tipme_latency_hours *h)
{
	for (unsigned int i = 0; i < h->count / 2; i++)
		for (unsigned int s = 0; s < TIPME_ALL_STAGES; s++) {
			uint32_t a = h->max_us[2 * i][s], b = h->max_us[2 * i + 1][s];

			h->max_us[i][s] = a > b ? a : b;
		}
	h->count /= 2;
	h->block_s *= 2;
	memset(h->max_us[h->count], 0, sizeof(h->max_us[0]));
}

void tipme_hours_take(struct tipme_latency_hours *h, const struct tipme_latencies *all,
		      uint64_t now_ns, int ended)
{
	uint32_t *row = h->max_us[h->count];
	uint64_t begun_ns = h->begun_ns;

	for (unsigned int s = 0; s < TIPME_ALL_STAGES; s++) {
		uint32_t us;

		for (unsigned int i = 0; i < all->cpus; i++)
			h->measured[s] |= all->stage[i][s].measured;
		us = h->measured[s] ? longest_new(h, all, s) : 0;
		row[s] = us > row[s] ? us : row[s];
	}
	h->begun_ns = now_ns;
	if (!begun_ns) {
		memset(row, 0, sizeof(h->max_us[0])); /* what was before measuring began */
		return;
	}
	if (ended) {
		h->last_s = h->calls * h->call_s + (uint32_t)((now_ns - begun_ns) / 1000000000);
		return;
	}
	if (++h->calls * h->call_s < h->block_s)
		return;
	h->calls = 0;
	h->count++;
	memset(h->max_us[h->count], 0, sizeof(h->max_us[0]));
	if (h->count == TIPME_LATENCY_BLOCKS)
		fold(h);
}

struct json_object *tipme_hours_json(const struct tipme_latency_hours *h)
{
	struct json_object *o = json_object_new_object(), *all = json_object_new_object();

	json_object_object_add(o, "seconds", json_object_new_int((int32_t)h->block_s));
	json_object_object_add(o, "last_s", json_object_new_int((int32_t)h->last_s));
	for (unsigned int s = 0; s < TIPME_ALL_STAGES; s++) {
		struct json_object *list;

		if (!h->measured[s])
			continue;
		list = json_object_new_array();
		for (unsigned int i = 0; i < h->count + !!h->last_s; i++)
			json_object_array_add(list, json_object_new_int64(h->max_us[i][s]));
		json_object_object_add(all, tipme_latency_stage_name(s), list);
	}
	json_object_object_add(o, "max_us", all);
	return o;
}
