/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TIPME_STRIP_H
#define TIPME_STRIP_H

#include <gtk/gtk.h>

#include "lanes.h"

/*
 * A lane of many narrow spans as one picture: GTK compares each rectangle of a frame with those of
 * the frame before, and a picture is one. PIXELS: of tipme_lane_pixels(); COLUMN: how wide each of
 * them is; WIDTH, HEIGHT: in pixels of the screen, of which SCALE make one of the program's. The
 * caller destroys it. Without memory it is a surface that draws nothing.
 */
cairo_surface_t *tipme_strip_new(const TipmeLane *lane, const GArray *pixels, int column, int width,
				 int height, int scale, gboolean dark);

#endif
