// SPDX-License-Identifier: GPL-2.0-only
/* Tables of words, from what verbs print. Sums and sentences are theirs. */
#include "config.h"

#include <stdarg.h>
#include <string.h>

#include "answer.h"
#include "facts_rows.h"
#include "json.h"
#include "live.h"
#include "numbers.h"
#include "retold.h"
#include "language.h"

static void facts_free(gpointer data)
{
	TipmeFacts *facts = data;

	g_free(facts->heading);
	g_ptr_array_unref(facts->rows);
	g_clear_pointer(&facts->pairs, g_array_unref);
	g_free(facts);
}

static GPtrArray *tables_new(void)
{
	return g_ptr_array_new_with_free_func(facts_free);
}

TipmeFacts *tipme_facts_table(GPtrArray *tables, const char *heading, gboolean has_titles)
{
	TipmeFacts *facts = g_new0(TipmeFacts, 1);

	facts->heading = g_strdup(heading);
	facts->has_titles = has_titles;
	facts->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	g_ptr_array_add(tables, facts);
	return facts;
}

void tipme_facts_row(TipmeFacts *facts, const char *cell, ...)
{
	g_autoptr(GStrvBuilder) cells = g_strv_builder_new();
	va_list more;

	va_start(more, cell);
	for (; cell; cell = va_arg(more, const char *))
		g_strv_builder_add(cells, cell);
	va_end(more);
	g_ptr_array_add(facts->rows, g_strv_builder_end(cells));
}

/* --- a comparison --- */

static void add_times(TipmeFacts *facts, gint64 a, gint64 b, gint64 difference, const char *name)
{
	g_autofree char *left = g_strdup_printf("%.3f", (double)a / 1e6);
	g_autofree char *right = g_strdup_printf("%.3f", (double)b / 1e6);
	g_autofree char *by = g_strdup_printf("%+.3f", (double)difference / 1e6);
	const TipmePair pair = { a, b };

	if (!facts->pairs)
		facts->pairs = g_array_new(FALSE, FALSE, sizeof(pair));
	g_array_append_val(facts->pairs, pair);
	tipme_facts_row(facts, left, right, by, name, NULL);
}

static void add_differences(GPtrArray *tables, struct json_object *comparison, const char *field,
			    const char *title)
{
	struct json_object *list = tipme_json_get(comparison, field);
	TipmeFacts *facts = tipme_facts_table(tables, "", TRUE);

	tipme_facts_row(facts, _("A, ms"), _("B, ms"), _("B - A"), title, NULL);
	for (guint i = 0; i < tipme_json_length(list); i++) {
		struct json_object *one = json_object_array_get_idx(list, i);
		const char *comm = tipme_json_text(one, "comm");
		const char *phrase = tipme_json_text(one, "phrase");
		const char *stage = tipme_json_text(one, "name");
		/* The time that went by before it. */
		g_autofree char *until =
			*stage ? g_strdup_printf(_("until: %s"), tipme_stage_words(stage))
			       : g_strdup("");
		g_autofree char *name =
			g_strjoin(*comm ? "  " : "", until,
				  *phrase ? phrase : tipme_json_text(one, "kind"), comm, NULL);

		add_times(facts, tipme_json_number(one, "a_ns", 0),
			  tipme_json_number(one, "b_ns", 0),
			  tipme_json_number(one, "difference_ns", 0), g_strstrip(name));
	}
	add_times(facts, tipme_json_number(tipme_json_get(comparison, "a"), "duration_ns", 0),
		  tipme_json_number(tipme_json_get(comparison, "b"), "duration_ns", 0),
		  tipme_json_number(comparison, "difference_ns", 0), _("all"));
}

