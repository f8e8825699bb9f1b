/* SPDX-License-Identifier: GPL-2.0-only */
/* Pictures of a window, as the user sees it. */
#ifndef TIPME_GUI_PICTURE_H
#define TIPME_GUI_PICTURE_H

#include <gtk/gtk.h>

/* Whether the window has been drawn: before that there is nothing to write. */
gboolean tipme_picture_is_drawn(GtkWidget *window);

/* Writes a PNG of the window as it stands, beside `file`, then renames it. FALSE: could not. */
gboolean tipme_picture_save(GtkWidget *window, const char *file);

/* What a widget shows, as it stands; NULL: it has not been drawn. */
GdkTexture *tipme_picture_of(GtkWidget *widget);

/*
 * The text of every label below a widget that is to be seen, a line each, as a screen reader meets
 * it. Free it.
 */
char *tipme_picture_words(GtkWidget *widget);

#endif
