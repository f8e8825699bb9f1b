// SPDX-License-Identifier: GPL-2.0-only
/* The question what happened: each choice is saved at once, and can be taken back. */
#include "config.h"

#include <string.h>

#include "question.h"
#include "question_parts.h"
#include "verb.h"
#include "words.h"

#define TYPED_MS 1000 /* so long after the last letter the words are saved */

static void answer_set(struct answer *to, const struct answer *from)
{
	struct answer copy = *from;

	copy.choice = g_strdup(from->choice);
	copy.own = g_strdup(from->own);
	copy.event = g_strdup(from->event);
	g_free(to->choice);
	g_free(to->own);
	g_free(to->event);
	*to = copy;
}

static char *answer_words(const struct answer *a)
{
	const char *parts[QUESTION_SHORTS + 3] = { NULL };
	int n = 0;

	for (size_t i = 0; i < QUESTION_SHORTS; i++)
		if (a->said[i])
			parts[n++] = _(a->said[i]->note);
	if (a->own)
		parts[n++] = a->own;
	if (a->choice)
		parts[n++] = a->choice;
	return g_strjoinv("; ", (char **)parts);
}

/* --- how long it stays --- */

static gboolean on_timeout(gpointer arg)
{
	gtk_main_quit();
	return G_SOURCE_REMOVE;
}

/* Who has begun to answer has all the time there is. */
void question_timeout_stop(struct question *q)
{
	q->begun = true;
	if (q->timeout)
		g_source_remove(q->timeout);
	q->timeout = 0;
}

static void timeout_start(struct question *q)
{
	if (q->timeout)
		g_source_remove(q->timeout);
	q->timeout = 0;
	if (q->timeout_s > 0)
		q->timeout = g_timeout_add_seconds((guint)q->timeout_s, on_timeout, q);
}

/* Not before the first cause is there to be read: a busy machine takes its time. */
void question_told(struct question *q)
{
	if (!q->told && !q->begun)
		timeout_start(q);
	q->told = true;
}

/* --- the words on their way --- */

static void say(struct question *q, const char *text, bool undo, bool start)
{
	gtk_label_set_text(GTK_LABEL(q->status), text);
	gtk_widget_set_visible(q->undo, undo);
	gtk_widget_set_visible(q->start, start);
}

/* It may go away by itself again, but not from somebody who reads. */
static void on_saved(void *arg)
{
	struct question *q = arg;

	if (q->closing) {
		gtk_main_quit();
		return;
	}
	say(q, q->undoing ? _(TIPME_WORDS_UNDONE) : _(TIPME_WORDS_SAVED_WORDS), !q->undoing, false);
	q->undoing = false;
	if (!q->shown)
		timeout_start(q);
}

static void on_refused(void *arg, const char *why)
{
	struct question *q = arg;
	char *text = g_strdup_printf(_(TIPME_WORDS_NOT_SAVED), why);

	q->closing = false;
	say(q, text, false, false);
	g_free(text);
}

static void on_alone(void *arg)
{
	struct question *q = arg;

	q->closing = false;
	say(q, _(TIPME_WORDS_NOT_RECORDED), false, true);
}

static void write_now(struct question *q)
{
	char *words = answer_words(&q->now);

	question_timeout_stop(q);
	say(q, _(TIPME_WORDS_SAVING_WORDS), false, false);
	scribe_write(q->scribe, words);
	g_free(words);
}

/* `field` of the answer becomes `text`, and is saved. */
void question_answer(struct question *q, char **field, const char *text)
{
	if (!g_strcmp0(*field, text))
		return;
	answer_set(&q->before, &q->now);
	g_free(*field);
	*field = g_strdup(text);
	write_now(q);
}

/* Another answer, about which tipme is asked again. */
static void answer_become(struct question *q, const struct answer *next)
{
	answer_set(&q->before, &q->now);
	answer_set(&q->now, next);
	write_now(q);
	question_moments_hide(q);
	question_panel_hide(q); /* it is about what was before */
	question_shorts_show(q);
	question_diagnose(q);
}

void question_answer_moment(struct question *q, const char *event, const char *text)
{
	if (!g_strcmp0(q->now.event, event)) {
		question_answer(q, &q->now.choice, text);
		return;
	}
	struct answer next = q->now;

	next.choice = (char *)text;
	next.event = (char *)event;
	answer_become(q, &next);
}

