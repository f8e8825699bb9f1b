// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "strip.h"

#include <math.h>

#include "paint.h"

typedef struct {
	guint32 *pixels; /* of the machine's byte order: alpha, red, green, blue */
	int width, height, stride;
} Strip;

static guint32 argb(GdkRGBA colour)
{
	return 0xff000000U | (guint32)lround(colour.red * 255) << 16 |
	       (guint32)lround(colour.green * 255) << 8 | (guint32)lround(colour.blue * 255);
}

static void fill(Strip *s, guint32 colour, int x, int y, int width, int height)
{
	int end = MIN(x + width, s->width), bottom = MIN(y + height, s->height);

	for (int row = MAX(y, 0); row < bottom; row++)
		for (int i = x; i < end; i++)
			s->pixels[(gsize)row * (gsize)s->stride + (gsize)i] = colour;
}

cairo_surface_t *tipme_strip_new(const TipmeLane *lane, const GArray *pixels, int column, int width,
				 int height, int scale, gboolean dark)
{
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, width, height);
	int stride = cairo_image_surface_get_stride(surface) / (int)sizeof(guint32);
	Strip s = { .pixels = (guint32 *)(void *)cairo_image_surface_get_data(surface),
		    .width = width,
		    .height = height,
		    .stride = stride };
	guint32 colours[TIPME_LANE_STATES], wait = argb(tipme_paint_wait(dark));
	int heights[TIPME_LANE_STATES];

	if (cairo_surface_status(surface))
		return surface;
	for (guint8 state = 0; state < TIPME_LANE_STATES; state++) {
		colours[state] = argb(tipme_paint_state(state, dark));
		heights[state] = (int)MAX(scale, lround(height * tipme_paint_height(state)));
	}
	for (guint i = 0; i < pixels->len; i++) {
		const TipmePixels *p = &g_array_index(pixels, TipmePixels, i);
		int x = p->x * column * scale, wide = p->width * column * scale;

		if (p->state != TIPME_LANE_NOTHING)
			fill(&s, colours[p->state], x, height - heights[p->state], wide,
			     heights[p->state]);
		if (p->wait && lane->is_events)
			fill(&s, colours[TIPME_LANE_EVENT], x, 0, wide, height);
		else if (p->wait)
			fill(&s, wait, x, 0, wide, MAX(scale, height / 6));
	}
	cairo_surface_mark_dirty(surface);
	cairo_surface_set_device_scale(surface, scale, scale);
	return surface;
}
