/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a window remembers until it is opened again: gui.ini in the user's folder of settings. A
 * file that is missing or damaged means nothing but what a new user gets.
 */
#ifndef TIPME_GUI_STATE_H
#define TIPME_GUI_STATE_H

#include <glib.h>

#define TIPME_STATE_TABLE 440 /* pixels: the table beside the timeline, at first */

typedef struct {
	int width, height; /* of the window; 0: as usual */
	gboolean maximized;
	char *page; /* or NULL */
	char *newest; /* episode when it was closed, or NULL */
	char *episode; /* that was open, or NULL; and the stretch of it that was visible */
	gint64 from_ns, to_ns; /* equal: none */
	int table; /* pixels */
	char **pinned; /* names of lanes, never NULL */
	gboolean grouped;
} TipmeState;

/* Never NULL. */
TipmeState *tipme_state_load(void);

/* Atomic: another window finds the old one or the new one. FALSE: it cannot be written. */
gboolean tipme_state_save(const TipmeState *state);

/* Accepts NULL. */
void tipme_state_free(TipmeState *state);

#endif
