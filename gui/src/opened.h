/* SPDX-License-Identifier: GPL-2.0-only */
/* An episode that is being opened, or is open. */
#ifndef TIPME_GUI_OPENED_H
#define TIPME_GUI_OPENED_H

#include <gio/gio.h>

#include "answer.h"
#include "lanes.h"

typedef struct {
	char *episode, *folder;
	char *more; /* lanes that were asked for by name; NULL: none */
	GArray *threads; /* of the path, where the answer is there already; else NULL */
	gint64 about_ns; /* when the problem began, with `threads` */
	void (*tell)(double share, gpointer task); /* called in the thread that reads */
	TipmeAnswer *answer;
	TipmeLanes *lanes;
	char *problem;
} TipmeOpened;

/* Accepts NULL. */
void tipme_opened_free(gpointer opened);

/* For g_task_run_in_thread(): the task's data say what is asked for; it returns a TipmeOpened. */
void tipme_opened_load(GTask *task, gpointer source, gpointer data, GCancellable *cancellable);

#endif
