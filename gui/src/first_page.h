/* SPDX-License-Identifier: GPL-2.0-only */
/* What is shown while there is no episode: what tipme records, how to start it, what to press. */
#ifndef TIPME_GUI_FIRST_PAGE_H
#define TIPME_GUI_FIRST_PAGE_H

#include <gtk/gtk.h>

GtkWidget *tipme_first_page_new(void);

/* Asks the recorder anew, and shows why the list cannot be read (NULL: it can, and is empty). */
void tipme_first_page_set(GtkWidget *page, const char *problem);

/* What [Start recording] runs, with its arguments. For g_strfreev(). */
char **tipme_first_page_command(void);

#endif
