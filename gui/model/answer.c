// SPDX-License-Identifier: GPL-2.0-only
/* Reads a diagnosis. */
#include "config.h"

#include "answer.h"

#include <string.h>

#include "json.h"
#include "numbers.h"
#include "language.h"

static void part_free(gpointer data)
{
	TipmePart *part = data;

	g_free(part->kind);
	g_free(part->words);
	g_free(part->who);
	g_free(part);
}

static void stage_free(gpointer data)
{
	TipmeStage *stage = data;

	g_free(stage->name);
	g_free(stage->certainty);
	g_free(stage);
}

static void stretch_free(gpointer data)
{
	TipmeStretch *stretch = data;

	g_free(stretch->thread);
	g_free(stretch->state);
	g_free(stretch->reason);
	g_free(stretch->charged);
	g_free(stretch);
}

static void step_free(gpointer data)
{
	TipmeStep *step = data;

	g_free(step->command);
	g_free(step->mark);
	g_free(step->undo);
	g_free(step);
}

static TipmeAnswer *answer_new(void)
{
	TipmeAnswer *answer = g_new0(TipmeAnswer, 1);

	answer->usual_ns = G_MININT64;
	answer->parts = g_ptr_array_new_with_free_func(part_free);
	answer->stages = g_ptr_array_new_with_free_func(stage_free);
	answer->path = g_ptr_array_new_with_free_func(stretch_free);
	answer->steps = g_ptr_array_new_with_free_func(step_free);
	answer->candidates = g_ptr_array_new_with_free_func(g_free);
	answer->known = g_ptr_array_new_with_free_func(g_free);
	answer->threads = g_array_new(FALSE, FALSE, sizeof(guint32));
	return answer;
}

/* In a few words: a column of the page, and a flag on the timeline. */
static const struct {
	const char *name, *words;
} stages[] = {
	{ "interrupt", N_("interrupt") },	 { "input", N_("it arrives") },
	{ "read", N_("server reads it") },	 { "server", N_("server wakes up") },
	{ "device", N_("server begins") },	 { "deliver", N_("sent to program") },
	{ "client", N_("program runs") },	 { "request", N_("program draws") },
	{ "drawn", N_("program has drawn") },	 { "told", N_("compositor is told") },
	{ "painting", N_("compositor paints") }, { "born", N_("process is made") },
	{ "feedback", N_("on the screen") },	 { "free", N_("program free again") },
	{ "open", N_("no answer yet") },
};

const char *tipme_stage_words(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(stages); i++)
		if (!strcmp(name, stages[i].name))
			return _(stages[i].words);
	return name;
}

TipmeAnswer *tipme_answer_failed(const char *why)
{
	TipmeAnswer *answer = answer_new();

	answer->problem = g_strdup(why);
	return answer;
}

void tipme_answer_free(TipmeAnswer *answer)
{
	if (!answer)
		return;
	g_free(answer->problem);
	g_free(answer->id);
	g_free(answer->kind);
	g_free(answer->sentence);
	g_free(answer->when);
	g_free(answer->ask);
	g_free(answer->next);
	g_free(answer->app);
	g_ptr_array_unref(answer->parts);
	g_ptr_array_unref(answer->stages);
	g_ptr_array_unref(answer->path);
	g_ptr_array_unref(answer->steps);
	g_ptr_array_unref(answer->candidates);
	g_ptr_array_unref(answer->known);
	g_array_unref(answer->threads);
	g_free(answer);
}

/* "bash (17520)", or what there is of it. */
static char *who(struct json_object *object)
{
	const char *comm = tipme_json_text(object, "comm");
	gint64 pid = tipme_json_number(object, "pid", 0);

	return pid ? g_strdup_printf("%s (%" G_GINT64_FORMAT ")", comm, pid) : g_strdup(comm);
}

