/* SPDX-License-Identifier: GPL-2.0-only */
/* Colours (Okabe and Ito's, which colour-blind people tell apart) and heights of states. */
#ifndef TIPME_GUI_PAINT_H
#define TIPME_GUI_PAINT_H

#include <gtk/gtk.h>

#include "lanes.h"

/* A state's colour on a light or dark ground. Its share of a lane's height also tells it. */
GdkRGBA tipme_paint_state(guint8 state, gboolean dark);
double tipme_paint_height(guint8 state);

/* The name of a state, for legends. */
const char *tipme_paint_name(guint8 state);

/* Colour of the mark of a long wait. */
GdkRGBA tipme_paint_wait(gboolean dark);

#define TIPME_PAINT_PARTS 7 /* that have a colour of their own; the others share one */

/* The colour of a part of the sum, by its place; it repeats after eight. */
GdkRGBA tipme_paint_part(guint place);

/* The same, as "#d55e00". Free it. */
char *tipme_paint_hex(guint place);

/* Black or white: what can be read on a colour. */
GdkRGBA tipme_paint_ink_on(const GdkRGBA *ground);

/* The ground of the problem interval, and the classes of stages: once for the display. */
GdkRGBA tipme_paint_interval(gboolean dark);
void tipme_paint_install(GdkDisplay *display);

#endif
