// SPDX-License-Identifier: GPL-2.0-only
/* Rows of the list of episodes, and the search in them. */
#include "config.h"

#include <string.h>

#include "episodes.h"
#include "json.h"
#include "numbers.h"
#include "retold.h"
#include "language.h"

G_DEFINE_FINAL_TYPE(TipmeRow, tipme_row, G_TYPE_OBJECT)

static void tipme_row_finalize(GObject *object)
{
	TipmeRow *self = TIPME_ROW(object);

	g_free(self->id);
	g_free(self->path);
	g_free(self->time);
	g_free(self->app);
	g_free(self->culprit);
	g_free(self->kind);
	g_free(self->verdict);
	g_free(self->note);
	g_free(self->tags);
	g_free(self->problem);
	G_OBJECT_CLASS(tipme_row_parent_class)->finalize(object);
}

static void tipme_row_class_init(TipmeRowClass *klass)
{
	G_OBJECT_CLASS(klass)->finalize = tipme_row_finalize;
}

static void tipme_row_init(TipmeRow *self)
{
	self->response_ns = G_MININT64;
}

static char *joined(struct json_object *list)
{
	g_autoptr(GStrvBuilder) words = g_strv_builder_new();

	for (guint i = 0; i < tipme_json_length(list); i++) {
		const char *word = json_object_get_string(json_object_array_get_idx(list, i));

		g_strv_builder_add(words, word ? word : "");
	}
	g_auto(GStrv) all = g_strv_builder_end(words);

	return g_strjoinv(" ", all);
}

static char *culprit_words(struct json_object *blamed)
{
	const char *name = tipme_json_text(blamed, "comm");
	gint64 process = tipme_json_number(blamed, "pid", 0);

	if (!*name || process <= 0)
		return g_strdup(name);
	return g_strdup_printf("%s (%" G_GINT64_FORMAT ")", name, process);
}

static char *verdict_words(TipmeRow *row, const char *sentence)
{
	g_autofree char *problem = *row->problem ? tipme_retold(row->problem) : NULL;

	if (problem)
		return g_strdup_printf(_("Damaged: %s"), problem);
	return g_strdup(*sentence ? sentence : _("Not diagnosed yet: open it"));
}

static TipmeRow *row_from_json(struct json_object *object)
{
	TipmeRow *row = g_object_new(TIPME_TYPE_ROW, NULL);
	struct json_object *verdict = tipme_json_get(object, "verdict");

	row->id = g_strdup(tipme_json_text(object, "id"));
	row->path = g_strdup(tipme_json_text(object, "path"));
	row->time = g_strdup(tipme_json_text(object, "time"));
	row->note = g_strdup(tipme_json_text(object, "note"));
	row->tags = joined(tipme_json_get(object, "tags"));
	row->problem = g_strdup(tipme_json_text(object, "problem"));
	row->app = g_strdup(tipme_json_text(verdict, "client"));
	row->culprit = culprit_words(tipme_json_get(verdict, "blamed"));
	row->kind = g_strdup(tipme_json_text(verdict, "kind"));
	row->pinned = json_object_get_boolean(tipme_json_get(object, "pinned"));
	row->response_ns = tipme_json_number(verdict, "interval_ns", G_MININT64);
	row->verdict = verdict_words(row, tipme_json_text(verdict, "sentence"));
	return row;
}

GPtrArray *tipme_rows_from_json(struct json_object *list)
{
	GPtrArray *rows = g_ptr_array_new_with_free_func(g_object_unref);
	struct json_object *episodes = tipme_json_get(list, "episodes");

	for (guint i = tipme_json_length(episodes); i-- > 0;)
		g_ptr_array_add(rows, row_from_json(json_object_array_get_idx(episodes, i)));
	return rows;
}

gboolean tipme_row_same(TipmeRow *a, TipmeRow *b)
{
	return !strcmp(a->path, b->path) && !strcmp(a->time, b->time) && !strcmp(a->app, b->app) &&
	       !strcmp(a->culprit, b->culprit) && !strcmp(a->kind, b->kind) &&
	       !strcmp(a->verdict, b->verdict) && !strcmp(a->note, b->note) &&
	       !strcmp(a->tags, b->tags) && !strcmp(a->problem, b->problem) &&
	       a->pinned == b->pinned && a->response_ns == b->response_ns;
}

/*
 * Folders of episodes begin with the year; into the library's table other programs write verdicts.
 * To read it changes nothing there.
 */
gboolean tipme_rows_change(const char *name)
{
	return g_ascii_isdigit(*name) || !strcmp(name, "library.sqlite");
}

const char *tipme_rows_folder(struct json_object *list)
{
	return tipme_json_text(list, "folder");
}

static gboolean contains(const char *text, const char *word)
{
	g_autofree char *folded = g_utf8_casefold(text, -1);
	g_autofree char *wanted = g_utf8_casefold(word, -1);

	return strstr(folded, wanted) != NULL;
}

/* A day as its own text: those compare as days do. */
static char *day(const char *word)
{
	g_autoptr(GDateTime) now = g_date_time_new_now_local();
	g_autoptr(GDateTime) then = NULL;

	if (strcmp(word, "today") && strcmp(word, "yesterday"))
		return g_strdup(word);
	then = g_date_time_add_days(now, strcmp(word, "today") ? -1 : 0);
	return g_date_time_format(then, "%Y-%m-%d");
}

static gboolean word_matches(TipmeRow *row, const char *word)
{
	g_autofree char *time = tipme_text_local_time(row->time);

	if (!strcmp(word, "is:pinned"))
		return row->pinned;
	if (g_str_has_prefix(word, "app:"))
		return contains(row->app, word + 4);
	if (g_str_has_prefix(word, "tag:"))
		return contains(row->tags, word + 4);
	if (g_str_has_prefix(word, "kind:"))
		return contains(row->kind, word + 5);
	if (g_str_has_prefix(word, "after:") || g_str_has_prefix(word, "before:")) {
		g_autofree char *limit = day(strchr(word, ':') + 1);
		int order = strncmp(time, limit, strlen(limit));

		return *word == 'a' ? order >= 0 : order < 0;
	}
	return contains(row->id, word) || contains(time, word) || contains(row->app, word) ||
	       contains(row->verdict, word) || contains(row->note, word) ||
	       contains(row->tags, word);
}

gboolean tipme_row_matches(TipmeRow *row, const char *search)
{
	g_auto(GStrv) words = g_strsplit_set(search, " \t", -1);

	for (char **word = words; *word; word++)
		if (**word && !word_matches(row, *word))
			return FALSE;
	return TRUE;
}