static void add_machine(GPtrArray *tables, struct json_object *comparison)
{
	struct json_object *list = tipme_json_get(comparison, "machine");

	if (!tipme_json_length(list))
		return;
	TipmeFacts *facts = tipme_facts_table(tables, _("What is another with the machine"), FALSE);

	for (guint i = 0; i < tipme_json_length(list); i++) {
		struct json_object *one = json_object_array_get_idx(list, i);

		tipme_facts_row(facts, tipme_json_text(one, "what"), tipme_json_text(one, "a"),
				tipme_json_text(one, "b"), NULL);
	}
}

GPtrArray *tipme_facts_of_comparison(struct json_object *comparison)
{
	GPtrArray *tables = tables_new();
	TipmeFacts *sides =
		tipme_facts_table(tables, tipme_json_text(comparison, "sentence"), FALSE);

	for (const char *const *side = (const char *const[]){ "a", "b", NULL }; *side; side++) {
		struct json_object *of = tipme_json_get(comparison, *side);
		g_autofree char *name = g_ascii_strup(*side, -1);
		g_autofree char *time = tipme_text_local_time(tipme_json_text(of, "time"));

		tipme_facts_row(sides, name, tipme_json_text(of, "id"), time,
				tipme_json_text(tipme_json_get(of, "client"), "comm"), NULL);
	}
	add_differences(tables, comparison, "stages", _("stage"));
	add_differences(tables, comparison, "causes", _("cause"));
	add_machine(tables, comparison);
	return tables;
}

/* --- the recorder --- */

/* A number with so many digits behind the point, and its unit. */
static void add_number(TipmeFacts *facts, const char *name, int digits, double number,
		       const char *unit)
{
	g_autofree char *text = g_strdup_printf("%.*f%s", digits, number, unit);

	tipme_facts_row(facts, name, text, NULL);
}

static double number_of(struct json_object *object, const char *name)
{
	return json_object_get_double(tipme_json_get(object, name));
}

static void add_kept(GPtrArray *tables, struct json_object *status)
{
	struct json_object *list = tipme_json_get(status, "coverage");
	TipmeFacts *facts = tipme_facts_table(tables, _("Seconds kept"), FALSE);

	for (guint i = 0; i < tipme_json_length(list); i++) {
		struct json_object *one = json_object_array_get_idx(list, i);
		g_autofree char *name =
			g_strdup_printf("CPU %" G_GINT64_FORMAT, tipme_json_number(one, "cpu", i));

		add_number(facts, tipme_json_length(list) > 1 ? name : _("all CPUs"), 1,
			   number_of(one, "seconds"), " s");
	}
	add_number(facts, _("asked for"), 0, number_of(status, "window_s"), " s");
}

static void add_each(GPtrArray *tables, const char *heading, struct json_object *object)
{
	if (!json_object_is_type(object, json_type_object) || !json_object_object_length(object))
		return;
	TipmeFacts *facts = tipme_facts_table(tables, heading, FALSE);

	json_object_object_foreach(object, name, value)
	{
		if (json_object_is_type(value, json_type_boolean))
			tipme_facts_row(facts, name,
					json_object_get_boolean(value) ? _("on") : _("off"), NULL);
		else
			tipme_facts_row(facts, name,
					value ? json_object_get_string(value)
					      : _("cannot be recorded here"),
					NULL);
	}
}

static void add_state(GPtrArray *tables, struct json_object *status)
{
	TipmeFacts *facts = tipme_facts_table(tables, _("tipme records"), FALSE);
	struct json_object *cpu = tipme_json_get(status, "cpu");
	double up_s = number_of(status, "uptime_s");
	double cpu_ms = number_of(cpu, "user_ms") + number_of(cpu, "system_ms");
	struct json_object *memory = tipme_json_get(status, "memory");

	tipme_facts_row(facts, _("source"), tipme_live_source_words(status), NULL);
	add_number(facts, _("for"), 0, up_s, " s");
	add_number(facts, _("records a second"), 0, number_of(status, "rate"), "");
	add_number(facts, _("memory"), 1, number_of(memory, "resident_bytes") / 1e6, " MB");
	if (up_s > 0)
		add_number(facts, _("CPU time of its own"), 2, cpu_ms / up_s / 10,
			   /* xgettext:no-c-format */ _(" % of one CPU"));
	add_number(facts, _("episodes saved"), 0, number_of(status, "episodes"), "");
	add_number(facts, _("that failed"), 0, number_of(status, "failures"), "");
	tipme_facts_row(facts, _("library"), tipme_json_text(status, "library"), NULL);
}

