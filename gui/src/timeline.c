// SPDX-License-Identifier: GPL-2.0-only
/*
 * Draws in passes, after lanes are reduced to at most one span per pixel. One conversion between
 * times and pixels serves drawing and hits: tipme_view_x() and tipme_view_time().
 */
#include "config.h"

#include "timeline.h"

#include <adwaita.h>
#include <math.h>

#include "paint.h"
#include "numbers.h"
#include "language.h"

#define NAMES 170 /* pixels for the names of lanes */
#define AXIS 24
#define LANE 26
#define GAP 6
#define THIN 3 /* pixels of a lane in the overview */

struct _TipmeTimeline {
	GtkWidget parent_instance;
	TipmeSession *session;
	gboolean overview;
	GArray *pixels;
	double pointer_x, dragged;
};

G_DEFINE_FINAL_TYPE(TipmeTimeline, tipme_timeline, GTK_TYPE_WIDGET)

/* What one frame needs to know. */
typedef struct {
	GtkSnapshot *to;
	const TipmeLanes *lanes;
	TipmeView view;
	int left, width, height, top, lane, gap;
	gboolean dark;
	GdkRGBA ink;
} Frame;

static void fill(Frame *f, const GdkRGBA *colour, double x, double y, double width, double height)
{
	gtk_snapshot_append_color(f->to, colour,
				  &GRAPHENE_RECT_INIT((float)x, (float)y, (float)width,
						      (float)height));
}

static void write_text(TipmeTimeline *self, Frame *f, const char *text, double x, double y,
		       int most)
{
	g_autoptr(PangoLayout) layout = gtk_widget_create_pango_layout(GTK_WIDGET(self), text);

	pango_layout_set_width(layout, most * PANGO_SCALE);
	pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END);
	gtk_snapshot_save(f->to);
	gtk_snapshot_translate(f->to, &GRAPHENE_POINT_INIT((float)x, (float)y));
	gtk_snapshot_append_layout(f->to, layout, &f->ink);
	gtk_snapshot_restore(f->to);
}

static gboolean frame_init(TipmeTimeline *self, Frame *f, GtkSnapshot *snapshot)
{
	GtkWidget *widget = GTK_WIDGET(self);

	f->to = snapshot;
	f->lanes = tipme_session_lanes(self->session);
	f->view = *tipme_session_view(self->session);
	if (self->overview)
		tipme_view_set(&f->view, f->view.first_ns, f->view.last_ns);
	f->left = NAMES;
	f->width = gtk_widget_get_width(widget) - NAMES;
	f->height = gtk_widget_get_height(widget);
	f->top = self->overview ? 2 : AXIS;
	f->lane = self->overview ? THIN : LANE;
	f->gap = self->overview ? 1 : GAP;
	f->dark = adw_style_manager_get_dark(adw_style_manager_get_default());
	gtk_style_context_get_color(gtk_widget_get_style_context(widget), &f->ink);
	return f->lanes && f->width > 0;
}

static void draw_interval(TipmeTimeline *self, Frame *f)
{
	const TipmeAnswer *answer = tipme_session_answer(self->session);
	GdkRGBA tint = f->ink;

	if (!answer || !answer->has_interval)
		return;
	double from = CLAMP(tipme_view_x(&f->view, answer->from_ns, f->width), 0, f->width);
	double to = CLAMP(tipme_view_x(&f->view, answer->to_ns, f->width), 0, f->width);

	tint.alpha = 0.08f;
	fill(f, &tint, f->left + from, 0, MAX(to - from, 1), f->height);
}

static void draw_lane(TipmeTimeline *self, Frame *f, const TipmeLane *lane, int y)
{
	GdkRGBA mark = tipme_paint_wait(f->dark), line = f->ink;

	line.alpha = 0.15f;
	fill(f, &line, f->left, y + f->lane - 1, f->width, 1);
	tipme_lane_pixels(lane, f->view.from_ns, f->view.to_ns, f->width, self->pixels);
	for (guint i = 0; i < self->pixels->len; i++) {
		const TipmePixels *p = &g_array_index(self->pixels, TipmePixels, i);
		GdkRGBA colour = tipme_paint_state(p->state, f->dark);
		double height = MAX(1, round(f->lane * tipme_paint_height(p->state)));

		if (p->state != TIPME_LANE_NOTHING)
			fill(f, &colour, f->left + p->x, y + f->lane - height, p->width, height);
		if (p->wait)
			fill(f, &mark, f->left + p->x, y, p->width, MAX(1, f->lane / 6));
	}
}

static void draw_lanes(TipmeTimeline *self, Frame *f)
{
	int y = f->top;

	for (guint i = 0; i < f->lanes->lanes->len; i++, y += f->lane + f->gap)
		draw_lane(self, f, g_ptr_array_index(f->lanes->lanes, i), y);
}

