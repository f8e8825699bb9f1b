// SPDX-License-Identifier: GPL-2.0-only
/*
 * The outermost function is on top: what it called stands below it, as wide as the time that it was
 * on a CPU. A click on a function makes it as wide as the graph; a click on the top goes back.
 */
#include "config.h"

#include "flame_graph.h"

#include <adwaita.h>

#include "flame.h"
#include "language.h"
#include "numbers.h"
#include "paint.h"

#define HIGHEST 220 /* pixels of the graph, before it scrolls */
#define LEAST 2 /* pixels: what is narrower is not drawn */
#define WORDS 8 /* functions that a screen reader is told */
#define WAIT_MS 120 /* the view rests so long before samples are counted anew */

typedef struct {
	TipmeSession *session;
	GtkWidget *box, *title, *area, *scrolled;
	TipmeFlame *flame;
	const TipmeFlame *root; /* that fills the width */
	const TipmeFlame *hit; /* below the pointer, or NULL */
	guint waiting; /* source that counts anew, or 0 */
	double x, y;
} Graph;

typedef struct {
	Graph *graph;
	cairo_t *cr;
	double width;
	int row;
	gboolean dark;
} Drawing;

static int row_height(GtkWidget *widget)
{
	g_autoptr(PangoLayout) layout = gtk_widget_create_pango_layout(widget, "Ag");
	int height;

	pango_layout_get_pixel_size(layout, NULL, &height);
	return height + 3;
}

static void write_name(Drawing *d, const char *text, double x, double y, double width)
{
	g_autoptr(PangoLayout) layout = gtk_widget_create_pango_layout(d->graph->area, text);
	/* Black or white, whichever stands out from the fill. */
	double ink = d->dark ? 1 : 0;

	pango_layout_set_width(layout, (int)(width * PANGO_SCALE));
	pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END);
	cairo_set_source_rgb(d->cr, ink, ink, ink);
	cairo_move_to(d->cr, x, y);
	pango_cairo_show_layout(d->cr, layout);
}

/* Kernel and other code are told apart by the shade, and by the module's name in the tip. */
static void draw_one(Drawing *d, const TipmeFlame *flame, double x, int depth, double width)
{
	GdkRGBA colour = tipme_paint_state(
		g_str_equal(flame->module, "kernel") ? TIPME_LANE_RUNNABLE : TIPME_LANE_RUNNING,
		d->dark);
	double y = depth * d->row;

	colour.alpha = d->dark ? 0.45f : 0.35f;
	gdk_cairo_set_source_rgba(d->cr, &colour);
	cairo_rectangle(d->cr, x, y, MAX(width - 1, 1), d->row - 1);
	cairo_fill(d->cr);
	if (width > 30)
		write_name(d, *flame->function ? flame->function : _("all"), x + 3, y + 1,
			   width - 6);
}

static void draw_tree(Drawing *d, const TipmeFlame *flame, double x, int depth, double width)
{
	draw_one(d, flame, x, depth, width);
	for (guint i = 0; i < flame->calls->len; i++) {
		const TipmeFlame *call = g_ptr_array_index(flame->calls, i);
		double part = flame->ns ? width * (double)call->ns / (double)flame->ns : 0;

		if (part < LEAST)
			break; /* the longest is first */
		draw_tree(d, call, x, depth + 1, part);
		x += part;
	}
}

static void draw(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
	Graph *graph = data;
	Drawing d = { graph, cr, width, row_height(graph->area),
		      adw_style_manager_get_dark(adw_style_manager_get_default()) };

	if (graph->root)
		draw_tree(&d, graph->root, 0, 0, width);
}

/* The function at a place. */
static const TipmeFlame *find(const TipmeFlame *flame, double x, int depth, double width)
{
	if (!depth)
		return x < width ? flame : NULL;
	for (guint i = 0; i < flame->calls->len; i++) {
		const TipmeFlame *call = g_ptr_array_index(flame->calls, i);
		double part = flame->ns ? width * (double)call->ns / (double)flame->ns : 0;

		if (x < part)
			return find(call, x, depth - 1, part);
		x -= part;
	}
	return NULL;
}

static const TipmeFlame *at(Graph *graph, double x, double y)
{
	return graph->root ? find(graph->root, x, (int)y / row_height(graph->area),
				  gtk_widget_get_width(graph->area))
			   : NULL;
}

static void fit(Graph *graph)
{
	int rows = graph->root ? 1 + (int)tipme_flame_depth(graph->root) : 0;

	gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(graph->area),
					    rows * row_height(graph->area));
	gtk_widget_queue_draw(graph->area);
}

static void on_click(GtkGestureClick *gesture, int presses, double x, double y, Graph *graph)
{
	const TipmeFlame *hit = at(graph, x, y);

	if (hit)
		graph->root = hit == graph->root ? graph->flame : hit;
	fit(graph);
}

