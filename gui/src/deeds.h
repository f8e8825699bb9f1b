/* SPDX-License-Identifier: GPL-2.0-only */
/* The actions of actions.h, as they are done in a window. */
#ifndef TIPME_GUI_DEEDS_H
#define TIPME_GUI_DEEDS_H

#include <adwaita.h>

#include "undo.h"

typedef struct {
	GtkWidget *window, *episodes; /* episodes: the page whose selection is meant */
	GtkWidget *report; /* while it is seen, a file is written of what it is about */
	TipmeUndo *undo; /* made by tipme_deeds_install() */
	void (*say)(const char *text, gboolean undo,
		    gpointer data); /* a line; undo: with that button */
	void (*measured)(const char *file, gpointer data); /* shows a measurement */
	void (*changed)(gpointer data); /* the library, or the recorder, may be another */
	void (*show)(const char *name, GPtrArray *rows, gpointer data); /* rows NULL: as it is */
	gpointer data;
} TipmeDeeds;

/* Adds a GAction for each, with its keys. `deeds` must live as long as the window. */
void tipme_deeds_install(GtkApplication *application, TipmeDeeds *deeds);

/* Others are selected, or say something else: what has no use now cannot be pressed. */
void tipme_deeds_refresh(TipmeDeeds *deeds);

/* Does what still waits. */
void tipme_deeds_end(TipmeDeeds *deeds);

#endif