static void read_parts(TipmeAnswer *answer, struct json_object *totals)
{
	struct json_object *list = tipme_json_get(totals, "blamed");

	for (guint i = 0; i < tipme_json_length(list); i++) {
		struct json_object *from = json_object_array_get_idx(list, i);
		TipmePart *part = g_new0(TipmePart, 1);
		const char *words = tipme_json_text(from, "words");

		part->kind = g_strdup(tipme_json_text(from, "kind"));
		part->words = g_strdup(*words ? words : part->kind);
		part->who = who(from);
		part->pid = (guint32)tipme_json_number(from, "pid", 0);
		part->ns = tipme_json_number(from, "ns", 0);
		g_ptr_array_add(answer->parts, part);
	}
}

static void read_stages(TipmeAnswer *answer, struct json_object *event)
{
	struct json_object *list = tipme_json_get(event, "stages");

	for (guint i = 0; i < tipme_json_length(list); i++) {
		struct json_object *from = json_object_array_get_idx(list, i);
		TipmeStage *stage = g_new0(TipmeStage, 1);

		stage->name = g_strdup(tipme_json_text(from, "name"));
		stage->certainty = g_strdup(tipme_json_text(from, "certainty"));
		stage->at_ns = tipme_json_number(from, "ts_ns", answer->from_ns) - answer->from_ns;
		g_ptr_array_add(answer->stages, stage);
	}
}

static void add_thread(TipmeAnswer *answer, guint32 tid)
{
	for (guint i = 0; i < answer->threads->len; i++)
		if (g_array_index(answer->threads, guint32, i) == tid)
			return;
	g_array_append_val(answer->threads, tid);
}

/* Parts are told apart by kind and process. */
static guint part_of(const TipmeAnswer *answer, struct json_object *blamed)
{
	g_autofree char *name = who(blamed);
	const char *kind = tipme_json_text(blamed, "kind");

	for (guint i = 0; i < answer->parts->len; i++) {
		const TipmePart *part = g_ptr_array_index(answer->parts, i);

		if (!strcmp(part->kind, kind) && !strcmp(part->who, name))
			return i;
	}
	return TIPME_NO_PART;
}

char *tipme_part_words(const TipmePart *part)
{
	return *part->who ? g_strdup_printf("%s: %s", part->words, part->who)
			  : g_strdup(part->words);
}

guint tipme_answer_slow_stage(const TipmeAnswer *answer)
{
	gint64 most = 0;
	guint slow = G_MAXUINT;

	for (guint i = 1; i < answer->stages->len; i++) {
		const TipmeStage *stage = g_ptr_array_index(answer->stages, i);
		const TipmeStage *before = g_ptr_array_index(answer->stages, i - 1);

		if (stage->at_ns - before->at_ns > most) {
			most = stage->at_ns - before->at_ns;
			slow = i;
		}
	}
	return slow;
}

static void read_path(TipmeAnswer *answer, struct json_object *list)
{
	for (guint i = 0; i < tipme_json_length(list); i++) {
		struct json_object *from = json_object_array_get_idx(list, i);
		struct json_object *blamed = tipme_json_get(from, "blamed");
		g_autofree char *charged = who(blamed);
		TipmeStretch *stretch = g_new0(TipmeStretch, 1);

		stretch->from_ns = tipme_json_number(from, "from_ns", 0);
		stretch->to_ns = tipme_json_number(from, "to_ns", 0);
		stretch->tid = (guint32)tipme_json_number(from, "tid", 0);
		stretch->thread =
			g_strdup_printf("%s (%u)", tipme_json_text(from, "comm"), stretch->tid);
		stretch->state = g_strdup(tipme_json_text(from, "state"));
		stretch->reason = g_strdup(tipme_json_text(from, "reason"));
		stretch->charged =
			g_strdup_printf("%s: %s", charged, tipme_json_text(blamed, "detail"));
		stretch->part = part_of(answer, blamed);
		g_ptr_array_add(answer->path, stretch);
		if (stretch->tid)
			add_thread(answer, stretch->tid);
	}
}