static void add_limits(GPtrArray *tables, struct json_object *limits)
{
	if (!tipme_json_length(limits))
		return;
	TipmeFacts *facts = tipme_facts_table(tables, _("What is limited here"), FALSE);

	for (guint i = 0; i < tipme_json_length(limits); i++) {
		const char *limit = json_object_get_string(json_object_array_get_idx(limits, i));
		g_autofree char *words = tipme_retold(limit ? limit : "");

		tipme_facts_row(facts, words ? words : "", NULL);
	}
}

GPtrArray *tipme_facts_of_status(struct json_object *status)
{
	GPtrArray *tables = tables_new();

	if (!*tipme_json_text(status, "source")) {
		tipme_facts_table(tables, _("tipme is not recording"), FALSE);
		return tables;
	}
	add_state(tables, status);
	add_kept(tables, status);
	add_each(tables, _("Records lost, by cause"), tipme_json_get(status, "lost"));
	add_each(tables, _("Cost of a record, in ns"), tipme_json_get(status, "record_cost_ns"));
	add_each(tables, _("Classes"), tipme_json_get(status, "classes"));
	add_limits(tables, tipme_json_get(status, "limits"));
	return tables;
}

/* --- a cure, a week, a measurement --- */

void tipme_facts_durations(TipmeFacts *facts, gint64 a, gint64 b, gint64 c, const char *name)
{
	g_autofree char *first = tipme_text_ms(a);
	g_autofree char *second = tipme_text_ms(b);
	g_autofree char *third = tipme_text_ms(c);

	tipme_facts_row(facts, first, second, third, name, NULL);
}

/* A duration in microseconds, as ns. */
static gint64 us_of(struct json_object *object, const char *name)
{
	struct json_object *value = tipme_json_get(object, name);

	return value ? (gint64)(json_object_get_double(value) * 1000) : G_MININT64;
}

char *tipme_text_of_count(struct json_object *object, const char *name)
{
	return g_strdup_printf("%" G_GINT64_FORMAT, tipme_json_number(object, name, 0));
}

static void add_side(TipmeFacts *facts, struct json_object *side, const char *name)
{
	g_autofree char *presses = tipme_text_of_count(side, "presses");
	g_autofree char *slow = tipme_text_of_count(side, "slow");
	g_autofree char *median = tipme_text_ms(tipme_json_number(side, "median_ns", G_MININT64));

	tipme_facts_row(facts, presses, slow, median, name, NULL);
}

GPtrArray *tipme_facts_of_check(struct json_object *check)
{
	GPtrArray *tables = tables_new();
	struct json_object *lines = tipme_json_get(check, "said");
	guint count = tipme_json_length(lines);
	const char *result =
		count ? json_object_get_string(json_object_array_get_idx(lines, count - 1)) : "";
	TipmeFacts *said = tipme_facts_table(tables, result ? result : "", FALSE);

	for (guint i = 0; i + 1 < count; i++)
		tipme_facts_row(said, json_object_get_string(json_object_array_get_idx(lines, i)),
				NULL);
	TipmeFacts *facts = tipme_facts_table(tables, _("Before and after"), TRUE);

	tipme_facts_row(facts, _("presses"), _("slow"), _("median"), "", NULL);
	add_side(facts, tipme_json_get(check, "before"), _("before"));
	add_side(facts, tipme_json_get(check, "after"), _("after"));
	return tables;
}

