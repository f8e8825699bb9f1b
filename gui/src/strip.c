// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "strip.h"

#include <math.h>

#include "paint.h"

typedef struct {
	guint32 *pixels; /* of the machine's byte order: alpha, red, green, blue */
	int width, height;
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
			s->pixels[(gsize)row * (gsize)s->width + (gsize)i] = colour;
}

GdkTexture *tipme_strip_new(const TipmeLane *lane, const GArray *pixels, int column, int width,
			    int height, int scale, gboolean dark)
{
	gsize bytes = (gsize)width * (gsize)height * sizeof(guint32);
	Strip s = { .pixels = g_malloc0(bytes), .width = width, .height = height };
	g_autoptr(GBytes) data = g_bytes_new_take(s.pixels, bytes);
	guint32 colours[TIPME_LANE_STATES], wait = argb(tipme_paint_wait(dark));
	int heights[TIPME_LANE_STATES];

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
	return gdk_memory_texture_new(width, height, GDK_MEMORY_DEFAULT, data,
				      (gsize)width * sizeof(guint32));
}
