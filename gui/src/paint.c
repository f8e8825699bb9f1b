// SPDX-License-Identifier: GPL-2.0-only
/* The palette of Masataka Okabe and Kei Ito, "Color Universal Design", 2008. */
#include "config.h"

#include "paint.h"

#include <math.h>

#include "language.h"

#define HEX(n)                                                                            \
	{                                                                                 \
		((n) >> 16 & 255) / 255.f, ((n) >> 8 & 255) / 255.f, ((n)&255) / 255.f, 1 \
	}

GdkRGBA tipme_paint_state(guint8 state, gboolean dark)
{
	static const GdkRGBA light[TIPME_LANE_STATES] = {
		{ 0 }, HEX(0xcc79a7), HEX(0xe69f00), HEX(0x0072b2), HEX(0x009e73)
	};
	static const GdkRGBA night[TIPME_LANE_STATES] = {
		{ 0 }, HEX(0xd991bb), HEX(0xf0b429), HEX(0x4aa8e0), HEX(0x2ecf9f)
	};

	return dark ? night[state] : light[state];
}

double tipme_paint_height(guint8 state)
{
	static const double heights[TIPME_LANE_STATES] = { 0, 0.25, 0.6, 1, 1 };

	return heights[state];
}

const char *tipme_paint_name(guint8 state)
{
	static const char *const names[TIPME_LANE_STATES] = { N_("idle"), N_("blocked"),
							      N_("waits for a CPU"), N_("running"),
							      N_("event") };

	return _(names[state]);
}

GdkRGBA tipme_paint_wait(gboolean dark)
{
	static const GdkRGBA colours[2] = { HEX(0xd55e00), HEX(0xff8a3d) };

	return colours[dark];
}

GdkRGBA tipme_paint_part(guint place)
{
	static const GdkRGBA colours[] = { HEX(0xd55e00), HEX(0xe69f00), HEX(0x0072b2),
					   HEX(0xcc79a7), HEX(0x009e73), HEX(0x56b4e9),
					   HEX(0xb8a900), HEX(0x7f7f7f) };

	return colours[place % G_N_ELEMENTS(colours)];
}

char *tipme_paint_hex(guint place)
{
	GdkRGBA c = tipme_paint_part(place);

	return g_strdup_printf("#%02lx%02lx%02lx", lround(c.red * 255), lround(c.green * 255),
			       lround(c.blue * 255));
}

/* Relative luminance, as WCAG 2 has it; 0.179 is where black and white are read alike. */
static double luminance(const GdkRGBA *c)
{
	const float part[3] = { c->red, c->green, c->blue };
	const double weight[3] = { 0.2126, 0.7152, 0.0722 };
	double sum = 0;

	for (int i = 0; i < 3; i++)
		sum += weight[i] * (part[i] <= 0.04045f ? part[i] / 12.92
							: pow((part[i] + 0.055) / 1.055, 2.4));
	return sum;
}

GdkRGBA tipme_paint_ink_on(const GdkRGBA *ground)
{
	float light = luminance(ground) > 0.179 ? 0 : 1;

	return (GdkRGBA){ light, light, light, 1 };
}

GdkRGBA tipme_paint_interval(gboolean dark)
{
	return dark ? (GdkRGBA){ 1, 0.8f, 0.3f, 0.11f } : (GdkRGBA){ 0.9f, 0.62f, 0, 0.12f };
}

void tipme_paint_install(GdkDisplay *display)
{
	g_autoptr(GtkCssProvider) css = gtk_css_provider_new();

	gtk_css_provider_load_from_data(
		css,
		".stage { padding: 4px 8px; border-radius: 6px; background: alpha(currentColor, 0.06); }"
		".stage.slow { background: alpha(#e69f00, 0.28); box-shadow: inset 0 0 0 2px #d55e00; }",
		-1);
	gtk_style_context_add_provider_for_display(display, GTK_STYLE_PROVIDER(css),
						   GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
}
