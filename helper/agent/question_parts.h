/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the question: its state, and what its files do for each other. */
#ifndef TIPME_AGENT_QUESTION_PARTS_H
#define TIPME_AGENT_QUESTION_PARTS_H

#include <gtk/gtk.h>
#include <stdbool.h>

#include "scribe.h"

/* The short questions, and an answer to one of them. */
enum question_short { QUESTION_WHAT, QUESTION_POINTER, QUESTION_AGAIN, QUESTION_SHORTS };

struct said {
	enum question_short to;
	const char *code; /* for `tipme diagnose --felt` */
	const char *name, *note; /* on the button; in the user's note */
	char key;
};

/* What the user has answered; each NULL or a text. */
struct answer {
	char *choice; /* what it was */
	char *own; /* words */
	char *event; /* which was meant; NULL: the verdict's own */
	const struct said *said[QUESTION_SHORTS]; /* each NULL: not answered */
};

struct question {
	char *path, *id;
	int timeout_s;
	guint timeout, typed; /* sources, or 0 */
	bool told, begun; /* the cause was shown; the user has begun to answer */
	struct scribe_calls calls;
	struct scribe *scribe;
	GCancellable *cancel;
	GCancellable *panel_cancel; /* of what is on its way to the panel; NULL: it is closed */
	struct answer now, before; /* before: what Undo brings back */
	char *sentence; /* of the verdict; NULL: not known */
	bool kept; /* the episode is about an event that was meant */
	bool diagnosing, again, report_waits; /* what is to be done when it is diagnosed */
	bool asking; /* for the slowest moments */
	bool undoing, closing;
	GtkWidget *window, *verdict, *yes, *no, *moments, *entry, *status, *undo, *start, *panel,
		*text, *report_save;
	GtkWidget *
		shorts[QUESTION_SHORTS]; /* those that are hidden at first; [QUESTION_WHAT]: NULL */
	GtkWidget *list; /* in `moments`, which scrolls */
	GtkWidget *panel_scroll; /* around `text` */
	const char *shown; /* by what button the panel is shown; NULL: it is not */
};

/* --- question.c: what the user says --- */

/* `field` of the answer becomes `text`, and is saved. */
void question_answer(struct question *q, char **field, const char *text);
/* What it was becomes `text`; about an event, by its number, or NULL. */
void question_answer_moment(struct question *q, const char *event, const char *text);
void question_timeout_stop(struct question *q);
void question_told(struct question *q); /* the cause is shown */
void question_on_yes(GtkWidget *widget, gpointer question);
void question_on_said(GtkWidget *button, gpointer question); /* its data "said" is the answer */
void question_on_changed(GtkEditable *entry, gpointer question);
void question_on_undo(GtkWidget *widget, gpointer question);
void question_on_start(GtkWidget *widget, gpointer question);
void question_on_close(GtkWidget *widget, gpointer question);

/* --- question_cause.c: what tipme says --- */

/*
 * Looks for the cause, of the event that the user has meant if there is one, and shows it. The
 * episode is about that event from then on: a report, the list, a picture.
 */
void question_diagnose(struct question *q);
void question_on_no(GtkWidget *widget, gpointer question);
void question_moments_hide(struct question *q);
void question_panel_hide(struct question *q); /* what is on its way to it does not come any more */
void question_on_open(GtkWidget *widget, gpointer question); /* in the window of tipme gui */
void question_on_why(GtkWidget *widget, gpointer question);
void question_on_report(GtkWidget *widget, gpointer question);
void question_on_report_save(GtkWidget *widget, gpointer question);

/* --- question_window.c: what is seen --- */

/* Shows the short questions that the answers so far lead to. */
void question_shorts_show(struct question *q);

/*
 * Before `part` (`moments`, `panel_scroll`), which is hidden, is shown: it gets the height that it
 * would like to have, or what the screen has left, and then scrolls.
 */
void question_fit(struct question *q, GtkWidget *part);
/* Makes the window, and shows it in a corner. */
void question_window_make(struct question *q);

#endif