static void draw_names(TipmeTimeline *self, Frame *f)
{
	int y = f->top;
	GdkRGBA chosen = f->ink;

	chosen.alpha = 0.12f;
	if (self->overview) {
		write_text(self, f, _("Whole episode"), 8, MAX(0, (f->height - 18) / 2),
			   NAMES - 16);
		return;
	}
	for (guint i = 0; i < f->lanes->lanes->len; i++, y += f->lane + f->gap) {
		const TipmeLane *lane = g_ptr_array_index(f->lanes->lanes, i);

		if (i == tipme_session_selected_lane(self->session))
			fill(f, &chosen, 0, y - f->gap / 2, NAMES - 4, f->lane + f->gap);
		write_text(self, f, lane->name, 8, y + 3, NAMES - 16);
	}
}

/* Times count from the beginning of the problem interval, or of the episode. */
static gint64 zero_of(TipmeTimeline *self)
{
	const TipmeAnswer *answer = tipme_session_answer(self->session);

	return answer && answer->has_interval ? answer->from_ns
					      : tipme_session_view(self->session)->first_ns;
}

static void draw_axis(TipmeTimeline *self, Frame *f)
{
	gint64 step = tipme_view_tick(&f->view, f->width / 110), zero = zero_of(self);
	gint64 first = (f->view.from_ns - zero) / step * step;
	GdkRGBA line = f->ink;

	line.alpha = 0.12f;
	for (gint64 t = first; t <= f->view.to_ns - zero; t += step) {
		double x = tipme_view_x(&f->view, zero + t, f->width);
		g_autofree char *text = tipme_text_tick(t, step);

		if (x < 0)
			continue;
		fill(f, &line, f->left + x, 0, 1, f->height);
		write_text(self, f, text, f->left + x + 4, 2, 100);
	}
}

/* The hot-key, and what is selected. */
static void draw_marks(TipmeTimeline *self, Frame *f)
{
	const TipmeAnswer *answer = tipme_session_answer(self->session);
	guint lane_nr = tipme_session_selected_lane(self->session),
	      span_nr = tipme_session_selected_span(self->session);

	if (answer && answer->trigger_ns >= f->view.from_ns &&
	    answer->trigger_ns <= f->view.to_ns) {
		double x = f->left + tipme_view_x(&f->view, answer->trigger_ns, f->width);

		fill(f, &f->ink, MIN(x, f->left + f->width - 2), 0, 2, f->height);
	}
	if (self->overview || span_nr == G_MAXUINT || lane_nr >= f->lanes->lanes->len)
		return;
	const TipmeLane *lane = g_ptr_array_index(f->lanes->lanes, lane_nr);
	const TipmeSpan *span = &lane->spans[span_nr];
	double from = CLAMP(tipme_view_x(&f->view, span->from_ns, f->width), 0, f->width);
	double to = CLAMP(tipme_view_x(&f->view, span->to_ns, f->width), 0, f->width);
	int y = f->top + (int)lane_nr * (f->lane + f->gap);

	fill(f, &f->ink, f->left + from, y - 2, MAX(to - from, 2), 2);
	fill(f, &f->ink, f->left + from, y + f->lane, MAX(to - from, 2), 2);
}

/* All but the problem interval. */
static void dim_rest(TipmeTimeline *self, Frame *f)
{
	const TipmeAnswer *answer = tipme_session_answer(self->session);
	GdkRGBA veil =
		f->dark ? (GdkRGBA){ 0.12f, 0.12f, 0.12f, 0.6f } : (GdkRGBA){ 1, 1, 1, 0.6f };

	if (!answer || !answer->has_interval)
		return;
	double from = CLAMP(tipme_view_x(&f->view, answer->from_ns, f->width), 0, f->width);
	double to = CLAMP(tipme_view_x(&f->view, answer->to_ns, f->width), 0, f->width);

	fill(f, &veil, f->left, f->top, from, f->height);
	fill(f, &veil, f->left + to, f->top, f->width - to, f->height);
}

static void draw_frame_of_view(TipmeTimeline *self, Frame *f)
{
	const TipmeView *view = tipme_session_view(self->session);
	double from = f->left + tipme_view_x(&f->view, view->from_ns, f->width);
	double to = MAX(f->left + tipme_view_x(&f->view, view->to_ns, f->width), from + 3);

	fill(f, &f->ink, from, 0, 2, f->height);
	fill(f, &f->ink, to - 2, 0, 2, f->height);
	fill(f, &f->ink, from, 0, to - from, 1);
	fill(f, &f->ink, from, f->height - 1, to - from, 1);
}

static void tipme_timeline_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
	TipmeTimeline *self = TIPME_TIMELINE(widget);
	Frame f;

	if (!frame_init(self, &f, snapshot))
		return;
	gtk_snapshot_push_clip(snapshot, &GRAPHENE_RECT_INIT(0, 0, (float)(f.left + f.width),
							     (float)f.height));
	draw_interval(self, &f);
	draw_lanes(self, &f);
	dim_rest(self, &f);
	if (!self->overview)
		draw_axis(self, &f);
	draw_names(self, &f);
	draw_marks(self, &f);
	if (self->overview)
		draw_frame_of_view(self, &f);
	gtk_snapshot_pop(snapshot);
}

