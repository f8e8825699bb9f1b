// SPDX-License-Identifier: GPL-2.0-only
/*
 * The models of the window, without a display: search, zoom, and lanes against a count of their
 * spans.
 */
#include "config.h"

#include <string.h>

#include <glib/gstdio.h>
#include <json-c/json.h>

#include "dump.h"
#include "episodes.h"
#include "facts.h"
#include "flame.h"
#include "lanes.h"
#include "live.h"
#include "numbers.h"
#include "state.h"
#include "undo.h"
#include "view.h"

#include "model_tests.h"

static int tests, failed;

void ok(gboolean good, const char *what)
{
	tests++;
	failed += !good;
	g_print("%sok %d - %s\n", good ? "" : "not ", tests, what);
}

void is_text(char *got, const char *wanted)
{
	ok(!strcmp(got, wanted), wanted);
	if (strcmp(got, wanted))
		g_print("# got %s\n", got);
	g_free(got);
}

/* The same for text of several lines, which cannot be the name of a test. */
void is_lines(char *got, const char *wanted, const char *what)
{
	ok(!strcmp(got, wanted), what);
	if (strcmp(got, wanted))
		g_printerr("got:\n%s", got);
	g_free(got);
}

static void test_text(void)
{
	is_text(tipme_text_ms(411784), "0.41 ms");
	is_text(tipme_text_ms(2123154), "2.1 ms");
	is_text(tipme_text_ms(408817424), "409 ms");
	is_text(tipme_text_ms(G_GINT64_CONSTANT(12345678901)), "12.3 s");
	is_text(tipme_text_ms(G_MININT64), "-");
	is_text(tipme_text_tick(1500000, 500000), "1.5 ms");
	is_text(tipme_text_tick(G_GINT64_CONSTANT(3000000000), 1000000000), "3 s");
}

static void test_rows(void)
{
	struct json_object *list = json_tokener_parse(
		"{\"episodes\":[{\"id\":\"one\",\"pinned\":true,\"time\":\"2026-11-20T12:00:00Z\",\"verdict\":{\"kind\":\"disk-io\",\"client\":\"xterm\","
		"\"sentence\":\"It waited for Disk.\",\"interval_ns\":5}},{\"id\":\"two\",\"problem\":\"cut\",\"verdict\":null},7]}");
	g_autoptr(GPtrArray) rows = tipme_rows_from_json(list);

	ok(rows->len == 3, "a row for each episode, even for one that is none");
	TipmeRow *one = g_ptr_array_index(rows, 2), *two = g_ptr_array_index(rows, 1);

	ok(!strcmp(one->id, "one") && one->response_ns == 5, "the newest is first");
	ok(!strcmp(two->verdict, "Damaged: cut") && two->response_ns == G_MININT64,
	   "a damaged one says so");
	ok(tipme_row_matches(one, "disk kind:disk app:XTERM"),
	   "all words are found, without regard to case");
	ok(!tipme_row_matches(one, "disk app:emacs"), "one word that is not there");
	ok(tipme_row_matches(one, "after:2026-11-20 before:2026-11-22"), "days");
	ok(!tipme_row_matches(one, "after:2026-11-22"), "a later day");
	ok(tipme_row_matches(two, ""), "an empty search finds all");
	ok(tipme_row_matches(one, "is:pinned") && !tipme_row_matches(two, "is:pinned"),
	   "pinned ones");
	g_autoptr(GPtrArray) later = tipme_rows_from_json(list);
	TipmeRow *same = g_ptr_array_index(later, 2);

	ok(tipme_row_same(one, same), "read again, a row says the same");
	g_free(same->verdict);
	same->verdict = g_strdup("It waited for a CPU.");
	ok(!tipme_row_same(one, same), "... but not with another verdict");
	ok(tipme_rows_change("library.sqlite") && tipme_rows_change("20261120-150301-3f2a") &&
		   !tipme_rows_change("library.lock"),
	   "what changes the list");
	guint found = 9;

	ok(tipme_rows_find(rows, "on", &found) == one && found == 1, "the beginning of one id");
	ok(!tipme_rows_find(rows, "", &found) && !found, "nothing is the beginning of none");
	ok(!tipme_rows_find(rows, "three", &found) && !found, "no such id");
	ok(tipme_rows_find(rows, "last", &found) == g_ptr_array_index(rows, 0), "the newest");
	json_object_put(list);
}

