// SPDX-License-Identifier: GPL-2.0-only
/* Tables of words, from what verbs print. Sums and sentences are theirs. */
#include "config.h"

#include <stdarg.h>
#include <string.h>

#include "answer.h"
#include "facts.h"
#include "json.h"
#include "numbers.h"
#include "language.h"

static void facts_free(gpointer data)
{
	TipmeFacts *facts = data;

	g_free(facts->heading);
	g_ptr_array_unref(facts->rows);
	g_free(facts);
}

static GPtrArray *tables_new(void)
{
	return g_ptr_array_new_with_free_func(facts_free);
}

static TipmeFacts *table(GPtrArray *tables, const char *heading, gboolean has_titles)
{
	TipmeFacts *facts = g_new0(TipmeFacts, 1);

	facts->heading = g_strdup(heading);
	facts->has_titles = has_titles;
	facts->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
	g_ptr_array_add(tables, facts);
	return facts;
}

static void G_GNUC_NULL_TERMINATED row(TipmeFacts *facts, const char *cell, ...)
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

	row(facts, left, right, by, name, NULL);
}

static void add_differences(GPtrArray *tables, struct json_object *comparison, const char *field,
			    const char *title)
{
	struct json_object *list = tipme_json_get(comparison, field);
	TipmeFacts *facts = table(tables, "", TRUE);

	row(facts, _("A, ms"), _("B, ms"), _("B - A"), title, NULL);
	for (guint i = 0; i < tipme_json_length(list); i++) {
		struct json_object *one = json_object_array_get_idx(list, i);
		const char *comm = tipme_json_text(one, "comm");
		const char *phrase = tipme_json_text(one, "phrase");
		g_autofree char *name =
			g_strjoin(*comm ? "  " : "",
				  tipme_stage_words(tipme_json_text(one, "name")),
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
	TipmeFacts *facts = table(tables, _("What is another with the machine"), FALSE);

	for (guint i = 0; i < tipme_json_length(list); i++) {
		struct json_object *one = json_object_array_get_idx(list, i);

		row(facts, tipme_json_text(one, "what"), tipme_json_text(one, "a"),
		    tipme_json_text(one, "b"), NULL);
	}
}

GPtrArray *tipme_facts_of_comparison(struct json_object *comparison)
{
	GPtrArray *tables = tables_new();
	TipmeFacts *sides = table(tables, tipme_json_text(comparison, "sentence"), FALSE);

	for (const char *const *side = (const char *const[]){ "a", "b", NULL }; *side; side++) {
		struct json_object *of = tipme_json_get(comparison, *side);
		g_autofree char *name = g_ascii_strup(*side, -1);
		g_autofree char *time = tipme_text_local_time(tipme_json_text(of, "time"));

		row(sides, name, tipme_json_text(of, "id"), time,
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

	row(facts, name, text, NULL);
}

static double number_of(struct json_object *object, const char *name)
{
	return json_object_get_double(tipme_json_get(object, name));
}

static void add_kept(GPtrArray *tables, struct json_object *status)
{
	struct json_object *list = tipme_json_get(status, "coverage");
	TipmeFacts *facts = table(tables, _("Seconds kept"), FALSE);

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
	TipmeFacts *facts = table(tables, heading, FALSE);

	json_object_object_foreach(object, name, value)
	{
		if (json_object_is_type(value, json_type_boolean))
			row(facts, name, json_object_get_boolean(value) ? _("on") : _("off"), NULL);
		else
			row(facts, name,
			    value ? json_object_get_string(value) : _("cannot be recorded here"),
			    NULL);
	}
}

static void add_state(GPtrArray *tables, struct json_object *status)
{
	TipmeFacts *facts = table(tables, _("tipme records"), FALSE);
	struct json_object *cpu = tipme_json_get(status, "cpu");
	double up_s = number_of(status, "uptime_s");
	double cpu_ms = number_of(cpu, "user_ms") + number_of(cpu, "system_ms");
	struct json_object *memory = tipme_json_get(status, "memory");

	row(facts, _("source"), tipme_json_text(status, "source"), NULL);
	add_number(facts, _("for"), 0, up_s, " s");
	add_number(facts, _("records a second"), 0, number_of(status, "rate"), "");
	add_number(facts, _("memory"), 1, number_of(memory, "resident_bytes") / 1e6, " MB");
	if (up_s > 0)
		add_number(facts, _("CPU time of its own"), 2, cpu_ms / up_s / 10,
			   /* xgettext:no-c-format */ _(" % of one CPU"));
	add_number(facts, _("episodes saved"), 0, number_of(status, "episodes"), "");
	add_number(facts, _("that failed"), 0, number_of(status, "failures"), "");
	row(facts, _("library"), tipme_json_text(status, "library"), NULL);
}

static void add_limits(GPtrArray *tables, struct json_object *limits)
{
	if (!tipme_json_length(limits))
		return;
	TipmeFacts *facts = table(tables, _("What is limited here"), FALSE);

	for (guint i = 0; i < tipme_json_length(limits); i++)
		row(facts, json_object_get_string(json_object_array_get_idx(limits, i)), NULL);
}

GPtrArray *tipme_facts_of_status(struct json_object *status)
{
	GPtrArray *tables = tables_new();

	if (!*tipme_json_text(status, "source")) {
		table(tables, _("tipme is not recording"), FALSE);
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

/* Durations, then their name; durations G_MININT64: not known. */
static void add_durations(TipmeFacts *facts, gint64 a, gint64 b, gint64 c, const char *name)
{
	g_autofree char *first = tipme_text_ms(a);
	g_autofree char *second = tipme_text_ms(b);
	g_autofree char *third = tipme_text_ms(c);

	row(facts, first, second, third, name, NULL);
}

/* A duration in microseconds, as ns. */
static gint64 us_of(struct json_object *object, const char *name)
{
	struct json_object *value = tipme_json_get(object, name);

	return value ? (gint64)(json_object_get_double(value) * 1000) : G_MININT64;
}

/* A whole number, 0 if it is missing. Free it. */
static char *text_of_count(struct json_object *object, const char *name)
{
	return g_strdup_printf("%" G_GINT64_FORMAT, tipme_json_number(object, name, 0));
}

static void add_side(TipmeFacts *facts, struct json_object *side, const char *name)
{
	g_autofree char *presses = text_of_count(side, "presses");
	g_autofree char *slow = text_of_count(side, "slow");
	g_autofree char *median = tipme_text_ms(tipme_json_number(side, "median_ns", G_MININT64));

	row(facts, presses, slow, median, name, NULL);
}

GPtrArray *tipme_facts_of_check(struct json_object *check)
{
	GPtrArray *tables = tables_new();
	struct json_object *lines = tipme_json_get(check, "said");
	guint count = tipme_json_length(lines);
	const char *result =
		count ? json_object_get_string(json_object_array_get_idx(lines, count - 1)) : "";
	TipmeFacts *said = table(tables, result ? result : "", FALSE);

	for (guint i = 0; i + 1 < count; i++)
		row(said, json_object_get_string(json_object_array_get_idx(lines, i)), NULL);
	TipmeFacts *facts = table(tables, _("Before and after"), TRUE);

	row(facts, _("presses"), _("slow"), _("median"), "", NULL);
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
	TipmeFacts *facts = table(tables, tipme_json_text(week, "sentence"), TRUE);

	if (tipme_json_length(causes))
		row(facts, _("times"), _("in all"), _("longest"), _("through whom"), NULL);
	for (guint i = 0; i < tipme_json_length(causes); i++) {
		struct json_object *cause = json_object_array_get_idx(causes, i);
		g_autofree char *times = text_of_count(cause, "times");
		g_autofree char *sum =
			tipme_text_ms(tipme_json_number(cause, "sum_ns", G_MININT64));
		g_autofree char *most =
			tipme_text_ms(tipme_json_number(cause, "longest_ns", G_MININT64));
		g_autofree char *name = week_name(cause);

		row(facts, times, sum, most, name, NULL);
	}
	return tables;
}

static void add_latencies(GPtrArray *tables, struct json_object *stages)
{
	TipmeFacts *facts = table(tables, _("How late"), TRUE);
	TipmeFacts *worst = table(tables, _("Exceeded once in"), TRUE);

	row(facts, _("99 %"), _("99.9 %"), _("longest"), _("stage"), NULL);
	row(worst, _("an hour"), _("a day"), _("a week"), _("stage"), NULL);
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
		add_durations(facts, us_of(of[0], "us"), us_of(of[1], "us"), us_of(stage, "max_us"),
			      title);
		add_durations(worst, us_of(in[0], "us"), us_of(in[1], "us"), us_of(in[2], "us"),
			      title);
	}
}

static void add_answers(GPtrArray *tables, struct json_object *answers)
{
	TipmeFacts *facts = table(tables, _("How long answers took"), TRUE);

	row(facts, _("median"), _("99 %"), _("longest"), _("application and input"), NULL);
	for (guint i = 0; i < tipme_json_length(answers); i++) {
		struct json_object *one = json_object_array_get_idx(answers, i);
		g_autofree char *name = g_strdup_printf("%s, %s", tipme_json_text(one, "app"),
							tipme_json_text(one, "kind"));

		add_durations(facts, tipme_json_number(one, "p50", G_MININT64),
			      tipme_json_number(one, "p99", G_MININT64),
			      tipme_json_number(one, "max_ns", G_MININT64), name);
	}
}

/* Means; what was not answered has none. */
static void add_stages(GPtrArray *tables, struct json_object *answers)
{
	static const char *const stages[] = { "read", "sent", "drawn", "finished" };
	TipmeFacts *facts = table(tables, _("Mean time of each stage"), TRUE);

	row(facts, _("read"), _("sent"), _("drawn"), _("finished"), _("application and input"),
	    NULL);
	for (guint i = 0; i < tipme_json_length(answers); i++) {
		struct json_object *one = json_object_array_get_idx(answers, i);
		gint64 count = tipme_json_number(one, "answered", 0);
		struct json_object *sums = tipme_json_get(one, "stages");
		char *mean[G_N_ELEMENTS(stages)];

		if (count <= 0 || !sums)
			continue;
		for (guint j = 0; j < G_N_ELEMENTS(stages); j++)
			mean[j] = tipme_text_ms(tipme_json_number(sums, stages[j], 0) / count);
		g_autofree char *name = g_strdup_printf("%s, %s", tipme_json_text(one, "app"),
							tipme_json_text(one, "kind"));

		row(facts, mean[0], mean[1], mean[2], mean[3], name, NULL);
		for (guint j = 0; j < G_N_ELEMENTS(stages); j++)
			g_free(mean[j]);
	}
}

static void add_moments(GPtrArray *tables, struct json_object *moments)
{
	TipmeFacts *facts = table(tables, _("Where the time went"), TRUE);

	row(facts, _("waiting"), _("thinking"), _("background"), _("application in use"), NULL);
	for (guint i = 0; i < tipme_json_length(moments); i++) {
		struct json_object *one = json_object_array_get_idx(moments, i);
		const char *app = tipme_json_text(one, "app");

		add_durations(facts, tipme_json_number(one, "waiting_ns", G_MININT64),
			      tipme_json_number(one, "thinking_ns", G_MININT64),
			      tipme_json_number(one, "background_ns", G_MININT64),
			      *app ? app : _("all"));
	}
}

/* A field of a JSON number with one digit, or "-". Free it. */
static char *text_of_number(struct json_object *object, const char *name)
{
	struct json_object *value = tipme_json_get(object, name);

	return value ? g_strdup_printf("%.1f", json_object_get_double(value)) : g_strdup("-");
}

static void add_between(GPtrArray *tables, struct json_object *between)
{
	TipmeFacts *facts = table(tables, _("Times between long answers"), TRUE);

	row(facts, _("answers"), _("mean, s"), _("deviation, s"), _("longer than, ms"), NULL);
	for (guint i = 0; i < tipme_json_length(between); i++) {
		struct json_object *one = json_object_array_get_idx(between, i);
		g_autofree char *count = text_of_count(one, "events");
		g_autofree char *mean = text_of_number(one, "mean_s");
		g_autofree char *deviation = text_of_number(one, "deviation_s");
		g_autofree char *ms = text_of_count(one, "ms");

		row(facts, count, mean, deviation, ms, NULL);
	}
}

/* Those that were judged, with their verdicts. */
static void add_long_events(GPtrArray *tables, struct json_object *events)
{
	TipmeFacts *facts = table(tables, _("The longest answers"), TRUE);

	row(facts, _("answer"), _("minute"), _("application, input and verdict"), NULL);
	for (guint i = 0; i < tipme_json_length(events); i++) {
		struct json_object *one = json_object_array_get_idx(events, i);
		g_autofree char *took =
			tipme_text_ms(tipme_json_number(one, "response_ns", G_MININT64));
		g_autofree char *minute = text_of_count(one, "minute");
		g_autofree char *what = g_strdup_printf("%s, %s: %s", tipme_json_text(one, "app"),
							tipme_json_text(one, "kind"),
							tipme_json_text(one, "verdict"));

		row(facts, took, minute, what, NULL);
	}
}

/* What the machine does in minutes without input, and in others. */
static void add_activity(GPtrArray *tables, struct json_object *machine)
{
	static const char *const which[] = { "idle", "used" };
	const char *const name[] = { _("nobody touched it"), _("in use") };
	TipmeFacts *facts = table(tables, _("What the machine did"), TRUE);

	row(facts, _("busy, %"), _("device interrupts a second"), _("timer interrupts a second"),
	    _("minutes in which"), NULL);
	for (guint i = 0; i < G_N_ELEMENTS(which); i++) {
		struct json_object *part = tipme_json_get(machine, which[i]);
		struct json_object *busy = tipme_json_get(part, "busy");
		struct json_object *interrupts = tipme_json_get(part, "interrupts");

		if (!busy)
			continue;
		g_autofree char *share =
			g_strdup_printf("%.2f", 100 * json_object_get_double(busy));
		g_autofree char *device = text_of_number(interrupts, "device");
		g_autofree char *timer = text_of_number(interrupts, "timer");

		row(facts, share, device, timer, name[i], NULL);
	}
}

GPtrArray *tipme_facts_of_measurement(struct json_object *object)
{
	GPtrArray *tables = tables_new();
	struct json_object *measurement = tipme_json_measurement(object);
	struct json_object *stages = tipme_json_get(measurement, "stages");
	struct json_object *answers = tipme_json_get(measurement, "answers");

	if (tipme_json_length(stages))
		add_latencies(tables, stages);
	if (tipme_json_length(answers)) {
		add_answers(tables, answers);
		add_stages(tables, answers);
	}
	if (tipme_json_length(tipme_json_get(measurement, "moments")))
		add_moments(tables, tipme_json_get(measurement, "moments"));
	if (tipme_json_length(tipme_json_get(measurement, "between")))
		add_between(tables, tipme_json_get(measurement, "between"));
	if (tipme_json_length(tipme_json_get(measurement, "long_events")))
		add_long_events(tables, tipme_json_get(measurement, "long_events"));
	if (tipme_json_get(measurement, "machine"))
		add_activity(tables, tipme_json_get(measurement, "machine"));
	if (!tables->len)
		table(tables, _("There is nothing in this file"), FALSE);
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
