// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sums over any stretch cost two binary searches and a block of spans, so a picture costs its
 * pixels, not its spans (the multi-resolution idea of Perfetto's slice mipmap).
 */
#include "config.h"

#include <string.h>

#include "lanes.h"

#define BLOCK 32U /* spans for which one row of sums is kept */

/* Marked at any zoom: long waits, and events, which last no time. */
static gboolean is_long_wait(const TipmeSpan *span)
{
	return span->state == TIPME_LANE_EVENT ||
	       (span->state == TIPME_LANE_RUNNABLE &&
		span->to_ns - span->from_ns >= TIPME_LANE_WORST_NS);
}

TipmeLane *tipme_lane_new(char *name, const TipmeSpan *spans, guint count)
{
	TipmeLane *lane = g_new0(TipmeLane, 1);
	guint blocks = count / BLOCK + 1;
	gint64 sums[TIPME_LANE_STATES] = { 0 };
	guint waits = 0;

	lane->name = name;
	lane->spans = g_memdup2(spans, (gsize)count * sizeof(*spans));
	lane->count = count;
	lane->sums = g_new0(gint64, (gsize)blocks * TIPME_LANE_STATES);
	lane->waits = g_new0(guint, blocks);
	for (guint i = 0; i < count; i++) {
		sums[spans[i].state] += spans[i].to_ns - spans[i].from_ns;
		waits += is_long_wait(&spans[i]);
		if ((i + 1) % BLOCK)
			continue;
		memcpy(&lane->sums[(i + 1) / BLOCK * TIPME_LANE_STATES], sums, sizeof(sums));
		lane->waits[(i + 1) / BLOCK] = waits;
	}
	return lane;
}

void tipme_lane_free(gpointer data)
{
	TipmeLane *lane = data;

	g_free(lane->name);
	g_free(lane->spans);
	g_free(lane->sums);
	g_free(lane->waits);
	g_free(lane);
}

/* The same, where it is known that all spans before `low` end by then. */
static guint at_behind(const TipmeLane *lane, gint64 ns, guint low)
{
	guint step = 1, high = low;

	while (high < lane->count && lane->spans[high].to_ns <= ns) {
		low = high + 1;
		high += step;
		step *= 2;
	}
	high = MIN(high, lane->count);
	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (lane->spans[middle].to_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

guint tipme_lane_at(const TipmeLane *lane, gint64 ns)
{
	return at_behind(lane, ns, 0);
}

/*
 * What came before a time, whose place is tipme_lane_at(): sums and long waits that begin before
 * it.
 */
static void until(const TipmeLane *lane, gint64 ns, guint at, gint64 sums[TIPME_LANE_STATES],
		  guint *waits)
{
	guint block = at / BLOCK;

	memcpy(sums, &lane->sums[block * TIPME_LANE_STATES], TIPME_LANE_STATES * sizeof(*sums));
	*waits = lane->waits[block];
	for (guint i = block * BLOCK; i < at; i++) {
		sums[lane->spans[i].state] += lane->spans[i].to_ns - lane->spans[i].from_ns;
		*waits += is_long_wait(&lane->spans[i]);
	}
	if (at < lane->count && lane->spans[at].from_ns < ns) {
		sums[lane->spans[at].state] += ns - lane->spans[at].from_ns;
		*waits += is_long_wait(&lane->spans[at]);
	}
}

void tipme_lane_sums(const TipmeLane *lane, gint64 from_ns, gint64 to_ns,
		     gint64 sums[TIPME_LANE_STATES])
{
	gint64 before[TIPME_LANE_STATES];
	guint waits;

	until(lane, from_ns, tipme_lane_at(lane, from_ns), before, &waits);
	until(lane, to_ns, tipme_lane_at(lane, to_ns), sums, &waits);
	sums[TIPME_LANE_NOTHING] = to_ns - from_ns;
	for (int state = TIPME_LANE_BLOCKED; state < TIPME_LANE_STATES; state++) {
		sums[state] -= before[state];
		sums[TIPME_LANE_NOTHING] -= sums[state];
	}
}

static void add_pixel(GArray *pixels, int x, guint8 state, gboolean wait)
{
	TipmePixels next = { x, 1, state, wait };
	TipmePixels *last =
		pixels->len ? &g_array_index(pixels, TipmePixels, pixels->len - 1) : NULL;

	if (last && last->state == state && last->wait == wait)
		last->width++;
	else
		g_array_append_val(pixels, next);
}

/* A long wait that goes on at a pixel's left edge began before it. */
static gboolean waits_at(const TipmeLane *lane, gint64 ns, guint at)
{
	return at < lane->count && lane->spans[at].from_ns < ns && is_long_wait(&lane->spans[at]);
}

void tipme_lane_pixels(const TipmeLane *lane, gint64 from_ns, gint64 to_ns, int width,
		       GArray *pixels)
{
	gint64 before[TIPME_LANE_STATES], after[TIPME_LANE_STATES];
	guint waits_before, waits_after;
	gint64 left = from_ns;
	guint at = tipme_lane_at(lane, left), next;

	g_array_set_size(pixels, 0);
	until(lane, left, at, before, &waits_before);
	for (int x = 0; x < width; x++) {
		gint64 right = from_ns + (gint64)((double)(to_ns - from_ns) * (x + 1) / width);
		gint64 rest = right - left, most = 0;
		guint8 best = TIPME_LANE_NOTHING;

		next = at_behind(lane, right, at);
		until(lane, right, next, after, &waits_after);
		for (guint8 state = TIPME_LANE_BLOCKED; state < TIPME_LANE_STATES; state++) {
			gint64 took = after[state] - before[state];

			rest -= took;
			if (took && took >= most) {
				most = took;
				best = state;
			}
		}
		add_pixel(pixels, x, rest > most ? TIPME_LANE_NOTHING : best,
			  waits_after > waits_before || (right > left && waits_at(lane, left, at)));
		memcpy(before, after, sizeof(before));
		waits_before = waits_after;
		left = right;
		at = next;
	}
}

void tipme_lanes_free(TipmeLanes *lanes)
{
	if (!lanes)
		return;
	g_ptr_array_unref(lanes->lanes);
	g_ptr_array_unref(lanes->said);
	g_hash_table_unref(lanes->names);
	g_hash_table_unref(lanes->stacks);
	g_free(lanes);
}