static gboolean on_tip(GtkWidget *area, int x, int y, gboolean keyboard, GtkTooltip *tip,
		       Graph *graph)
{
	const TipmeFlame *hit = at(graph, x, y);

	if (!hit || !*hit->function)
		return FALSE;
	g_autofree char *text = g_strdup_printf(_("%s (%s): %u of %u samples"), hit->function,
						hit->module, hit->samples, graph->flame->samples);

	gtk_tooltip_set_text(tip, text);
	return TRUE;
}

static const TipmeLane *lane_of(Graph *graph)
{
	const TipmeLanes *lanes = tipme_session_lanes(graph->session);
	guint nr = tipme_session_selected_lane(graph->session);

	return lanes && nr < lanes->lanes->len ? g_ptr_array_index(lanes->lanes, nr) : NULL;
}

static void count(Graph *graph)
{
	const TipmeLane *lane = lane_of(graph);
	gint64 from, to;

	tipme_session_range(graph->session, &from, &to);
	tipme_flame_free(graph->flame);
	graph->flame = tipme_flame_new(tipme_session_lanes(graph->session), lane, from, to);
	graph->root = graph->flame;
	gtk_widget_set_visible(graph->box, graph->flame->samples != 0);
	g_autofree char *length = tipme_text_ms(to - from);
	g_autofree char *title =
		g_strdup_printf(_("%u samples of %s in %s"), graph->flame->samples,
				lane && !lane->is_events ? lane->name : _("all threads"), length);
	g_autofree char *words = tipme_flame_words(graph->flame, WORDS);

	gtk_label_set_text(GTK_LABEL(graph->title), title);
	gtk_accessible_update_property(GTK_ACCESSIBLE(graph->area),
				       GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, words, -1);
	fit(graph);
}

static gboolean on_rest(gpointer data)
{
	Graph *graph = data;

	graph->waiting = 0;
	count(graph);
	return G_SOURCE_REMOVE;
}

/* Samples may be many, and a view moves at each frame. */
static void count_soon(Graph *graph)
{
	if (graph->waiting)
		g_source_remove(graph->waiting);
	graph->waiting = g_timeout_add(WAIT_MS, on_rest, graph);
}

static void graph_free(gpointer data)
{
	Graph *graph = data;

	if (graph->waiting)
		g_source_remove(graph->waiting);
	g_signal_handlers_disconnect_by_data(graph->session, graph);
	tipme_flame_free(graph->flame);
	g_object_unref(graph->session);
	g_free(graph);
}

static void fill(Graph *graph)
{
	GtkGesture *click = gtk_gesture_click_new();

	g_signal_connect(click, "released", G_CALLBACK(on_click), graph);
	gtk_widget_add_controller(graph->area, GTK_EVENT_CONTROLLER(click));
	gtk_widget_set_has_tooltip(graph->area, TRUE);
	g_signal_connect(graph->area, "query-tooltip", G_CALLBACK(on_tip), graph);
	gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(graph->area), draw, graph, NULL);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(graph->scrolled), graph->area);
	gtk_scrolled_window_set_propagate_natural_height(GTK_SCROLLED_WINDOW(graph->scrolled),
							 TRUE);
	gtk_scrolled_window_set_max_content_height(GTK_SCROLLED_WINDOW(graph->scrolled), HIGHEST);
	gtk_label_set_xalign(GTK_LABEL(graph->title), 0);
	g_object_set(graph->title, "margin-start", 8, "margin-top", 4, "margin-bottom", 4, NULL);
	gtk_box_append(GTK_BOX(graph->box), graph->title);
	gtk_box_append(GTK_BOX(graph->box), graph->scrolled);
}

GtkWidget *tipme_flame_graph_new(TipmeSession *session)
{
	Graph *graph = g_new0(Graph, 1);

	graph->session = g_object_ref(session);
	graph->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	graph->title = gtk_label_new("");
	graph->scrolled = gtk_scrolled_window_new();
	graph->area = g_object_new(GTK_TYPE_DRAWING_AREA, "accessible-role",
				   GTK_ACCESSIBLE_ROLE_IMG, NULL);
	gtk_accessible_update_property(GTK_ACCESSIBLE(graph->area), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Functions on a CPU"), -1);
	fill(graph);
	gtk_widget_hide(graph->box);
	g_signal_connect_swapped(session, "loaded", G_CALLBACK(count_soon), graph);
	g_signal_connect_swapped(session, "lanes-changed", G_CALLBACK(count_soon), graph);
	g_signal_connect_swapped(session, "view-changed", G_CALLBACK(count_soon), graph);
	g_signal_connect_swapped(session, "selection-changed", G_CALLBACK(count_soon), graph);
	g_object_set_data_full(G_OBJECT(graph->box), "graph", graph, graph_free);
	return graph->box;
}