static void test_view(void)
{
	TipmeView view;

	tipme_view_init(&view, 1000000, 2000000);
	gint64 there = tipme_view_time(&view, 300, 1000);

	tipme_view_zoom(&view, 0.25, 300, 1000);
	ok(ABS(tipme_view_time(&view, 300, 1000) - there) <= 1,
	   "zoom keeps the time at the pointer");
	ok(view.to_ns - view.from_ns == 250000, "... and shows a quarter");
	tipme_view_pan(&view, 1e9, 1000);
	ok(view.to_ns == 2000000 && view.to_ns - view.from_ns == 250000,
	   "pan ends at the episode's end");
	tipme_view_zoom(&view, 1e9, 0, 1000);
	ok(view.from_ns == 1000000 && view.to_ns == 2000000, "zoom out ends at the whole episode");
	tipme_view_zoom(&view, 1e-9, 500, 1000);
	ok(view.to_ns - view.from_ns == TIPME_VIEW_LEAST_NS, "zoom in ends at the least stretch");
	for (gint64 span = 2000; span < G_GINT64_CONSTANT(100000000000); span *= 10) {
		tipme_view_init(&view, 0, span);
		gint64 step = tipme_view_tick(&view, 10), top = step;

		while (top % 10 == 0)
			top /= 10;
		ok((top == 1 || top == 2 || top == 5) && span / step <= 10 && span / step >= 3,
		   "a decade's step is 1, 2 or 5");
	}
}

/* The same sums, span by span. */
static void count(const TipmeSpan *spans, guint n, gint64 from, gint64 to,
		  gint64 sums[TIPME_LANE_STATES])
{
	memset(sums, 0, TIPME_LANE_STATES * sizeof(*sums));
	sums[TIPME_LANE_NOTHING] = to - from;
	for (guint i = 0; i < n; i++) {
		gint64 part = MIN(to, spans[i].to_ns) - MAX(from, spans[i].from_ns);

		if (part <= 0)
			continue;
		sums[spans[i].state] += part;
		sums[TIPME_LANE_NOTHING] -= part;
	}
}

static void test_lane(void)
{
	g_autoptr(GRand) random = g_rand_new_with_seed(7);
	g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(TipmeSpan));
	g_autoptr(GArray) pixels = g_array_new(FALSE, FALSE, sizeof(TipmePixels));
	gint64 at = 0;
	guint wrong = 0;

	for (int i = 0; i < 5000; i++) {
		gint64 from = at + g_rand_int_range(random, 0, 3) * 1000;

		at = from + g_rand_int_range(random, 1, 90000);
		TipmeSpan span = {
			from,
			at,
			0,
			(guint8)g_rand_int_range(random, TIPME_LANE_BLOCKED, TIPME_LANE_EVENT),
			0,
			0
		};

		g_array_append_val(spans, span);
	}
	TipmeSpan *all = (TipmeSpan *)(void *)spans->data;

	all[2500].state = TIPME_LANE_RUNNABLE; /* the one long wait */
	for (guint i = 2500; i < spans->len; i++) {
		all[i].to_ns += TIPME_LANE_WORST_NS;
		all[i].from_ns += i > 2500 ? TIPME_LANE_WORST_NS : 0;
	}
	at += TIPME_LANE_WORST_NS;
	TipmeLane *lane = tipme_lane_new(g_strdup("lane"), all, spans->len);

	for (int i = 0; i < 2000; i++) {
		gint64 from = g_rand_int_range(random, -1000, (gint32)at),
		       to = from + g_rand_int_range(random, 1, 1 << (i % 26 + 1));
		gint64 got[TIPME_LANE_STATES], wanted[TIPME_LANE_STATES];

		tipme_lane_sums(lane, from, to, got);
		count(all, spans->len, from, to, wanted);
		wrong += memcmp(got, wanted, sizeof(got)) != 0;
	}
	ok(!wrong, "sums of 2,000 stretches are those of the spans");
	for (int width = 1; width <= 4096; width *= 4) {
		gint64 shown = 0, marked = 0, gaps = 0;

		tipme_lane_pixels(lane, 0, at, width, pixels);
		for (guint i = 0; i < pixels->len; i++) {
			const TipmePixels *p = &g_array_index(pixels, TipmePixels, i);

			gaps += p->x != shown;
			shown += p->width;
			marked += p->wait;
		}
		ok(!gaps && shown == width && pixels->len <= (guint)width,
		   "at most one run for each pixel, and all of them");
		ok(marked == 1, "the one wait of more than 0.1 ms is marked at this zoom");
	}
	tipme_lane_pixels(lane, all[2500].from_ns + 10, all[2500].from_ns + 20, 10, pixels);
	ok(pixels->len == 1 && g_array_index(pixels, TipmePixels, 0).wait,
	   "... and from within it");
	tipme_lane_free(lane);
}

