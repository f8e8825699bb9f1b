// SPDX-License-Identifier: GPL-2.0-only
/* Draws with cairo: a page has a handful of charts, each with some hundred points. */
#include "config.h"

#include "chart.h"

#include <adwaita.h>
#include <math.h>

#include "paint.h"

#define LEFT 70
#define RIGHT 36
#define TOP 30
#define BOTTOM 44
#define TICK_WIDTH 90
#define TICK_HEIGHT 36

typedef struct {
	cairo_t *cr;
	GtkWidget *widget;
	const TipmeChart *chart;
	double width, height; /* of the plot */
	GdkRGBA ink;
} Plot;

static double x_of(const Plot *plot, double x)
{
	return LEFT + plot->width * tipme_axis_place(&plot->chart->x, x);
}

static double y_of(const Plot *plot, double y)
{
	return TOP + plot->height * (1 - tipme_axis_place(&plot->chart->y, y));
}

static void ink(const Plot *plot, double alpha)
{
	cairo_set_source_rgba(plot->cr, plot->ink.red, plot->ink.green, plot->ink.blue, alpha);
}

/* Text with its top at y; at: 0 begins at x, 0.5 is centred there, 1 ends there. */
static void write_text(const Plot *plot, const char *text, double x, double y, double at)
{
	g_autoptr(PangoLayout) layout = gtk_widget_create_pango_layout(plot->widget, text);
	int width, height;

	pango_layout_get_pixel_size(layout, &width, &height);
	cairo_move_to(plot->cr, x - at * width, y);
	pango_cairo_show_layout(plot->cr, layout);
}

static void line(const Plot *plot, double x0, double y0, double x1, double y1)
{
	cairo_move_to(plot->cr, x0, y0);
	cairo_line_to(plot->cr, x1, y1);
	cairo_stroke(plot->cr);
}

static void draw_axes(const Plot *plot)
{
	g_autoptr(GArray) xs = tipme_axis_ticks(&plot->chart->x, (guint)(plot->width / TICK_WIDTH));
	g_autoptr(GArray) ys =
		tipme_axis_ticks(&plot->chart->y, (guint)(plot->height / TICK_HEIGHT));

	cairo_set_line_width(plot->cr, 1);
	for (guint i = 0; i < xs->len; i++) {
		double value = g_array_index(xs, double, i), x = x_of(plot, value);
		g_autofree char *text = g_strdup_printf("%.10g", value);

		ink(plot, 0.12);
		line(plot, x, TOP, x, TOP + plot->height);
		ink(plot, 0.8);
		write_text(plot, text, x, TOP + plot->height + 4, 0.5);
	}
	for (guint i = 0; i < ys->len; i++) {
		double value = g_array_index(ys, double, i), y = y_of(plot, value);
		g_autofree char *text = g_strdup_printf("%.10g", value);

		ink(plot, 0.12);
		line(plot, LEFT, y, LEFT + plot->width, y);
		ink(plot, 0.8);
		write_text(plot, text, LEFT - 6, y - 9, 1);
	}
	write_text(plot, plot->chart->y.title, 8, 2, 0);
	write_text(plot, plot->chart->x.title, LEFT + plot->width / 2, TOP + plot->height + 22,
		   0.5);
}

static void draw_limits(const Plot *plot)
{
	static const double dashes[] = { 6, 4 };
	const TipmeChart *chart = plot->chart;

	cairo_set_dash(plot->cr, dashes, G_N_ELEMENTS(dashes), 0);
	ink(plot, 0.7);
	for (guint i = 0; i < G_N_ELEMENTS(chart->limits); i++) {
		double at = chart->limits[i];

		if (isnan(at))
			continue;
		if (chart->limits_on_y)
			line(plot, LEFT, y_of(plot, at), LEFT + plot->width, y_of(plot, at));
		else
			line(plot, x_of(plot, at), TOP, x_of(plot, at), TOP + plot->height);
	}
	cairo_set_dash(plot->cr, NULL, 0, 0);
}

