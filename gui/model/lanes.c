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

char *tipme_lane_pin_name(const TipmeLane *lane)
{
	const char *number = lane->is_cpu || lane->is_events ? NULL : strrchr(lane->name, '(');

	return number && number > lane->name
		       ? g_strndup(lane->name, (gsize)(number - lane->name) - 1)
		       : g_strdup(lane->name);
}

typedef struct {
	TipmeLane *lane;
	guint pin, group; /* places among the pinned ones, and of the group */
} Placed;

static int by_place(gconstpointer one, gconstpointer other)
{
	const Placed *a = one, *b = other;

	if (a->pin != b->pin)
		return a->pin < b->pin ? -1 : 1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return a->lane->place < b->lane->place ? -1 : a->lane->place > b->lane->place;
}

static guint pin_of(const TipmeLane *lane, const char *const *pinned)
{
	g_autofree char *name = tipme_lane_pin_name(lane);

	for (guint i = 0; pinned && pinned[i]; i++)
		if (!strcmp(pinned[i], name))
			return i;
	return G_MAXUINT;
}

/* The place of the first thread of the same process. */
static guint group_of(const TipmeLanes *lanes, const TipmeLane *lane)
{
	guint first = lane->place;

	for (guint i = 0; lane->process && i < lanes->lanes->len; i++) {
		const TipmeLane *other = g_ptr_array_index(lanes->lanes, i);

		if (other->process == lane->process)
			first = MIN(first, other->place);
	}
	return first;
}

void tipme_lanes_arrange(TipmeLanes *lanes, const char *const *pinned, gboolean grouped)
{
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Placed));

	for (guint i = 0; i < lanes->lanes->len; i++) {
		TipmeLane *lane = g_ptr_array_index(lanes->lanes, i);
		Placed placed = { lane, pin_of(lane, pinned),
				  grouped ? group_of(lanes, lane) : lane->place };

		lane->pinned = placed.pin != G_MAXUINT;
		g_array_append_val(all, placed);
	}
	g_array_sort(all, by_place);
	for (guint i = 0; i < all->len; i++)
		lanes->lanes->pdata[i] = g_array_index(all, Placed, i).lane;
}

TipmeLanes *tipme_lanes_new(void)
{
	TipmeLanes *lanes = g_new0(TipmeLanes, 1);

	lanes->lanes = g_ptr_array_new_with_free_func(tipme_lane_free);
	lanes->said = g_ptr_array_new_with_free_func(g_free);
	lanes->names = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	lanes->processes = g_hash_table_new(NULL, NULL);
	lanes->stacks = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	lanes->irqs = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	lanes->stack_of = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	lanes->facts = g_array_new(FALSE, FALSE, sizeof(TipmeFact));
	lanes->messages = g_array_new(FALSE, FALSE, sizeof(TipmeMessage));
	lanes->frames = g_ptr_array_new_with_free_func(g_free);
	return lanes;
}

void tipme_lanes_free(TipmeLanes *lanes)
{
	if (!lanes)
		return;
	g_ptr_array_unref(lanes->lanes);
	g_ptr_array_unref(lanes->said);
	g_hash_table_unref(lanes->names);
	g_hash_table_unref(lanes->processes);
	g_hash_table_unref(lanes->stacks);
	g_hash_table_unref(lanes->irqs);
	g_hash_table_unref(lanes->stack_of);
	g_array_unref(lanes->facts);
	g_array_unref(lanes->messages);
	g_ptr_array_unref(lanes->frames);
	g_free(lanes);
}
