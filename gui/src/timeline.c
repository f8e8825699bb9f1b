// SPDX-License-Identifier: GPL-2.0-only
/* The canvas of the timeline: keys, wheel, drag, click, and what a screen reader is told. */
#include "config.h"

#include "timeline_draw.h"

#include <adwaita.h>
#include <math.h>
#include <string.h>

#include "actions.h"
#include "language.h"

G_DEFINE_FINAL_TYPE(TipmeTimeline, tipme_timeline, GTK_TYPE_WIDGET)

/* As much room as the text needs: users of large text see it whole. */
static void fit_text(TipmeTimeline *self)
{
	g_autoptr(PangoLayout) layout =
		gtk_widget_create_pango_layout(GTK_WIDGET(self), "Compositor (1234567)");
	int width, height;

	pango_layout_get_pixel_size(layout, &width, &height);
	self->sizes = (TipmeSizes){ .text = height,
				    .names = CLAMP(width + 16, 150, 360),
				    .head = 2 * height + 8,
				    .lane = height + 9,
				    .gap = MAX(6, height / 4) };
	self->sizes.axis = self->sizes.head + self->sizes.lane + self->sizes.gap;
}

static void forget_whole(TipmeTimeline *self)
{
	g_clear_pointer(&self->whole, gsk_render_node_unref);
	gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void tipme_timeline_css_changed(GtkWidget *widget, GtkCssStyleChange *change)
{
	GTK_WIDGET_CLASS(tipme_timeline_parent_class)->css_changed(widget, change);
	fit_text(TIPME_TIMELINE(widget));
	forget_whole(TIPME_TIMELINE(widget));
	gtk_widget_queue_resize(widget);
}

static void tipme_timeline_size_allocate(GtkWidget *widget, int width, int height, int baseline)
{
	forget_whole(TIPME_TIMELINE(widget));
}

static void on_loaded(TipmeTimeline *self)
{
	forget_whole(self);
	gtk_widget_queue_resize(GTK_WIDGET(self));
}

static void tipme_timeline_measure(GtkWidget *widget, GtkOrientation orientation, int for_size,
				   int *minimum, int *natural, int *minimum_baseline,
				   int *natural_baseline)
{
	TipmeTimeline *self = TIPME_TIMELINE(widget);
	const TipmeLanes *lanes = tipme_session_lanes(self->session);
	int count = lanes ? (int)lanes->lanes->len : 0;

	if (orientation == GTK_ORIENTATION_HORIZONTAL)
		*minimum = *natural = self->sizes.names + 100;
	else
		*minimum = *natural = self->overview ? MAX(20, 4 + count * (THIN + 1))
						     : tipme_sizes_lane(&self->sizes, (guint)count);
}

static int plot_width(TipmeTimeline *self)
{
	return gtk_widget_get_width(GTK_WIDGET(self)) - self->sizes.names;
}

static void zoom(TipmeTimeline *self, double factor)
{
	tipme_view_zoom(tipme_session_view(self->session), factor,
			self->pointer_x - self->sizes.names, plot_width(self));
	tipme_session_view_changed(self->session);
}

static void pan(TipmeTimeline *self, double pixels)
{
	tipme_view_pan(tipme_session_view(self->session), pixels, plot_width(self));
	tipme_session_view_changed(self->session);
}

static void on_motion(GtkEventControllerMotion *controller, double x, double y, TipmeTimeline *self)
{
	self->pointer_x = x;
}

/* Wheel: zoom at the pointer. With Shift, or sideways: pan. With Control: the page scrolls. */
static gboolean on_scroll(GtkEventControllerScroll *controller, double dx, double dy,
			  TipmeTimeline *self)
{
	GdkModifierType held =
		gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(controller));

	if (held & GDK_CONTROL_MASK)
		return GDK_EVENT_PROPAGATE;
	if (dx != 0 || held & GDK_SHIFT_MASK)
		pan(self, 60 * (dx != 0 ? dx : dy));
	else
		zoom(self, pow(1.25, dy));
	return GDK_EVENT_STOP;
}

static gint64 time_at(TipmeTimeline *self, double x)
{
	return tipme_view_time(tipme_session_view(self->session), x - self->sizes.names,
			       plot_width(self));
}