/* Each point is a line from the foot. */
static void draw_spikes(const Plot *plot, const TipmeCurve *curve)
{
	cairo_set_line_width(plot->cr, 1);
	for (guint i = 0; i < curve->points->len; i++) {
		const TipmePoint *point = &g_array_index(curve->points, TipmePoint, i);

		cairo_move_to(plot->cr, x_of(plot, point->x), TOP + plot->height);
		cairo_line_to(plot->cr, x_of(plot, point->x), y_of(plot, point->y));
	}
	cairo_stroke(plot->cr);
}

/* A stair: each value holds up to the next. */
static void draw_curve(const Plot *plot, const TipmeCurve *curve, guint place)
{
	GdkRGBA colour = tipme_paint_part(place + 2);

	gdk_cairo_set_source_rgba(plot->cr, &colour);
	if (plot->chart->spikes) {
		draw_spikes(plot, curve);
		return;
	}
	cairo_set_line_width(plot->cr, 2);
	for (guint i = 0; i < curve->points->len; i++) {
		const TipmePoint *point = &g_array_index(curve->points, TipmePoint, i);

		if (!i)
			cairo_move_to(plot->cr, x_of(plot, point->x), TOP + plot->height);
		else
			cairo_line_to(plot->cr, x_of(plot, point->x), y_of(plot, point[-1].y));
		cairo_line_to(plot->cr, x_of(plot, point->x), y_of(plot, point->y));
	}
	if (curve->points->len)
		cairo_rel_line_to(plot->cr, 6, 0);
	cairo_stroke(plot->cr);
}

/* Names, in the colour of their curves, where there are several; shapes differ by their place. */
static void draw_names(const Plot *plot)
{
	for (guint i = 0; plot->chart->curves->len > 1 && i < plot->chart->curves->len; i++) {
		const TipmeCurve *curve = g_ptr_array_index(plot->chart->curves, i);
		GdkRGBA colour = tipme_paint_part(i + 2);
		double y = TOP + 4 + 18 * (double)i;

		gdk_cairo_set_source_rgba(plot->cr, &colour);
		cairo_rectangle(plot->cr, LEFT + plot->width - 12, y + 4, 10, 10);
		cairo_fill(plot->cr);
		ink(plot, 1);
		write_text(plot, curve->name, LEFT + plot->width - 18, y, 1);
	}
}

static void draw(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
	Plot plot = { .cr = cr,
		      .widget = GTK_WIDGET(area),
		      .chart = data,
		      .width = width - LEFT - RIGHT,
		      .height = height - TOP - BOTTOM };

	if (plot.width < TICK_WIDTH || plot.height < TICK_HEIGHT)
		return;
	gtk_style_context_get_color(gtk_widget_get_style_context(GTK_WIDGET(area)), &plot.ink);
	draw_axes(&plot);
	draw_limits(&plot);
	for (guint i = 0; i < plot.chart->curves->len; i++)
		draw_curve(&plot, g_ptr_array_index(plot.chart->curves, i), i);
	draw_names(&plot);
}

GtkWidget *tipme_chart_new(GPtrArray *charts, guint nr)
{
	TipmeChart *chart = g_ptr_array_index(charts, nr);
	GtkWidget *area = g_object_new(GTK_TYPE_DRAWING_AREA, "accessible-role",
				       GTK_ACCESSIBLE_ROLE_IMG, NULL);
	g_autofree char *words = tipme_chart_words(chart);

	gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(area), 260);
	gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(area), draw, chart, NULL);
	g_object_set_data_full(G_OBJECT(area), "charts", g_ptr_array_ref(charts),
			       (GDestroyNotify)g_ptr_array_unref);
	gtk_accessible_update_property(GTK_ACCESSIBLE(area), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       chart->title, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, words,
				       -1);
	return area;
}
