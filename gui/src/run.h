/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs that run while the window goes on. */
#ifndef TIPME_GUI_RUN_H
#define TIPME_GUI_RUN_H

#include <gtk/gtk.h>

#include "command.h"

typedef struct {
	char *out, *said; /* standard output and error, valid UTF-8, never NULL */
	int status; /* exit status; -1: it did not run, or a signal ended it */
} TipmeResult;

typedef void (*TipmeDone)(const TipmeResult *result, gpointer data);

/*
 * Runs a program (argv ends with NULL); done() comes in the main thread. It does not come once
 * `owner` is destroyed: then the program is ended.
 */
void tipme_run(GtkWidget *owner, const char *const *argv, TipmeDone done, gpointer data);

/* The same with `tipme ARGS...`. */
void tipme_run_verb(GtkWidget *owner, const char *const *args, TipmeDone done, gpointer data);

/*
 * The same; line() comes with each line of either stream when it is there, done() without them.
 */
void tipme_run_lines(GtkWidget *owner, const char *const *args,
		     void (*line)(const char *line, gpointer data), TipmeDone done, gpointer data);

#endif
