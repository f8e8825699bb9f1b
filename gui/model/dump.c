// SPDX-License-Identifier: GPL-2.0-only
/* The models as text. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "dump.h"
#include "flame.h"
#include "language.h"

#define FUNCTIONS_MOST 20

char *tipme_dump_rows(GPtrArray *rows)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < rows->len; i++) {
		const TipmeRow *row = g_ptr_array_index(rows, i);
		g_autofree char *response =
			row->response_ns == G_MININT64
				? g_strdup("-")
				: g_strdup_printf("%" G_GINT64_FORMAT, row->response_ns);

		g_string_append_printf(text, "%s\t%s\t%s\t%s\n", row->id, response, row->app,
				       row->verdict);
	}
	return g_string_free(text, FALSE);
}

static void dump_texts(GString *text, const char *name, GPtrArray *list)
{
	for (guint i = 0; i < list->len; i++)
		g_string_append_printf(text, "%s\t%s\n", name,
				       (const char *)g_ptr_array_index(list, i));
}

static void dump_answer(GString *text, const TipmeAnswer *answer)
{
	if (answer->problem)
		g_string_append_printf(text, "problem\t%s\n", answer->problem);
	if (answer->sentence)
		g_string_append_printf(text, "sentence\t%s\n", answer->sentence);
	if (answer->has_interval)
		g_string_append_printf(text,
				       "interval\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT "\n",
				       answer->from_ns, answer->to_ns);
	for (guint i = 0; i < answer->parts->len; i++) {
		const TipmePart *part = g_ptr_array_index(answer->parts, i);

		g_string_append_printf(text, "part\t%s\t%s\t%" G_GINT64_FORMAT "\n", part->kind,
				       part->who, part->ns);
	}
	for (guint i = 0; i < answer->stages->len; i++) {
		const TipmeStage *stage = g_ptr_array_index(answer->stages, i);

		g_string_append_printf(text, "stage\t%s\t%" G_GINT64_FORMAT "\n", stage->name,
				       stage->at_ns);
	}
	for (guint i = 0; i < answer->path->len; i++) {
		const TipmeStretch *stretch = g_ptr_array_index(answer->path, i);

		g_string_append_printf(text,
				       "path\t%s\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT "\n",
				       stretch->thread, stretch->from_ns, stretch->to_ns);
	}
	dump_texts(text, "candidate", answer->candidates);
	dump_texts(text, "known", answer->known);
}

static void dump_lanes(GString *text, const TipmeLanes *lanes, gint64 from_ns, gint64 to_ns)
{
	for (guint i = 0; i < lanes->lanes->len; i++) {
		const TipmeLane *lane = g_ptr_array_index(lanes->lanes, i);
		gint64 sums[TIPME_LANE_STATES];

		if (lane->is_events) {
			g_string_append_printf(text, "events\t%s\t%u\n", lane->name, lane->count);
			continue;
		}
		tipme_lane_sums(lane, from_ns, to_ns, sums);
		g_string_append_printf(text,
				       "sum\t%s\t%u\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT
				       "\t%" G_GINT64_FORMAT "\n",
				       lane->is_cpu ? "cpu" : "thread", lane->number,
				       sums[TIPME_LANE_RUNNING], sums[TIPME_LANE_RUNNABLE],
				       sums[TIPME_LANE_BLOCKED]);
	}
	dump_texts(text, "said", lanes->said);
}

/* Each span of the range, as the table beside the canvas has it. */
static void dump_spans(GString *text, const TipmeLanes *lanes, const TipmeLane *lane,
		       gint64 from_ns, gint64 to_ns)
{
	for (guint i = tipme_lane_at(lane, from_ns);
	     i < lane->count && lane->spans[i].from_ns < to_ns; i++) {
		const TipmeSpan *span = &lane->spans[i];
		g_autofree char *words = tipme_lanes_words(lanes, lane, span);

		g_string_append_printf(text,
				       "span\t%s\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT "\t%s\n",
				       lane->name, span->from_ns, span->to_ns, words);
	}
}

static void dump_functions(GString *text, const TipmeLanes *lanes, const TipmeLane *lane,
			   gint64 from_ns, gint64 to_ns)
{
	TipmeFlame *flame = tipme_flame_new(lanes, lane, from_ns, to_ns);
	g_autofree char *words = tipme_flame_words(flame, FUNCTIONS_MOST);
	g_auto(GStrv) lines = g_strsplit(words, "\n", -1);

	for (char **line = lines; *line; line++)
		if (**line)
			g_string_append_printf(text, "function\t%s\t%s\n", lane->name, *line);
	tipme_flame_free(flame);
}

static void dump_lane(GString *text, const TipmeLanes *lanes, const char *name, gint64 from_ns,
		      gint64 to_ns)
{
	for (guint i = 0; i < lanes->lanes->len; i++) {
		const TipmeLane *lane = g_ptr_array_index(lanes->lanes, i);

		if (!g_str_has_prefix(lane->name, name))
			continue;
		dump_spans(text, lanes, lane, from_ns, to_ns);
		dump_functions(text, lanes, lane, from_ns, to_ns);
	}
}

static gint64 time_of(double ms, gint64 zero_ns, gint64 otherwise)
{
	return isnan(ms) ? otherwise : zero_ns + (gint64)(ms * 1e6);
}

char *tipme_dump_episode(const TipmeAnswer *answer, const TipmeLanes *lanes,
			 const TipmeDumped *dumped)
{
	GString *text = g_string_new(NULL);
	gboolean within = answer && answer->has_interval;

	if (answer)
		dump_answer(text, answer);
	if (lanes) {
		gint64 zero = within ? answer->from_ns : lanes->first_ns;
		gint64 from = time_of(dumped->from_ms, zero, zero);
		gint64 to = time_of(dumped->to_ms, zero, within ? answer->to_ns : lanes->last_ns);

		dump_lanes(text, lanes, from, MAX(from, to));
		if (dumped->lane)
			dump_lane(text, lanes, dumped->lane, from, MAX(from, to));
	}
	return g_string_free(text, FALSE);
}

TipmeRow *tipme_rows_find(GPtrArray *rows, const char *episode, guint *found)
{
	TipmeRow *begins = NULL;

	*found = rows->len != 0;
	if (!strcmp(episode, "last"))
		return rows->len ? g_ptr_array_index(rows, 0) : NULL;
	*found = 0;
	for (guint i = 0; i < rows->len && *episode; i++) {
		TipmeRow *row = g_ptr_array_index(rows, i);

		if (!g_str_has_prefix(row->id, episode))
			continue;
		(*found)++;
		begins = row;
	}
	return *found == 1 ? begins : NULL;
}

char *tipme_rows_why_not(const char *episode, guint found)
{
	if (found > 1)
		return g_strdup_printf(_("%s: stands for %u episodes: give more of the id"),
				       episode, found);
	return g_strdup_printf(_("%s: there is no such episode: see tipme list"), episode);
}