static void read_candidates(TipmeAnswer *answer, struct json_object *list)
{
	for (guint i = 0; i < tipme_json_length(list); i++) {
		struct json_object *from = json_object_array_get_idx(list, i);
		g_autofree char *possible =
			tipme_text_ms(tipme_json_number(from, "possible_ns", G_MININT64));
		g_autofree char *name = who(from);

		g_ptr_array_add(answer->candidates,
				g_strdup_printf(_("%s, perhaps %s: %s"), name, possible,
						tipme_json_text(from, "words")));
	}
}

static void read_texts(GPtrArray *to, struct json_object *list)
{
	for (guint i = 0; i < tipme_json_length(list); i++)
		g_ptr_array_add(
			to, g_strdup(json_object_get_string(json_object_array_get_idx(list, i))));
}

static void read_steps(TipmeAnswer *answer, struct json_object *list)
{
	for (guint i = 0; i < tipme_json_length(list); i++) {
		struct json_object *from = json_object_array_get_idx(list, i);
		TipmeStep *step = g_new0(TipmeStep, 1);

		step->command = g_strdup(tipme_json_text(from, "command"));
		step->mark = g_strdup(tipme_json_text(from, "mark"));
		step->undo = g_strdup(tipme_json_text(from, "undo"));
		g_ptr_array_add(answer->steps, step);
	}
}

static void read_interval(TipmeAnswer *answer, struct json_object *interval)
{
	answer->from_ns = tipme_json_number(interval, "start_ns", 0);
	answer->to_ns = tipme_json_number(interval, "end_ns", 0);
	answer->usual_ns = tipme_json_number(interval, "usual_ns", G_MININT64);
	answer->has_interval = interval && answer->to_ns > answer->from_ns;
}

static double share(struct json_object *object, const char *name)
{
	struct json_object *value = tipme_json_get(object, name);

	return value ? json_object_get_double(value) : 0;
}

static void read_verdict(TipmeAnswer *answer, struct json_object *verdict)
{
	answer->kind = g_strdup(tipme_json_text(verdict, "kind"));
	answer->sentence = g_strdup(tipme_json_text(verdict, "sentence"));
	answer->ask = g_strdup(tipme_json_text(verdict, "door"));
	answer->next = g_strdup(tipme_json_text(verdict, "next"));
	answer->confidence = share(verdict, "confidence");
	answer->exact = share(verdict, "exact");
	read_texts(answer->known, tipme_json_get(verdict, "circumstances"));
	read_steps(answer, tipme_json_get(verdict, "steps"));
}

TipmeAnswer *tipme_answer_from_json(struct json_object *diagnosis)
{
	TipmeAnswer *answer = answer_new();
	struct json_object *event = tipme_json_get(diagnosis, "event");

	answer->id = g_strdup(tipme_json_text(diagnosis, "id"));
	answer->when = g_strdup(tipme_json_text(tipme_json_get(diagnosis, "when"), "text"));
	answer->app = who(tipme_json_get(event, "client"));
	answer->trigger_ns = tipme_json_number(tipme_json_get(diagnosis, "trigger"), "ns", 0);
	answer->sampled = tipme_json_number(diagnosis, "sampled", 0) != 0;
	read_interval(answer, tipme_json_get(diagnosis, "interval"));
	read_verdict(answer, tipme_json_get(diagnosis, "verdict"));
	read_parts(answer, tipme_json_get(diagnosis, "totals"));
	read_stages(answer, event);
	read_path(answer, tipme_json_get(diagnosis, "path"));
	read_candidates(answer, tipme_json_get(diagnosis, "candidates"));
	read_texts(answer->known, tipme_json_get(diagnosis, "damage"));
	if (answer->sampled)
		g_ptr_array_add(
			answer->known,
			g_strdup(_("The kernel's side comes from samples of /proc, 20 ms apart.")));
	return answer;
}
