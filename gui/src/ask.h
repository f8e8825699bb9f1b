/* SPDX-License-Identifier: GPL-2.0-only */
/* A question that is answered with a line of text. */
#ifndef TIPME_GUI_ASK_H
#define TIPME_GUI_ASK_H

#include <gtk/gtk.h>

/* A dialog without answers yet; `child`, or NULL, stands below the text. */
GtkWidget *tipme_dialog_new(GtkWindow *window, const char *heading, const char *body,
			    GtkWidget *child);

/* text: what was typed. Not called where the user cancels. */
typedef void (*TipmeAsked)(const char *text, gpointer data);

/* `text` stands in the entry first. free_data (or NULL) ends `data` with the question. */
void tipme_ask(GtkWindow *window, const char *heading, const char *body, const char *text,
	       TipmeAsked asked, gpointer data, GDestroyNotify free_data);

#endif
