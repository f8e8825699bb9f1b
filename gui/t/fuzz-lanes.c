// SPDX-License-Identifier: GPL-2.0-only
/*
 * For libFuzzer: all that the window makes of an episode as a stranger might have made it
 * (abi/episode/t/fuzz-folder.h): its lanes, their pixels and sums, each span in words, the flame
 * graph, the table. What is shown must be text, sorted and without overlap.
 */
#include "config.h"

#include "../../abi/episode/t/fuzz-folder.h"
#include "dump.h"
#include "flame.h"
#include "lanes.h"

#include <math.h>

#define MOST_WORDS 200 /* spans of a lane whose words are looked at */
#define WIDTH 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_words(const TipmeLanes *lanes, const TipmeLane *lane, const TipmeSpan *span)
{
	g_autofree char *words = tipme_lanes_words(lanes, lane, span);
	g_autofree char *stack = tipme_lanes_stack(lanes, span);

	MUST(words && g_utf8_validate(words, -1, NULL));
	MUST(!stack || g_utf8_validate(stack, -1, NULL));
}

static void check_pixels(const TipmeLanes *lanes, const TipmeLane *lane)
{
	g_autoptr(GArray) pixels = g_array_new(FALSE, FALSE, sizeof(TipmePixels));
	int at = 0;

	tipme_lane_pixels(lane, lanes->first_ns, lanes->last_ns, WIDTH, pixels);
	MUST(pixels->len <= WIDTH);
	for (guint i = 0; i < pixels->len; i++) {
		const TipmePixels *p = &g_array_index(pixels, TipmePixels, i);

		MUST(p->x >= at && p->width > 0 && p->state < TIPME_LANE_STATES);
		at = p->x + p->width;
	}
	MUST(at <= WIDTH);
}

static void check_sums(const TipmeLane *lane, gint64 from_ns, gint64 to_ns)
{
	gint64 sums[TIPME_LANE_STATES], all = 0;

	tipme_lane_sums(lane, from_ns, to_ns, sums);
	for (int i = 0; i < TIPME_LANE_STATES; i++) {
		MUST(sums[i] >= 0);
		all += sums[i];
	}
	MUST(all == to_ns - from_ns);
}

static void check_lane(const TipmeLanes *lanes, const TipmeLane *lane)
{
	MUST(g_utf8_validate(lane->name, -1, NULL));
	for (guint i = 0; i < lane->count; i++) {
		MUST(lane->spans[i].from_ns <= lane->spans[i].to_ns);
		MUST(!i || lane->spans[i - 1].to_ns <= lane->spans[i].from_ns);
		if (i < MOST_WORDS)
			check_words(lanes, lane, &lane->spans[i]);
	}
	check_pixels(lanes, lane);
	check_sums(lane, lanes->first_ns, lanes->last_ns);
}

static void check_dump(const TipmeLanes *lanes)
{
	const TipmeDumped dumped = { NAN, NAN, "" };
	g_autofree char *text = tipme_dump_episode(NULL, lanes, &dumped);

	MUST(g_utf8_validate(text, -1, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const guint32 threads[] = { 1, 2, 100, 200, 300, 812, 901 };
	const char *const pinned[] = { "CPU 1", "xterm", NULL };

	if (!len)
		return 0;
	const TipmeReading how = { .more = "a x 7", .about_ns = data[0] & 16 ? 900000000 : 40 };
	g_autoptr(GError) error = NULL;
	TipmeLanes *lanes = tipme_lanes_load(fuzz_folder(data, len), threads, G_N_ELEMENTS(threads),
					     &how, &error);

	MUST(!lanes == !!error);
	if (!lanes)
		return 0;
	MUST(lanes->first_ns <= lanes->records_ns && lanes->records_ns <= lanes->last_ns);
	tipme_lanes_arrange(lanes, pinned, data[0] & 32);
	for (guint i = 0; i < lanes->lanes->len; i++)
		check_lane(lanes, g_ptr_array_index(lanes->lanes, i));
	for (guint i = 0; i < lanes->said->len; i++)
		MUST(g_utf8_validate(g_ptr_array_index(lanes->said, i), -1, NULL));
	check_dump(lanes);
	tipme_lanes_free(lanes);
	return 0;
}
