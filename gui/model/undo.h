/* SPDX-License-Identifier: GPL-2.0-only */
/* What can be taken back: verbs that undo verbs, and removals that wait for a while. */
#ifndef TIPME_GUI_UNDO_H
#define TIPME_GUI_UNDO_H

#include <glib.h>

typedef struct _TipmeUndo TipmeUndo;

typedef struct {
	void (*run)(const char *const *args, gpointer data); /* a verb, now */
	void (*last)(const char *const *args, gpointer data); /* a verb, when all is over */
	void (*hide)(const char *const *ids, gboolean hide, gpointer data); /* rows of the list */
	guint wait_ms; /* before a removal */
	gpointer data;
	void (*changed)(gpointer data); /* there is something to take back, or nothing; or NULL */
} TipmeUndoDoes;

TipmeUndo *tipme_undo_new(const TipmeUndoDoes *does);

/* What still waits is done first. Accepts NULL. */
void tipme_undo_free(TipmeUndo *undo);

/* Remembers the verb that takes back what was just done. */
void tipme_undo_push(TipmeUndo *undo, const char *const *args);

/* Hides `ids`, and runs the verb after a while unless it is taken back. */
void tipme_undo_later(TipmeUndo *undo, const char *const *args, const char *const *ids);

gboolean tipme_undo_any(const TipmeUndo *undo);

/* Takes the last thing back. FALSE: there is none. */
gboolean tipme_undo_last(TipmeUndo *undo);

#endif
