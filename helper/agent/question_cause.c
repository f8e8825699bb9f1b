// SPDX-License-Identifier: GPL-2.0-only
/*
 * What tipme has to say in the question: the cause, the slowest moments, why, and what goes into
 * a report.
 */
#include "config.h"

#include <json-c/json.h>
#include <string.h>

#include "notice.h"
#include "question_parts.h"
#include "verb.h"
#include "words.h"

/* --- the verdict, when it is ready --- */

static struct json_object *part(struct json_object *from, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(from, key, &value);
	return value;
}

static const char *text_of(struct json_object *from, const char *key)
{
	struct json_object *value = part(from, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

/* What tipme says of the answers to the short questions; NULL: nothing */
static char *felt_words(struct json_object *felt)
{
	struct json_object *words = part(felt, "words");
	GString *all = g_string_new(NULL);

	for (size_t i = 0;
	     json_object_is_type(words, json_type_array) && i < json_object_array_length(words);
	     i++)
		g_string_append_printf(all, "%s%s", i ? " " : "",
				       json_object_get_string(json_object_array_get_idx(words, i)));
	return g_string_free(all, !all->len);
}

/* A cause, which the user may take over, or just what is known. */
static void verdict_show(struct question *q, struct json_object *top)
{
	struct json_object *verdict = part(top, "verdict");
	const char *sentence = text_of(verdict, "sentence"), *kind = text_of(verdict, "kind"),
		   *when = text_of(part(top, "when"), "text");
	bool sure = kind && strcmp(kind, "unknown") && strcmp(kind, "none");

	g_free(q->sentence);
	q->sentence = g_strdup(sentence);
	if (!sentence) {
		char *text = g_strdup_printf(_(TIPME_WORDS_CAUSE_UNKNOWN), q->id);

		gtk_label_set_text(GTK_LABEL(q->verdict), text);
		g_free(text);
		return;
	}
	char *felt = felt_words(part(top, "felt"));
	char *cause = sure ? g_strdup_printf(_(TIPME_WORDS_PROBABLE_CAUSE), sentence)
			   : g_strdup(sentence);
	char *moment = when ? g_strdup_printf(_(TIPME_WORDS_WHEN), when) : NULL;
	char *about = g_strconcat(cause, moment ? "\n" : NULL, moment, NULL);
	char *text = g_strconcat(about, felt ? "\n" : NULL, felt, NULL);

	gtk_label_set_text(GTK_LABEL(q->verdict), text);
	gtk_widget_set_sensitive(q->yes, sure);
	g_free(text);
	g_free(about);
	g_free(moment);
	g_free(cause);
	g_free(felt);
}

static void report_preview(struct question *q);

static void on_diagnosed(void *arg, int status, const char *out, const char *err)
{
	struct question *q = arg;

	q->diagnosing = false;
	if (q->again) {
		q->again = false;
		question_diagnose(q);
		return;
	}
	struct json_object *top = json_tokener_parse(out);

	verdict_show(q, top);
	gtk_widget_set_sensitive(q->no, TRUE);
	question_told(q);
	json_object_put(top);
	if (q->report_waits)
		report_preview(q);
}

/* The answers to the short questions, for --felt; NULL: there are none, or an event says more */
static char *felt_codes(const struct answer *a)
{
	const char *codes[QUESTION_SHORTS + 1] = { NULL };
	int n = 0;

	for (size_t i = 0; i < QUESTION_SHORTS && !a->event; i++)
		if (a->said[i])
			codes[n++] = a->said[i]->code;
	return n ? g_strjoinv(",", (char **)codes) : NULL;
}

/*
 * `tipme diagnose EPISODE`, about what the user has said if that is anything. NULL: for the
 * panel; else with the option `more`, and the episode comes to know what was said.
 */
static void ask_tipme(struct question *q, const char *more, agent_verb_done done)
{
	const char *args[7] = { "diagnose", q->path };
	char *felt = felt_codes(&q->now);
	bool said = q->now.event || felt;
	int n = 2;

	if (said) {
		args[n++] = felt ? "--felt" : "--event";
		args[n++] = felt ? felt : q->now.event;
	}
	if (more) {
		args[n++] = more;
		/* Both only where the answer has changed. */
		if (said)
			args[n] = "--keep";
		else if (q->kept)
			args[n] = "--forget";
		q->kept = said;
	}
	agent_verb_run(args, NULL, more ? q->cancel : q->panel_cancel, done, q);
	g_free(felt);
}

void question_diagnose(struct question *q)
{
	gtk_label_set_text(GTK_LABEL(q->verdict), _(TIPME_WORDS_LOOKING));
	gtk_widget_set_sensitive(q->yes, FALSE);
	/* One at a time: the last answer is to be the last that the episode comes to know. */
	q->again = q->diagnosing;
	if (q->diagnosing)
		return;
	q->diagnosing = true;
	ask_tipme(q, "--json", on_diagnosed);
}

/* --- another moment --- */

void question_moments_hide(struct question *q)
{
	q->asking = false;
	gtk_widget_hide(q->moments);
}

static void on_moment(GtkWidget *widget, gpointer arg)
{
	struct question *q = arg;
	char *note = g_strdup_printf(_(TIPME_WORDS_MOMENT_NOTE),
				     (const char *)g_object_get_data(G_OBJECT(widget), "words"));

	question_moments_hide(q);
	question_answer_moment(q, g_object_get_data(G_OBJECT(widget), "event"), note);
	g_free(note);
}

static void on_none(GtkWidget *widget, gpointer arg)
{
	struct question *q = arg;

	question_moments_hide(q);
	question_answer_moment(q, NULL, _(TIPME_WORDS_NOT_THAT));
}

static GtkWidget *choice_add(struct question *q, const char *text, GCallback call)
{
	GtkWidget *choice = gtk_button_new_with_mnemonic(text);

	gtk_widget_set_halign(gtk_bin_get_child(GTK_BIN(choice)), GTK_ALIGN_START);
	g_signal_connect(choice, "clicked", call, q);
	gtk_container_add(GTK_CONTAINER(q->list), choice);
	return choice;
}

/* The mnemonic is its number in the list; in the names of programs an underline is one. */
static void moment_add(struct question *q, size_t number, struct json_object *moment)
{
	const char *words = text_of(moment, "words"),
		   *event = json_object_get_string(part(moment, "n"));
	char **parts = g_strsplit(words ? words : "-", "_", -1), *escaped = g_strjoinv("__", parts);
	char *text = g_strdup_printf("_%zu. %s", number, escaped);
	GtkWidget *choice = choice_add(q, text, G_CALLBACK(on_moment));

	g_object_set_data_full(G_OBJECT(choice), "words", g_strdup(words ? words : "-"), g_free);
	g_object_set_data_full(G_OBJECT(choice), "event", g_strdup(event), g_free);
	g_free(text);
	g_free(escaped);
	g_strfreev(parts);
}

static void destroy(GtkWidget *widget, gpointer arg)
{
	gtk_widget_destroy(widget);
}

static void on_moments(void *arg, int status, const char *out, const char *err)
{
	struct question *q = arg;

	/* Answered meanwhile: by [Yes], or by asking for something else. */
	if (!q->asking)
		return;
	struct json_object *top = json_tokener_parse(out), *list = part(top, "slowest");
	size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

	q->asking = false;
	gtk_container_foreach(GTK_CONTAINER(q->list), destroy, NULL);
	gtk_container_add(GTK_CONTAINER(q->list),
			  notice_label(n ? _(TIPME_WORDS_WHICH) : _(TIPME_WORDS_NO_MOMENTS)));
	for (size_t i = 0; i < n; i++)
		moment_add(q, i + 1, json_object_array_get_idx(list, i));
	choice_add(q, _(TIPME_WORDS_NONE_OF_THESE), G_CALLBACK(on_none));
	json_object_put(top);
	gtk_widget_show_all(q->list);
	question_panel_hide(q);
	question_fit(q, q->moments);
	gtk_widget_show(q->moments);
}

void question_on_no(GtkWidget *widget, gpointer arg)
{
	struct question *q = arg;
	const char *args[] = { "events", q->path, "--slowest", "--json", NULL };

	question_timeout_stop(q);
	/* Who presses twice has the list already, or will have it. */
	if (q->asking || gtk_widget_get_visible(q->moments))
		return;
	q->asking = true;
	agent_verb_run(args, NULL, q->cancel, on_moments, q);
}

/* --- why, and a report --- */

static void panel_text(struct question *q, const char *text)
{
	gtk_text_buffer_set_text(gtk_text_view_get_buffer(GTK_TEXT_VIEW(q->text)), text, -1);
}

void question_panel_hide(struct question *q)
{
	g_cancellable_cancel(q->panel_cancel);
	g_clear_object(&q->panel_cancel);
	q->shown = NULL;
	q->report_waits = false;
	gtk_widget_hide(q->panel);
	gtk_widget_hide(q->report_save);
}

/*
 * Shows what `what` (TIPME_WORDS_WHY, _REPORT) has to say, or hides it. Returns whether it is
 * shown. One at a time is open, the panel or the list of moments: both are higher than screens.
 */
static bool panel_toggle(struct question *q, const char *what, const char *text)
{
	bool hide = q->shown == what;

	question_timeout_stop(q);
	question_panel_hide(q);
	if (hide)
		return false;
	question_moments_hide(q);
	q->shown = what;
	q->panel_cancel = g_cancellable_new();
	panel_text(q, text);
	question_fit(q, q->panel_scroll);
	gtk_widget_show(q->panel);
	return true;
}

/* The question stays: it may still be answered. */
void question_on_open(GtkWidget *widget, gpointer arg)
{
	struct question *q = arg;

	question_timeout_stop(q);
	agent_window_start(q->path);
}

static const char why[] = TIPME_WORDS_WHY, report[] = TIPME_WORDS_REPORT;

static void on_explained(void *arg, int status, const char *out, const char *err)
{
	struct question *q = arg;

	if (q->shown == why)
		panel_text(q, *out ? out : err);
}

void question_on_why(GtkWidget *widget, gpointer arg)
{
	if (panel_toggle(arg, why, _(TIPME_WORDS_LOOKING)))
		ask_tipme(arg, NULL, on_explained);
}

/*
 * Without a terminal `tipme bundle` shows what goes into the file, and writes none: that is what
 * the user is asked to agree to.
 */
static void on_previewed(void *arg, int status, const char *out, const char *err)
{
	struct question *q = arg;

	if (q->shown != report)
		return;
	panel_text(q, *out ? out : err);
	gtk_widget_set_visible(q->report_save, *out);
}

/* About the moment that was meant, so not before the episode knows that. */
static void report_preview(struct question *q)
{
	const char *args[] = { "bundle", q->path, NULL };

	q->report_waits = q->diagnosing;
	if (!q->diagnosing)
		agent_verb_run(args, NULL, q->panel_cancel, on_previewed, q);
}

void question_on_report(GtkWidget *widget, gpointer arg)
{
	struct question *q = arg;
	if (panel_toggle(q, report, _(TIPME_WORDS_REPORT_MAKING)))
		report_preview(q);
}

static const char *reports_folder(void)
{
	const char *folder = g_get_user_special_dir(G_USER_DIRECTORY_DOWNLOAD);

	return folder && g_file_test(folder, G_FILE_TEST_IS_DIR) ? folder : g_get_home_dir();
}

/* Its last but one line begins with the file's name. */
static void on_report_written(void *arg, int status, const char *out, const char *err)
{
	struct question *q = arg;
	const char *suffix = g_strrstr(out, ".tipme ");
	const char *end = suffix ? suffix + strlen(".tipme") : NULL, *begin = end;

	while (begin && begin > out && begin[-1] != '\n')
		begin--;
	char *file = begin ? g_strdup_printf("%s/%.*s", reports_folder(), (int)(end - begin), begin)
			   : NULL;
	char *text = file ? g_strdup_printf(_(TIPME_WORDS_REPORT_SAVED), file)
			  : g_strdup_printf(_(TIPME_WORDS_REPORT_FAILED), err);

	if (q->shown == report) {
		gtk_widget_set_visible(q->report_save, !file);
		panel_text(q, text);
	} else {
		gtk_label_set_text(GTK_LABEL(q->status), text);
	}
	g_free(text);
	g_free(file);
}

void question_on_report_save(GtkWidget *widget, gpointer arg)
{
	struct question *q = arg;
	const char *args[] = { "bundle", q->path, "--yes", NULL };

	gtk_widget_hide(q->report_save);
	agent_verb_run(args, reports_folder(), q->cancel, on_report_written, q);
}