static void test_facts(void)
{
	struct json_object *comparison = json_tokener_parse(
		"{\"sentence\":\"Said.\",\"difference_ns\":-1500000,"
		"\"a\":{\"id\":\"one\",\"duration_ns\":2000000,\"client\":{\"comm\":\"xterm\"}},"
		"\"b\":{\"id\":\"two\",\"duration_ns\":500000},"
		"\"stages\":[{\"name\":\"client\",\"a_ns\":1,\"b_ns\":2000,\"difference_ns\":1999}],"
		"\"causes\":[{\"kind\":\"disk-io\",\"comm\":\"dd\",\"a_ns\":7000}],\"machine\":[]}");
	g_autoptr(GPtrArray) tables = tipme_facts_of_comparison(comparison);
	g_autoptr(GPtrArray) none = tipme_facts_of_status(NULL);

	is_lines(tipme_facts_dump(tables),
		 "Said.\nA\tone\t\txterm\nB\ttwo\t\t\n"
		 "\nA, ms\tB, ms\tB - A\tstage\n0.000\t0.002\t+0.002\tuntil: program runs\n"
		 "2.000\t0.500\t-1.500\tall\n"
		 "\nA, ms\tB, ms\tB - A\tcause\n0.007\t0.000\t+0.000\tdisk-io  dd\n"
		 "2.000\t0.500\t-1.500\tall\n",
		 "a comparison, with the sums of the verb");
	is_lines(tipme_facts_dump(none), "tipme is not recording\n", "no recorder");
	json_object_put(comparison);
	struct json_object *status = json_tokener_parse(
		"{\"source\":\"kernel_bpf\",\"uptime_s\":10,\"cpu\":{\"user_ms\":20,\"system_ms\":30},"
		"\"coverage\":[{\"cpu\":0,\"seconds\":38.25},{\"cpu\":1,\"seconds\":3}],\"window_s\":40,"
		"\"lost\":{\"ring\":3},\"classes\":{\"sched\":true,\"io\":false,\"x\":null}}");
	g_autoptr(GPtrArray) live = tipme_facts_of_status(status);
	g_autofree char *text = tipme_facts_dump(live);

	ok(g_str_has_prefix(text, "source\t"
				  "the kernel itself, by tracing programs\n") ||
		   strstr(text, "\nsource\t"
				"the kernel itself, by tracing programs\n"),
	   "whom it asks, in words");
	is_text(g_strdup(tipme_live_recording_words(status)),
		"tipme is recording; nothing is saved yet");
	ok(strstr(text, "\nCPU time of its own\t0.50 % of one CPU\n") != NULL,
	   "the recorder's cost");
	ok(strstr(text, "\nCPU 0\t38.2 s\nCPU 1\t3.0 s\nasked for\t40 s\n") != NULL,
	   "seconds kept");
	ok(strstr(text, "\nring\t3\n") != NULL, "what was lost");
	ok(strstr(text, "\nsched\ton\nio\toff\nx\tcannot be recorded here\n") != NULL, "classes");
	json_object_put(status);
	status = json_tokener_parse("{\"source\":\"proc_sampled\"}");
	is_text(g_strdup(tipme_live_source_words(status)), "samples of /proc, 20 ms apart");
	is_text(g_strdup(tipme_live_recording_words(status)),
		"tipme is recording by samples; nothing is saved yet");
	json_object_put(status);
}