/* What stands in the entry, if it is new. Returns whether something is on its way now. */
static bool own_words_take(struct question *q)
{
	char *text = g_strstrip(g_strdup(gtk_entry_get_text(GTK_ENTRY(q->entry))));

	if (q->typed)
		g_source_remove(q->typed);
	q->typed = 0;
	question_answer(q, &q->now.own, *text ? text : NULL);
	g_free(text);
	return scribe_busy(q->scribe);
}

static gboolean on_typed(gpointer arg)
{
	struct question *q = arg;

	q->typed = 0;
	own_words_take(q);
	return G_SOURCE_REMOVE;
}

void question_on_changed(GtkEditable *entry, gpointer arg)
{
	struct question *q = arg;

	question_timeout_stop(q);
	if (q->typed)
		g_source_remove(q->typed);
	q->typed = g_timeout_add(TYPED_MS, on_typed, q);
}

void question_on_undo(GtkWidget *widget, gpointer arg)
{
	struct question *q = arg;
	bool other = g_strcmp0(q->now.event, q->before.event) ||
		     memcmp(q->now.said, q->before.said, sizeof(q->now.said));

	answer_set(&q->now, &q->before);
	g_signal_handlers_block_by_func(q->entry, question_on_changed, q);
	gtk_entry_set_text(GTK_ENTRY(q->entry), q->now.own ? q->now.own : "");
	g_signal_handlers_unblock_by_func(q->entry, question_on_changed, q);
	q->undoing = true;
	write_now(q);
	question_shorts_show(q);
	if (!other)
		return;
	/* What it shows is about another moment. */
	question_panel_hide(q);
	question_diagnose(q);
}

/* What was typed is saved first; the window goes when it is. */
void question_on_close(GtkWidget *widget, gpointer arg)
{
	struct question *q = arg;
	bool again = q->closing;

	q->closing = true;
	if (again || !own_words_take(q))
		gtk_main_quit();
}

/* Whether the pointer moved is asked only of those for whom everything stood still. */
void question_on_said(GtkWidget *widget, gpointer arg)
{
	struct question *q = arg;
	const struct said *said = g_object_get_data(G_OBJECT(widget), "said");
	struct answer next = q->now;

	if (next.said[said->to] == said)
		return;
	next.said[said->to] = said;
	if (said->to == QUESTION_WHAT)
		next.said[QUESTION_POINTER] = NULL;
	answer_become(q, &next);
}

void question_on_yes(GtkWidget *widget, gpointer arg)
{
	struct question *q = arg;

	question_moments_hide(q);
	question_answer(q, &q->now.choice, q->sentence);
}

static void on_started(void *arg, int status, const char *out, const char *err)
{
	struct question *q = arg;

	gtk_widget_set_sensitive(q->start, TRUE);
	if (status)
		gtk_label_set_text(GTK_LABEL(q->status), *err ? err : _(TIPME_WORDS_NOT_RECORDED));
}

/* The words follow by themselves when it runs. */
void question_on_start(GtkWidget *widget, gpointer arg)
{
	static const char *const args[] = { "start", "--ask", NULL };
	struct question *q = arg;

	gtk_widget_set_sensitive(q->start, FALSE);
	agent_verb_run(args, NULL, q->cancel, on_started, q);
}

void question_ask(const char *path, int timeout_s)
{
	struct question q = { .path = g_strdup(path),
			      .id = g_path_get_basename(path),
			      .timeout_s = timeout_s,
			      .cancel = g_cancellable_new() };
	const struct answer none = { 0 };

	q.calls = (struct scribe_calls){ on_saved, on_refused, on_alone, &q };
	q.scribe = scribe_new(q.id, &q.calls);
	question_window_make(&q);
	question_diagnose(&q);
	gtk_main();
	g_cancellable_cancel(q.cancel);
	g_cancellable_cancel(q.panel_cancel);
	scribe_free(q.scribe);
	answer_set(&q.now, &none);
	answer_set(&q.before, &none);
	g_free(q.sentence);
	g_free(q.path);
	g_free(q.id);
}