static void tipme_timeline_measure(GtkWidget *widget, GtkOrientation orientation, int for_size,
				   int *minimum, int *natural, int *minimum_baseline,
				   int *natural_baseline)
{
	TipmeTimeline *self = TIPME_TIMELINE(widget);
	const TipmeLanes *lanes = tipme_session_lanes(self->session);
	int count = lanes ? (int)lanes->lanes->len : 0;

	if (orientation == GTK_ORIENTATION_HORIZONTAL)
		*minimum = *natural = NAMES + 100;
	else
		*minimum = *natural = self->overview ? MAX(20, 4 + count * (THIN + 1))
						     : AXIS + count * (LANE + GAP);
}

static int plot_width(TipmeTimeline *self)
{
	return gtk_widget_get_width(GTK_WIDGET(self)) - NAMES;
}

static void zoom(TipmeTimeline *self, double factor)
{
	tipme_view_zoom(tipme_session_view(self->session), factor, self->pointer_x - NAMES,
			plot_width(self));
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

static void on_drag_begin(GtkGestureDrag *gesture, double x, double y, TipmeTimeline *self)
{
	self->dragged = 0;
	gtk_widget_grab_focus(GTK_WIDGET(self));
}

static void on_drag(GtkGestureDrag *gesture, double dx, double dy, TipmeTimeline *self)
{
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
	at = tipme_view_time(&all, x + dx - NAMES, plot_width(self));
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
	int nr = ((int)y - AXIS) / (LANE + GAP);
	guint span = G_MAXUINT;

	if (!lanes || y < AXIS || (guint)nr >= lanes->lanes->len)
		return;
	const TipmeLane *lane = g_ptr_array_index(lanes->lanes, (guint)nr);

	if (x >= NAMES) {
		gint64 ns = tipme_view_time(tipme_session_view(self->session), x - NAMES,
					    plot_width(self));

		span = tipme_lane_at(lane, ns);
	}
	tipme_session_select(self->session, (guint)nr, span < lane->count ? span : G_MAXUINT);
}

static gboolean on_key(GtkEventControllerKey *controller, guint key, guint code,
		       GdkModifierType held, TipmeTimeline *self)
{
	int width = plot_width(self);

	if (held & (GDK_CONTROL_MASK | GDK_ALT_MASK))
		return GDK_EVENT_PROPAGATE;
	switch (gdk_keyval_to_lower(key)) {
	case GDK_KEY_w:
	case GDK_KEY_plus: zoom(self, 1 / 1.5); break;
	case GDK_KEY_s:
	case GDK_KEY_minus: zoom(self, 1.5); break;
	case GDK_KEY_a:
	case GDK_KEY_Left: pan(self, -width / 8.0); break;
	case GDK_KEY_d:
	case GDK_KEY_Right: pan(self, width / 8.0); break;
	case GDK_KEY_f:
	case GDK_KEY_0: tipme_session_fit(self->session); break;
	case GDK_KEY_Home:
		tipme_view_set(tipme_session_view(self->session), G_MININT64 / 4, G_MAXINT64 / 4);
		tipme_session_view_changed(self->session);
		break;
	case GDK_KEY_period: tipme_session_step_span(self->session, 1); break;
	case GDK_KEY_comma: tipme_session_step_span(self->session, -1); break;
	case GDK_KEY_Down: tipme_session_step_lane(self->session, 1); break;
	case GDK_KEY_Up: tipme_session_step_lane(self->session, -1); break;
	default: return GDK_EVENT_PROPAGATE;
	}
	return GDK_EVENT_STOP;
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

		words = g_strdup_printf("%s %s", lane->name, what);
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
	G_OBJECT_CLASS(tipme_timeline_parent_class)->dispose(object);
}

static void tipme_timeline_class_init(TipmeTimelineClass *klass)
{
	GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(klass);

	G_OBJECT_CLASS(klass)->dispose = tipme_timeline_dispose;
	widget_class->snapshot = tipme_timeline_snapshot;
	widget_class->measure = tipme_timeline_measure;
	gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_IMG);
	gtk_widget_class_set_css_name(widget_class, "timeline");
}

static void tipme_timeline_init(TipmeTimeline *self)
{
	self->pixels = g_array_new(FALSE, FALSE, sizeof(TipmePixels));
	self->pointer_x = NAMES;
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
	g_signal_connect_swapped(session, "loaded", G_CALLBACK(gtk_widget_queue_resize), self);
	g_signal_connect_swapped(session, "view-changed", G_CALLBACK(gtk_widget_queue_draw), self);
	g_signal_connect_swapped(session, "selection-changed", G_CALLBACK(describe), self);
	g_signal_connect_swapped(adw_style_manager_get_default(), "notify::dark",
				 G_CALLBACK(gtk_widget_queue_draw), self);
	return GTK_WIDGET(self);
}
