/* SPDX-License-Identifier: GPL-2.0-only */
/* The pages of the window. */
#ifndef TIPME_GUI_PAGES_H
#define TIPME_GUI_PAGES_H

#include <gtk/gtk.h>

#include "episodes.h"
#include "session.h"

/* The list; opened() is called with the row that the user opens, chosen() when others are selected.
 */
GtkWidget *tipme_episodes_page_new(void (*opened)(TipmeRow *row, gpointer data),
				   void (*chosen)(gpointer data), gpointer data);

/* Shows rows (TipmeRow), or why there are none. */
void tipme_episodes_page_set(GtkWidget *page, GPtrArray *rows, const char *problem);

/* The rows that are selected. Free it. */
GPtrArray *tipme_episodes_page_chosen(GtkWidget *page);

/* The row of the episode in a folder, which belongs to the page; NULL: it is not in the list. */
TipmeRow *tipme_episodes_page_find(GtkWidget *page, const char *path);

/* Rows that are not shown, or shown again; ids end with NULL. */
void tipme_episodes_page_hide(GtkWidget *page, const char *const *ids, gboolean hide);

/* Gives the focus to the search, or else to the table. */
void tipme_episodes_page_focus(GtkWidget *page, gboolean search);

/* A button for an action of actions.h; its tooltip names the verb and the keys. */
GtkWidget *tipme_action_button(const char *name);

GtkWidget *tipme_answer_page_new(TipmeSession *session);
GtkWidget *tipme_timeline_page_new(TipmeSession *session);

/* How wide the table beside the lanes is; otherwise: what is told while nobody has seen it. */
int tipme_timeline_page_table(GtkWidget *page, int otherwise);
void tipme_timeline_page_set_table(GtkWidget *page, int width);

/* Two episodes, stage by stage and cause by cause; rows: the two. */
GtkWidget *tipme_compare_page_new(void);
void tipme_compare_page_set(GtkWidget *page, GPtrArray *rows);

/* What `tipme report` says of the first row, and what `tipme bundle` would let leave. */
GtkWidget *tipme_report_page_new(void);
void tipme_report_page_set(GtkWidget *page, GPtrArray *rows);

/* What it is about, which belongs to the page; NULL: nothing yet. */
GPtrArray *tipme_report_page_rows(GtkWidget *page);

/* Whether a cure helped: the first row, and what came after it. */
GtkWidget *tipme_check_page_new(void);
void tipme_check_page_set(GtkWidget *page, GPtrArray *rows);

/* The last seven days; read() asks anew. */
GtkWidget *tipme_week_page_new(void);
void tipme_week_page_read(GtkWidget *page);

/* What `tipme latency` or `tipme profile` has measured, with its distributions. */
GtkWidget *tipme_measured_page_new(void);
void tipme_measured_page_set(GtkWidget *page, const char *file);

/* The recorder; read() asks it anew. */
GtkWidget *tipme_live_page_new(void);
void tipme_live_page_read(GtkWidget *page);

/* Which keys make the hot-keys; then the next one that is pressed, if it is heard. */
void tipme_live_page_test(GtkWidget *page);

/* Does one of these still wait for its verb, or the part that is its data "within"? */
gboolean tipme_facts_page_is_busy(GtkWidget *page);

/* A label for running text: wraps, can be selected; css: a class, or NULL. */
GtkWidget *tipme_label_new(const char *text, const char *css);

#endif
