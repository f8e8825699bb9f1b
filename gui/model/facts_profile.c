// SPDX-License-Identifier: GPL-2.0-only
/* Tables of a profile of `tipme profile report`. Sums and sentences are its own. */
#include "config.h"

#include "facts_rows.h"
#include "json.h"
#include "language.h"
#include "numbers.h"

static void add_answers(GPtrArray *tables, struct json_object *answers)
{
	TipmeFacts *facts = tipme_facts_table(tables, _("How long answers took"), TRUE);

	tipme_facts_row(facts, _("median"), _("99 %"), _("longest"), _("application and input"),
			NULL);
	for (guint i = 0; i < tipme_json_length(answers); i++) {
		struct json_object *one = json_object_array_get_idx(answers, i);
		g_autofree char *name =
			g_strdup_printf("%s, %s", tipme_json_text(one, "app"),
					tipme_text_input(tipme_json_text(one, "kind")));

		tipme_facts_durations(facts, tipme_json_number(one, "p50", G_MININT64),
				      tipme_json_number(one, "p99", G_MININT64),
				      tipme_json_number(one, "max_ns", G_MININT64), name);
	}
}

/* Means; what was not answered has none. */
static void add_stages(GPtrArray *tables, struct json_object *answers)
{
	static const char *const stages[] = { "read", "sent", "drawn", "finished" };
	TipmeFacts *facts = tipme_facts_table(tables, _("Mean time of each stage"), TRUE);

	tipme_facts_row(facts, _("read"), _("sent"), _("drawn"), _("finished"),
			_("application and input"), NULL);
	for (guint i = 0; i < tipme_json_length(answers); i++) {
		struct json_object *one = json_object_array_get_idx(answers, i);
		gint64 count = tipme_json_number(one, "answered", 0);
		struct json_object *sums = tipme_json_get(one, "stages");
		char *mean[G_N_ELEMENTS(stages)];

		if (count <= 0 || !sums)
			continue;
		for (guint j = 0; j < G_N_ELEMENTS(stages); j++)
			mean[j] = tipme_text_ms(tipme_json_number(sums, stages[j], 0) / count);
		g_autofree char *name =
			g_strdup_printf("%s, %s", tipme_json_text(one, "app"),
					tipme_text_input(tipme_json_text(one, "kind")));

		tipme_facts_row(facts, mean[0], mean[1], mean[2], mean[3], name, NULL);
		for (guint j = 0; j < G_N_ELEMENTS(stages); j++)
			g_free(mean[j]);
	}
}