static void on_pinch_begin(GtkGesture *gesture, GdkEventSequence *sequence, TipmeTimeline *self)
{
	double y;

	gtk_gesture_get_bounding_box_center(gesture, &self->pointer_x, &y);
	self->zoomed = 1;
}

static void on_pinch(GtkGestureZoom *gesture, double scale, TipmeTimeline *self)
{
	if (scale <= 0)
		return;
	zoom(self, self->zoomed / scale);
	self->zoomed = scale;
}

/* The range begins or ends with the selected span: what Shift and the mouse do. */
static void mark_range(TipmeTimeline *self, gboolean ends)
{
	const TipmeSpan *span = tipme_session_span(self->session);
	gint64 from, to;

	if (!span)
		return;
	if (!tipme_session_range(self->session, &from, &to))
		tipme_session_set_range(self->session, span->from_ns, span->to_ns);
	else
		tipme_session_set_range(self->session, ends ? from : span->from_ns,
					ends ? span->to_ns : to);
}

static void on_drag_begin(GtkGestureDrag *gesture, double x, double y, TipmeTimeline *self)
{
	self->dragged = 0;
	self->measuring =
		gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(gesture)) &
		GDK_SHIFT_MASK;
	gtk_widget_grab_focus(GTK_WIDGET(self));
}

static void on_drag(GtkGestureDrag *gesture, double dx, double dy, TipmeTimeline *self)
{
	double x, y;

	if (self->measuring) {
		gtk_gesture_drag_get_start_point(gesture, &x, &y);
		tipme_session_set_range(self->session, time_at(self, x), time_at(self, x + dx));
		return;
	}
	pan(self, self->dragged - dx);
	self->dragged = dx;
}

/* In the overview a click or drag moves the visible stretch there. */
static void on_overview_drag(GtkGestureDrag *gesture, double dx, double dy, TipmeTimeline *self)
{
	TipmeView *view = tipme_session_view(self->session), all = *view;
	gint64 span = view->to_ns - view->from_ns, at;
	double x, y;

	gtk_gesture_drag_get_start_point(gesture, &x, &y);
	tipme_view_set(&all, all.first_ns, all.last_ns);
	at = tipme_view_time(&all, x + dx - self->sizes.names, plot_width(self));
	tipme_view_set(view, at - span / 2, at - span / 2 + span);
	tipme_session_view_changed(self->session);
}

static void on_overview_press(GtkGestureDrag *gesture, double x, double y, TipmeTimeline *self)
{
	on_overview_drag(gesture, 0, 0, self);
}

static void on_click(GtkGestureClick *gesture, int presses, double x, double y, TipmeTimeline *self)
{
	const TipmeLanes *lanes = tipme_session_lanes(self->session);
	int nr = ((int)y - self->sizes.axis) / (self->sizes.lane + self->sizes.gap);
	guint span = G_MAXUINT;

	if (!lanes || y < self->sizes.axis || (guint)nr >= lanes->lanes->len)
		return;
	const TipmeLane *lane = g_ptr_array_index(lanes->lanes, (guint)nr);

	if (x >= self->sizes.names) {
		gint64 ns = tipme_view_time(tipme_session_view(self->session),
					    x - self->sizes.names, plot_width(self));

		span = tipme_lane_at(lane, ns);
	}
	tipme_session_select(self->session, (guint)nr, span < lane->count ? span : G_MAXUINT);
}

/* --- what keys do: the names of tipme_timeline_deeds --- */

static void zoom_in(TipmeTimeline *self)
{
	zoom(self, 1 / 1.5);
}

static void zoom_out(TipmeTimeline *self)
{
	zoom(self, 1.5);
}

static void left(TipmeTimeline *self)
{
	pan(self, -plot_width(self) / 8.0);
}

static void right(TipmeTimeline *self)
{
	pan(self, plot_width(self) / 8.0);
}

static void fit(TipmeTimeline *self)
{
	tipme_session_fit(self->session);
}

static void whole(TipmeTimeline *self)
{
	tipme_view_set(tipme_session_view(self->session), G_MININT64 / 4, G_MAXINT64 / 4);
	tipme_session_view_changed(self->session);
}

