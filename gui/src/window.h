/* SPDX-License-Identifier: GPL-2.0-only */
/* The window and its pages. */
#ifndef TIPME_GUI_WINDOW_H
#define TIPME_GUI_WINDOW_H

#include <adwaita.h>

/* What the command line asks of the window. */
typedef struct {
	char *episode; /* id, folder, file or `last`; with the page measured: its file; NULL: the
			  list */
	char *other; /* with the page compare: the second */
	char *page; /* one of tipme_window_pages; NULL: answer with an episode, else episodes */
	char *picture; /* a file for a picture of the page, after which the program ends; or NULL */
	int width, height; /* of the window; 0: as usual */
	int status; /* exit status: 0, or 1 where the picture failed */
} TipmeWish;

/* Names of the pages; NULL behind the last. */
extern const char *const tipme_window_pages[];

/* `wish` must live as long as the program. */
GtkWidget *tipme_window_new(AdwApplication *application, TipmeWish *wish);

/* Does what the wish says now, in a window that is there. */
void tipme_window_open(GtkWidget *window);

#endif
