/* SPDX-License-Identifier: GPL-2.0-only */
/* The window: episodes, answer, timeline. */
#ifndef TIPME_GUI_WINDOW_H
#define TIPME_GUI_WINDOW_H

#include <adwaita.h>

/* What the command line asks of the window. */
typedef struct
{
  char *episode; /* id, folder or `last`; NULL: the list */
  char *page; /* episodes, answer or timeline; NULL: answer with an episode, else episodes */
  char *picture; /* a file for a picture of the page, after which the program ends; or NULL */
  int status; /* exit status: 0, or 1 where the picture failed */
} TipmeWish;

/* `wish` must live as long as the program. */
GtkWidget *tipme_window_new (AdwApplication *application, TipmeWish *wish);

#endif
