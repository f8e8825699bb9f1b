/* SPDX-License-Identifier: GPL-2.0-only */
/* Columns of tables whose cells are labels. */
#ifndef TIPME_GUI_COLUMNS_H
#define TIPME_GUI_COLUMNS_H

#include <gtk/gtk.h>

/* The text of a cell for an item of the model; the caller frees it. */
typedef char *(*TipmeCellText)(gpointer item, gpointer data);

/* Adds a column; expand: it takes what room is left; number: right-aligned. */
GtkColumnViewColumn *tipme_columns_add(GtkColumnView *view, const char *title, gboolean expand,
				       gboolean number, TipmeCellText text, gpointer data);

/* Cells of a text have that many lines at most, instead of one. Before anything is shown. */
void tipme_columns_set_lines(GtkColumnViewColumn *made, int lines);

#endif
