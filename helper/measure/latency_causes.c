// SPDX-License-Identifier: GPL-2.0-only
/*
 * Causes of latencies over the threshold: the longest are kept, the samples of all are counted by
 * place.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "latency.h"

static uint64_t length_ns(const struct tipme_cause *c)
{
	return (uint64_t)c->about.irq_ns + c->about.deferred_ns + c->about.thread_ns;
}

/* Keeps the longest. */
static void cause_keep(struct tipme_latencies *all, const struct tipme_cause *c)
{
	struct tipme_cause *place = NULL;

	all->causes_seen++;
	if (all->causes < TIPME_LATENCY_WORST) {
		place = &all->cause[all->causes++];
	} else {
		for (unsigned int i = 0; i < all->causes; i++)
			if (!place || length_ns(&all->cause[i]) < length_ns(place))
				place = &all->cause[i];
		if (length_ns(place) >= length_ns(c))
			return;
	}
	free(place->sample);
	*place = *c;
	place->sample = malloc((c->about.count + 1) * sizeof(*c->sample));
	if (place->sample)
		memcpy(place->sample, c->sample, c->about.count * sizeof(*c->sample));
	else
		place->about.count = 0;
}

static struct tipme_place *place_find(struct tipme_latencies *all, const uint64_t *frame)
{
	uint64_t h = 0;

	for (int i = 0; i < TIPME_LATENCY_PLACE_FRAMES; i++)
		h = (h ^ frame[i]) * 0x9e3779b97f4a7c15ULL, h ^= h >> 29;
	for (unsigned int probe = 0; probe < 64; probe++) {
		struct tipme_place *p = &all->place[(h + probe) % TIPME_LATENCY_PLACES];

		if (!p->samples)
			memcpy(p->frame, frame, sizeof(p->frame));
		if (!memcmp(p->frame, frame, sizeof(p->frame)))
			return p;
	}
	return NULL;
}

/* All causes, also those that are not among the longest. */
static void places_count(struct tipme_latencies *all, const struct tipme_cause *c)
{
	for (unsigned int i = 0; i < c->about.count; i++) {
		const struct tipme_latency_sample *s = &c->sample[i];
		uint64_t frame[TIPME_LATENCY_PLACE_FRAMES] = { 0 };
		struct tipme_place *p;

		all->samples_seen++;
		all->samples_user += s->user;
		if (s->user)
			continue;
		for (unsigned int k = 0; k < s->frames && k < TIPME_LATENCY_PLACE_FRAMES; k++)
			frame[k] = s->frame[k];
		p = place_find(all, frame);
		if (p)
			p->samples++;
		else
			all->samples_unplaced++;
		if (p && s->irqs_off)
			p->irqs_off++;
	}
}

void tipme_cause_take(struct tipme_latencies *all, const struct tipme_cause *c)
{
	places_count(all, c);
	cause_keep(all, c);
}