/* "xterm: a disk was slow (reported; checked: better)" */
static char *week_name(struct json_object *cause)
{
	const char *checked = tipme_json_text(cause, "checked_words");
	gboolean reported = tipme_json_number(cause, "reported", 0) != 0;

	return g_strdup_printf("%s: %s%s%s%s", tipme_json_text(cause, "program"),
			       tipme_json_text(cause, "cause"), reported ? _(" (reported)") : "",
			       *checked ? _(" checked: ") : "", checked);
}

GPtrArray *tipme_facts_of_week(struct json_object *week)
{
	GPtrArray *tables = tables_new();
	struct json_object *causes = tipme_json_get(week, "causes");
	TipmeFacts *facts = tipme_facts_table(tables, tipme_json_text(week, "sentence"), TRUE);

	if (tipme_json_length(causes))
		tipme_facts_row(facts, _("times"), _("in all"), _("longest"), _("through whom"),
				NULL);
	for (guint i = 0; i < tipme_json_length(causes); i++) {
		struct json_object *cause = json_object_array_get_idx(causes, i);
		g_autofree char *times = tipme_text_of_count(cause, "times");
		g_autofree char *sum =
			tipme_text_ms(tipme_json_number(cause, "sum_ns", G_MININT64));
		g_autofree char *most =
			tipme_text_ms(tipme_json_number(cause, "longest_ns", G_MININT64));
		g_autofree char *name = week_name(cause);

		tipme_facts_row(facts, times, sum, most, name, NULL);
	}
	return tables;
}

static void add_latencies(GPtrArray *tables, struct json_object *stages)
{
	TipmeFacts *facts = tipme_facts_table(tables, _("How late"), TRUE);
	TipmeFacts *worst = tipme_facts_table(tables, _("Exceeded once in"), TRUE);

	tipme_facts_row(facts, _("99 %"), _("99.9 %"), _("longest"), _("stage"), NULL);
	tipme_facts_row(worst, _("an hour"), _("a day"), _("a week"), _("stage"), NULL);
	for (guint i = 0; i < tipme_json_length(stages); i++) {
		struct json_object *stage = json_object_array_get_idx(stages, i), *of[2], *in[3];
		struct json_object *percentiles = tipme_json_get(stage, "percentiles");
		struct json_object *times = tipme_json_get(stage, "worst");
		const char *title = tipme_json_text(stage, "title");

		for (guint j = 0; j < 2; j++)
			of[j] = j + 2 < tipme_json_length(percentiles)
					? json_object_array_get_idx(percentiles, j + 2)
					: NULL;
		for (guint j = 0; j < 3; j++)
			in[j] = j < tipme_json_length(times) ? json_object_array_get_idx(times, j)
							     : NULL;
		tipme_facts_durations(facts, us_of(of[0], "us"), us_of(of[1], "us"),
				      us_of(stage, "max_us"), title);
		tipme_facts_durations(worst, us_of(in[0], "us"), us_of(in[1], "us"),
				      us_of(in[2], "us"), title);
	}
}

GPtrArray *tipme_facts_of_measurement(struct json_object *object)
{
	GPtrArray *tables = tables_new();
	struct json_object *measurement = tipme_json_measurement(object);
	struct json_object *stages = tipme_json_get(measurement, "stages");

	if (tipme_json_length(stages))
		add_latencies(tables, stages);
	tipme_facts_add_profile(tables, measurement);
	if (!tables->len)
		tipme_facts_table(tables, _("There is nothing in this file"), FALSE);
	return tables;
}

char *tipme_facts_dump(GPtrArray *tables)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < tables->len; i++) {
		const TipmeFacts *facts = g_ptr_array_index(tables, i);

		g_string_append_printf(text, "%s\n", facts->heading);
		for (guint j = 0; j < facts->rows->len; j++) {
			g_autofree char *line = g_strjoinv("\t", g_ptr_array_index(facts->rows, j));

			g_string_append_printf(text, "%s\n", line);
		}
	}
	return g_string_free(text, FALSE);
}
