/* SPDX-License-Identifier: GPL-2.0-only */
/* The visible stretch of time, and the one conversion between times and pixels. */
#ifndef TIPME_GUI_VIEW_H
#define TIPME_GUI_VIEW_H

#include <glib.h>

#define TIPME_VIEW_LEAST_NS 1000 /* no deeper zoom than this, for a whole width */

typedef struct {
	gint64 first_ns, last_ns; /* of the episode */
	gint64 from_ns, to_ns; /* visible; within the episode, never empty */
} TipmeView;

void tipme_view_init(TipmeView *view, gint64 first_ns, gint64 last_ns);

/* Shows a stretch, widened to the least and moved into the episode. */
void tipme_view_set(TipmeView *view, gint64 from_ns, gint64 to_ns);

/* x of a time in a width of pixels; beyond the edges for what is not visible. */
double tipme_view_x(const TipmeView *view, gint64 ns, int width);

/* The time at x, within the visible stretch. */
gint64 tipme_view_time(const TipmeView *view, double x, int width);

/* Zooms so that the time at x stays there. factor < 1: closer. */
void tipme_view_zoom(TipmeView *view, double factor, double x, int width);

/* Moves by pixels; to the right (a later time) for positive ones. */
void tipme_view_pan(TipmeView *view, double pixels, int width);

/*
 * The least step of 1, 2 or 5 times a power of ten, in ns, with at most `most` ticks (at least 1).
 */
gint64 tipme_view_tick(const TipmeView *view, int most);

#endif
