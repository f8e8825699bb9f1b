/* SPDX-License-Identifier: GPL-2.0-only */
/* The pages of the window. */
#ifndef TIPME_GUI_PAGES_H
#define TIPME_GUI_PAGES_H

#include <gtk/gtk.h>

#include "episodes.h"
#include "session.h"

/* The list; opened() is called with the row that the user opens. */
GtkWidget *tipme_episodes_page_new (void (*opened) (TipmeRow *row, gpointer data), gpointer data);

/* Shows rows (TipmeRow), or why there are none. */
void tipme_episodes_page_set (GtkWidget *page, GPtrArray *rows, const char *problem);

GtkWidget *tipme_answer_page_new (TipmeSession *session);
GtkWidget *tipme_timeline_page_new (TipmeSession *session);

/* A label for running text: wraps, can be selected; css: a class, or NULL. */
GtkWidget *tipme_label_new (const char *text, const char *css);

#endif