static void next(TipmeTimeline *self)
{
	tipme_session_step_span(self->session, 1);
}

static void previous(TipmeTimeline *self)
{
	tipme_session_step_span(self->session, -1);
}

static void next_wake(TipmeTimeline *self)
{
	tipme_session_step_wake(self->session, 1);
}

static void last_wake(TipmeTimeline *self)
{
	tipme_session_step_wake(self->session, -1);
}

static void lane_down(TipmeTimeline *self)
{
	tipme_session_step_lane(self->session, 1);
}

static void lane_up(TipmeTimeline *self)
{
	tipme_session_step_lane(self->session, -1);
}

static void pin(TipmeTimeline *self)
{
	tipme_session_pin(self->session);
}

static void group(TipmeTimeline *self)
{
	tipme_session_group(self->session);
}

static void range_begin(TipmeTimeline *self)
{
	mark_range(self, FALSE);
}

static void range_end(TipmeTimeline *self)
{
	mark_range(self, TRUE);
}

static void no_range(TipmeTimeline *self)
{
	tipme_session_set_range(self->session, 0, 0);
}

/* Copies are made by the page, which has the sums. */
static const struct {
	const char *name;
	void (*done)(TipmeTimeline *self);
} deeds[] = {
	{ "zoom-in", zoom_in },
	{ "zoom-out", zoom_out },
	{ "left", left },
	{ "right", right },
	{ "fit", fit },
	{ "whole", whole },
	{ "next", next },
	{ "previous", previous },
	{ "next-wake", next_wake },
	{ "last-wake", last_wake },
	{ "lane-down", lane_down },
	{ "lane-up", lane_up },
	{ "pin", pin },
	{ "group", group },
	{ "range-begin", range_begin },
	{ "range-end", range_end },
	{ "no-range", no_range },
};

/* Shift tells two letters apart; of others it may be what types them. */
static gboolean is_made_by(const char *keys, guint key, GdkModifierType held)
{
	g_auto(GStrv) each = g_strsplit(keys ? keys : "", " ", -1);

	for (char **text = each; *text; text++) {
		GdkModifierType wanted;
		guint other;

		if (gtk_accelerator_parse(*text, &other, &wanted) &&
		    other == gdk_keyval_to_lower(key) &&
		    (held & GDK_CONTROL_MASK) == (wanted & GDK_CONTROL_MASK) &&
		    (!g_unichar_isalpha(gdk_keyval_to_unicode(key)) ||
		     (held & GDK_SHIFT_MASK) == (wanted & GDK_SHIFT_MASK)))
			return TRUE;
	}
	return FALSE;
}

const char *tipme_timeline_deed(guint key, GdkModifierType held)
{
	if (held & GDK_ALT_MASK)
		return NULL;
	for (const TipmeTimelineDeed *deed = tipme_timeline_deeds; deed->name; deed++)
		if (is_made_by(deed->keys, key, held))
			return deed->name;
	return NULL;
}

static gboolean on_key(GtkEventControllerKey *controller, guint key, guint code,
		       GdkModifierType held, TipmeTimeline *self)
{
	const char *name = tipme_timeline_deed(key, held);

	for (gsize i = 0; name && i < G_N_ELEMENTS(deeds); i++)
		if (!strcmp(deeds[i].name, name)) {
			deeds[i].done(self);
			return GDK_EVENT_STOP;
		}
	return GDK_EVENT_PROPAGATE;
}