static void test_more_facts(void)
{
	struct json_object *check = json_tokener_parse(
		"{\"said\":[\"Problem: x\",\"Better.\"],\"before\":{\"presses\":9,\"slow\":2,\"median_ns\":3000000},"
		"\"after\":{\"presses\":20,\"slow\":0}}");
	struct json_object *week = json_tokener_parse(
		"{\"sentence\":\"Your week\",\"causes\":[{\"program\":\"xterm\",\"cause\":\"disk\",\"times\":2,"
		"\"sum_ns\":500000000,\"longest_ns\":400000000,\"reported\":1,\"checked_words\":\"better\"}]}");
	g_autoptr(GPtrArray) cure = tipme_facts_of_check(check);
	g_autoptr(GPtrArray) days = tipme_facts_of_week(week);

	is_lines(
		tipme_facts_dump(cure),
		"Better.\nProblem: x\nBefore and after\npresses\tslow\tmedian\t\n9\t2\t3.0 ms\tbefore\n"
		"20\t0\t-\tafter\n",
		"a cure: its outcome first");
	is_lines(tipme_facts_dump(days),
		 "Your week\ntimes\tin all\tlongest\tthrough whom\n"
		 "2\t500 ms\t400 ms\txterm: disk (reported) checked: better\n",
		 "a week");
	json_object_put(check);
	json_object_put(week);
}

static GString *undone;

static void on_run(const char *const *args, gpointer data)
{
	g_string_append_printf(undone, "%s%s ", (const char *)data, args[0]);
}

static void on_last(const char *const *args, gpointer data)
{
	g_string_append_printf(undone, "last-%s ", args[0]);
}

static void on_hide(const char *const *ids, gboolean hide, gpointer data)
{
	g_string_append_printf(undone, "%s%s ", hide ? "-" : "+", ids[0]);
}

static void test_undo(void)
{
	const TipmeUndoDoes does = { on_run, on_last, on_hide, 1, (gpointer) "", NULL };
	const TipmeUndoDoes slow = { on_run, on_last, on_hide, G_MAXUINT, (gpointer) "", NULL };
	static const char *const pin[] = { "pin", NULL }, *const rm[] = { "rm", NULL };
	static const char *const ids[] = { "a", NULL };
	TipmeUndo *undo = tipme_undo_new(&does);

	undone = g_string_new(NULL);
	ok(!tipme_undo_last(undo) && !tipme_undo_any(undo), "nothing to undo");
	tipme_undo_push(undo, pin);
	ok(tipme_undo_any(undo), "something to undo");
	tipme_undo_later(undo, rm, ids);
	while (!strstr(undone->str, "rm"))
		g_main_context_iteration(NULL, TRUE);
	tipme_undo_last(undo);
	ok(!tipme_undo_last(undo), "what was removed is not undone");
	tipme_undo_free(undo);
	is_text(g_strdup(undone->str), "-a rm +a pin ");
	g_string_truncate(undone, 0);
	undo = tipme_undo_new(&slow);
	tipme_undo_later(undo, rm, ids);
	tipme_undo_last(undo);
	tipme_undo_later(undo, rm, ids);
	tipme_undo_free(undo);
	is_text(g_strdup(undone->str), "-a +a -a last-rm ");
	g_string_free(undone, TRUE);
}

static void test_refused(void)
{
	g_autoptr(GError) error = NULL;
	const TipmeReading how = { 0 };
	TipmeLanes *lanes = tipme_lanes_load("/no/such/folder", NULL, 0, &how, &error);

	ok(!lanes && error && strstr(error->message, "/no/such/folder"),
	   "what does not open is said");
}

/* What a window remembers; a damaged file is as good as none. */
static void test_state(void)
{
	g_autofree char *folder = g_dir_make_tmp("tipme-state-XXXXXX", NULL);
	char *pinned[] = { "Xorg", "Disk sda", NULL };
	TipmeState kept = { 1500, 900, TRUE, "timeline", "new", "/library/one",
			    5,	  9,   333,  pinned,	 TRUE };

	g_setenv("XDG_CONFIG_HOME", folder, TRUE);
	ok(tipme_state_save(&kept), "it is written");
	TipmeState *state = tipme_state_load();

	ok(state->width == 1500 && state->height == 900 && state->maximized &&
		   !g_strcmp0(state->page, "timeline") &&
		   !g_strcmp0(state->episode, "/library/one"),
	   "size, page and episode come back");
	ok(state->from_ns == 5 && state->to_ns == 9 && state->table == 333 && state->grouped &&
		   g_strv_equal((const char *const *)state->pinned, (const char *const *)pinned),
	   "... and stretch, table and lanes");
	tipme_state_free(state);
	g_autofree char *below = g_build_filename(folder, "tipme", NULL);
	g_autofree char *file = g_build_filename(below, "gui.ini", NULL);

	g_file_set_contents(file, "[window]\nwidth=-7\nheight=99999999\n[timel", -1, NULL);
	state = tipme_state_load();
	ok(!state->width && !state->height && state->table == TIPME_STATE_TABLE,
	   "a damaged file means what a new user gets");
	tipme_state_free(state);
	ok(!g_remove(file) && !g_rmdir(below) && !g_rmdir(folder), "... and leaves no other file");
}

