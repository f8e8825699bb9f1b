/* SPDX-License-Identifier: GPL-2.0-only */
/* The actions of actions.h, as they are done in a window. */
#ifndef TIPME_GUI_DEEDS_H
#define TIPME_GUI_DEEDS_H

#include <adwaita.h>

typedef struct
{
  GtkWidget *window, *episodes; /* episodes: the page whose selection is meant */
  void (*say) (const char *text, gpointer data); /* a line for the user */
  void (*changed) (gpointer data); /* the library, or the recorder, may be another */
  void (*show) (const char *name, GPtrArray *rows, gpointer data); /* rows NULL: as it is */
  gpointer data;
} TipmeDeeds;

/* Adds a GAction for each, with its keys. `deeds` must live as long as the window. */
void tipme_deeds_install (GtkApplication *application, TipmeDeeds *deeds);

#endif