static void add_controllers(TipmeTimeline *self)
{
	GtkEventController *motion = gtk_event_controller_motion_new();
	GtkEventController *scroll =
		gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);
	GtkEventController *key = gtk_event_controller_key_new();
	GtkGesture *drag = gtk_gesture_drag_new();

	g_signal_connect(motion, "motion", G_CALLBACK(on_motion), self);
	g_signal_connect(scroll, "scroll", G_CALLBACK(on_scroll), self);
	g_signal_connect(key, "key-pressed", G_CALLBACK(on_key), self);
	g_signal_connect(drag, "drag-begin",
			 self->overview ? G_CALLBACK(on_overview_press) : G_CALLBACK(on_drag_begin),
			 self);
	g_signal_connect(drag, "drag-update",
			 self->overview ? G_CALLBACK(on_overview_drag) : G_CALLBACK(on_drag), self);
	gtk_widget_add_controller(GTK_WIDGET(self), motion);
	gtk_widget_add_controller(GTK_WIDGET(self), scroll);
	gtk_widget_add_controller(GTK_WIDGET(self), key);
	gtk_widget_add_controller(GTK_WIDGET(self), GTK_EVENT_CONTROLLER(drag));
	if (self->overview)
		return;
	GtkGesture *click = gtk_gesture_click_new();

	g_signal_connect(click, "released", G_CALLBACK(on_click), self);
	gtk_widget_add_controller(GTK_WIDGET(self), GTK_EVENT_CONTROLLER(click));
	GtkGesture *pinch = gtk_gesture_zoom_new();

	g_signal_connect(pinch, "begin", G_CALLBACK(on_pinch_begin), self);
	g_signal_connect(pinch, "scale-changed", G_CALLBACK(on_pinch), self);
	gtk_widget_add_controller(GTK_WIDGET(self), GTK_EVENT_CONTROLLER(pinch));
}

/* What a screen reader is told: the selection in words; the table beside has all. */
static void describe(TipmeTimeline *self)
{
	const TipmeLanes *lanes = tipme_session_lanes(self->session);
	guint nr = tipme_session_selected_lane(self->session),
	      span = tipme_session_selected_span(self->session);
	g_autofree char *words = NULL;

	if (lanes && nr < lanes->lanes->len) {
		const TipmeLane *lane = g_ptr_array_index(lanes->lanes, nr);
		g_autofree char *what = span < lane->count
						? tipme_lanes_words(lanes, lane, &lane->spans[span])
						: g_strdup("");

		words = g_strdup_printf("%s%s %s", lane->name, lane->pinned ? _(", pinned:") : "",
					what);
	}
	gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
				       words ? words : "", -1);
	gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void tipme_timeline_dispose(GObject *object)
{
	TipmeTimeline *self = TIPME_TIMELINE(object);

	if (self->session)
		g_signal_handlers_disconnect_by_data(self->session, self);
	g_signal_handlers_disconnect_by_data(adw_style_manager_get_default(), self);
	g_clear_object(&self->session);
	g_clear_pointer(&self->pixels, g_array_unref);
	g_clear_pointer(&self->whole, gsk_render_node_unref);
	G_OBJECT_CLASS(tipme_timeline_parent_class)->dispose(object);
}

static void tipme_timeline_class_init(TipmeTimelineClass *klass)
{
	GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(klass);

	G_OBJECT_CLASS(klass)->dispose = tipme_timeline_dispose;
	widget_class->snapshot = tipme_timeline_draw;
	widget_class->measure = tipme_timeline_measure;
	widget_class->css_changed = tipme_timeline_css_changed;
	widget_class->size_allocate = tipme_timeline_size_allocate;
	gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_IMG);
	gtk_widget_class_set_css_name(widget_class, "timeline");
}

static void tipme_timeline_init(TipmeTimeline *self)
{
	self->pixels = g_array_new(FALSE, FALSE, sizeof(TipmePixels));
	self->pointer_x = 0;
	fit_text(self);
}

GtkWidget *tipme_timeline_new(TipmeSession *session, gboolean overview)
{
	TipmeTimeline *self = g_object_new(TIPME_TYPE_TIMELINE, NULL);

	self->session = g_object_ref(session);
	self->overview = overview;
	gtk_widget_set_focusable(GTK_WIDGET(self), !overview);
	gtk_widget_set_hexpand(GTK_WIDGET(self), TRUE);
	gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       overview ? _("Whole episode") : _("Timeline"), -1);
	add_controllers(self);
	g_signal_connect_swapped(session, "loaded", G_CALLBACK(on_loaded), self);
	g_signal_connect_swapped(session, "lanes-changed", G_CALLBACK(on_loaded), self);
	g_signal_connect_swapped(session, "view-changed", G_CALLBACK(gtk_widget_queue_draw), self);
	g_signal_connect_swapped(session, "selection-changed", G_CALLBACK(describe), self);
	g_signal_connect_swapped(adw_style_manager_get_default(), "notify::dark",
				 G_CALLBACK(forget_whole), self);
	return GTK_WIDGET(self);
}