static void add_lane(TipmeLanes *lanes, const char *name, guint32 process, const TipmeSpan *spans,
		     guint count)
{
	TipmeLane *lane = tipme_lane_new(g_strdup(name), spans, count);

	lane->process = process;
	lane->number = process;
	lane->place = lanes->lanes->len;
	g_ptr_array_add(lanes->lanes, lane);
}

static TipmeLanes *lanes_of_two(void)
{
	TipmeLanes *lanes = tipme_lanes_new();
	const TipmeSpan samples[] = { { 10, 11, 0, TIPME_LANE_EVENT, 0, 0 },
				      { 20, 21, 1, TIPME_LANE_EVENT, 0, 0 },
				      { 30, 31, 2, TIPME_LANE_EVENT, 0, 0 } };
	const TipmeFact facts[] = { { 1, 4000, 7, 0, 0, 0, 0, FALSE },
				    { 1, 2000, 7, 1, 0, 0, 0, FALSE },
				    { 1, 1000, 8, 0, 1, 0, 0, FALSE } };

	g_array_append_vals(lanes->facts, facts, 3);
	g_ptr_array_add(lanes->frames, g_strdup("parse\tedit\nmain\tedit\n"));
	g_ptr_array_add(lanes->frames, g_strdup("main\tedit\n"));
	add_lane(lanes, "Samples", 0, samples, 3);
	((TipmeLane *)lanes->lanes->pdata[0])->samples = TRUE;
	((TipmeLane *)lanes->lanes->pdata[0])->is_events = TRUE;
	add_lane(lanes, "a (7)", 7, NULL, 0);
	add_lane(lanes, "b (8)", 8, NULL, 0);
	add_lane(lanes, "c (7)", 7, NULL, 0);
	return lanes;
}

static char *names(const TipmeLanes *lanes)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < lanes->lanes->len; i++)
		g_string_append_printf(text, "%s%s", i ? " " : "",
				       ((TipmeLane *)lanes->lanes->pdata[i])->name);
	return g_string_free(text, FALSE);
}

static void test_arranged(void)
{
	const char *const pinned[] = { "b", "Samples", NULL };
	TipmeLanes *lanes = lanes_of_two();

	tipme_lanes_arrange(lanes, pinned, FALSE);
	is_text(names(lanes), "b (8) Samples a (7) c (7)");
	tipme_lanes_arrange(lanes, NULL, TRUE);
	is_text(names(lanes), "Samples a (7) c (7) b (8)");
	TipmeFlame *flame = tipme_flame_new(lanes, lanes->lanes->pdata[1], 0, 100);

	ok(flame->samples == 2 && flame->ns == 6000 && tipme_flame_depth(flame) == 2,
	   "samples of one thread, two calls deep");
	is_lines(tipme_flame_words(flame, 9),
		 "main (edit): 1 of 2 samples\nparse (edit): 1 of 2 samples\n",
		 "the innermost functions");
	tipme_flame_free(flame);
	flame = tipme_flame_new(lanes, lanes->lanes->pdata[0], 15, 100);
	ok(flame->samples == 2 && flame->ns == 3000, "samples of all threads, in a range");
	tipme_flame_free(flame);
	tipme_lanes_free(lanes);
}

int main(void)
{
	test_text();
	test_rows();
	test_view();
	test_lane();
	test_facts();
	test_more_facts();
	test_charts();
	test_ticks();
	test_undo();
	test_refused();
	test_state();
	test_arranged();
	g_print("1..%d\n", tests);
	return failed != 0;
}
