/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What comes too often shares slots, so that a flood does not wipe the ring: the first of a kind in
 * each tenth of a second have records of their own, those after them are joined, each with the one
 * before it, for some milliseconds at a time.
 */
#ifndef TIPME_JOIN_H
#define TIPME_JOIN_H

#include "xring.h"

#define TIPME_FLOOD_NS 100000000
#define TIPME_FLOOD_COUNT 16
#define TIPME_JOIN_NS 4000000

/*
 * A slot that may still be written over, and how often that kind has come of late; all 0: none,
 * never.
 */
struct tipme_join {
	uint64_t key; /* what may be joined with what; 0: nothing */
	uint64_t since_ns;
	uint64_t index;
	uint64_t window_ns; /* beginning of the tenth of a second */
	unsigned count; /* slots taken in it */
};

/* Whether this kind comes so often that it is joined. */
static TIPME_INLINE bool tipme_join_flood(struct tipme_join *join, uint64_t now_ns)
{
	if (now_ns - join->window_ns > TIPME_FLOOD_NS) {
		join->window_ns = now_ns;
		join->count = 0;
	}
	return join->count >= TIPME_FLOOD_COUNT;
}

/* Whether the slot is for this key, and young enough. */
static TIPME_INLINE bool tipme_join_fits(const struct tipme_join *join, uint64_t key,
					 uint64_t now_ns)
{
	return join->key == key && now_ns - join->since_ns <= TIPME_JOIN_NS;
}

/* What comes next has a slot of its own. */
static TIPME_INLINE void tipme_join_end(struct tipme_join *join)
{
	join->key = 0;
}

/* The same, and so have those after it: what follows now is of interest. */
static TIPME_INLINE void tipme_join_fresh(struct tipme_join *join)
{
	join->key = 0;
	join->count = 0;
}

static TIPME_INLINE void tipme_join_begin(struct tipme_join *join, struct tipme_xring *ring,
					  uint64_t key, const void *record)
{
	join->key = key;
	join->since_ns = ((const struct tipme_head *)record)->ts_ns;
	join->index = tipme_xring_put(ring, record);
	join->count++;
}

/*
 * Writes a record over the one before it if there is a flood of them and the two fit; else into a
 * slot of its own.
 */
static TIPME_INLINE void tipme_join_put(struct tipme_join *join, struct tipme_xring *ring,
					uint64_t key, const void *record)
{
	uint64_t ts_ns = ((const struct tipme_head *)record)->ts_ns;

	if (tipme_join_flood(join, ts_ns) && tipme_join_fits(join, key, ts_ns) &&
	    tipme_xring_amend(ring, join->index, record))
		return;
	tipme_join_begin(join, ring, key, record);
}

#endif