static void add_moments(GPtrArray *tables, struct json_object *moments)
{
	TipmeFacts *facts = tipme_facts_table(tables, _("Where the time went"), TRUE);

	tipme_facts_row(facts, _("waiting"), _("thinking"), _("background"),
			_("application in use"), NULL);
	for (guint i = 0; i < tipme_json_length(moments); i++) {
		struct json_object *one = json_object_array_get_idx(moments, i);
		const char *app = tipme_json_text(one, "app");

		tipme_facts_durations(facts, tipme_json_number(one, "waiting_ns", G_MININT64),
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
	TipmeFacts *facts = tipme_facts_table(tables, _("Times between long answers"), TRUE);

	tipme_facts_row(facts, _("answers"), _("mean, s"), _("deviation, s"), _("longer than, ms"),
			NULL);
	for (guint i = 0; i < tipme_json_length(between); i++) {
		struct json_object *one = json_object_array_get_idx(between, i);
		g_autofree char *count = tipme_text_of_count(one, "events");
		g_autofree char *mean = text_of_number(one, "mean_s");
		g_autofree char *deviation = text_of_number(one, "deviation_s");
		g_autofree char *ms = tipme_text_of_count(one, "ms");

		tipme_facts_row(facts, count, mean, deviation, ms, NULL);
	}
}

/* Those that were judged, with their verdicts. */
static void add_long_events(GPtrArray *tables, struct json_object *events)
{
	TipmeFacts *facts = tipme_facts_table(tables, _("The longest answers"), TRUE);

	tipme_facts_row(facts, _("answer"), _("minute"), _("application, input and verdict"), NULL);
	for (guint i = 0; i < tipme_json_length(events); i++) {
		struct json_object *one = json_object_array_get_idx(events, i);
		g_autofree char *took =
			tipme_text_ms(tipme_json_number(one, "response_ns", G_MININT64));
		g_autofree char *minute = tipme_text_of_count(one, "minute");
		g_autofree char *what =
			g_strdup_printf("%s, %s: %s", tipme_json_text(one, "app"),
					tipme_text_input(tipme_json_text(one, "kind")),
					tipme_json_text(one, "verdict"));

		tipme_facts_row(facts, took, minute, what, NULL);
	}
}

/* What the machine does in minutes without input, and in others. */
static void add_activity(GPtrArray *tables, struct json_object *machine)
{
	static const char *const which[] = { "idle", "used" };
	const char *const name[] = { _("nobody touched it"), _("in use") };
	TipmeFacts *facts = tipme_facts_table(tables, _("What the machine did"), TRUE);

	tipme_facts_row(facts, _("busy, %"), _("device interrupts a second"),
			_("timer interrupts a second"), _("minutes in which"), NULL);
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

		tipme_facts_row(facts, share, device, timer, name[i], NULL);
	}
}

/* What a script has named: table 1, and what each operation took. */
static void add_operations(GPtrArray *tables, struct json_object *profile)
{
	struct json_object *each = tipme_json_get(profile, "operations");
	struct json_object *longest = tipme_json_get(profile, "long_operations");
	TipmeFacts *facts = tipme_facts_table(tables, _("Long answers by operation"), TRUE);

	tipme_facts_row(facts, _("answer"), _("operation"), NULL);
	for (guint i = 0; i < tipme_json_length(longest); i++) {
		struct json_object *one = json_object_array_get_idx(longest, i);
		const char *name = tipme_json_text(one, "operation");
		g_autofree char *took =
			tipme_text_ms(tipme_json_number(one, "response_ns", G_MININT64));

		tipme_facts_row(facts, took, *name ? name : "-", NULL);
	}
	facts = tipme_facts_table(tables, _("Operations"), TRUE);
	tipme_facts_row(facts, _("answers"), _("cold"), _("median"), _("longest"), _("operation"),
			NULL);
	for (guint i = 0; i < tipme_json_length(each); i++) {
		struct json_object *one = json_object_array_get_idx(each, i);
		g_autofree char *events = tipme_text_of_count(one, "events");
		g_autofree char *cold = tipme_text_of_count(one, "cold");
		g_autofree char *median =
			tipme_text_ms(tipme_json_number(one, "median_ns", G_MININT64));
		g_autofree char *most = tipme_text_ms(tipme_json_number(one, "max_ns", G_MININT64));

		tipme_facts_row(facts, events, cold, median, most,
				tipme_json_text(one, "operation"), NULL);
	}
}

void tipme_facts_add_profile(GPtrArray *tables, struct json_object *profile)
{
	struct json_object *answers = tipme_json_get(profile, "answers");

	if (tipme_json_length(answers)) {
		add_answers(tables, answers);
		add_stages(tables, answers);
	}
	if (tipme_json_length(tipme_json_get(profile, "moments")))
		add_moments(tables, tipme_json_get(profile, "moments"));
	if (tipme_json_length(tipme_json_get(profile, "between")))
		add_between(tables, tipme_json_get(profile, "between"));
	if (tipme_json_length(tipme_json_get(profile, "long_events")))
		add_long_events(tables, tipme_json_get(profile, "long_events"));
	if (tipme_json_length(tipme_json_get(profile, "operations")))
		add_operations(tables, profile);
	if (tipme_json_get(profile, "machine"))
		add_activity(tables, tipme_json_get(profile, "machine"));
}
