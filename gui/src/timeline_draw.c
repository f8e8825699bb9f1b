// SPDX-License-Identifier: GPL-2.0-only
/*
 * Draws in passes, after lanes are reduced to at most one span per pixel. One conversion between
 * times and pixels serves drawing and hits: tipme_view_x() and tipme_view_time().
 */
#include "config.h"

#include "timeline_draw.h"

#include <adwaita.h>
#include <math.h>

#include "language.h"
#include "numbers.h"
#include "paint.h"
#include "strip.h"

/* What one frame needs to know. */
typedef struct {
	GtkSnapshot *to;
	const TipmeLanes *lanes;
	TipmeView view;
	int left, width, height, top, lane, gap;
	gboolean dark, contrast;
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

	int width;

	/* Text that fits begins at x in any direction of writing: it tells of that place. */
	pango_layout_get_pixel_size(layout, &width, NULL);
	if (width > most) {
		pango_layout_set_width(layout, most * PANGO_SCALE);
		pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END);
	}
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
	f->left = self->sizes.names;
	f->width = gtk_widget_get_width(widget) - self->sizes.names;
	f->height = gtk_widget_get_height(widget);
	f->top = self->overview ? 2 : self->sizes.axis;
	f->lane = self->overview ? THIN : self->sizes.lane;
	f->gap = self->overview ? 1 : self->sizes.gap;
	f->dark = adw_style_manager_get_dark(adw_style_manager_get_default());
	f->contrast = adw_style_manager_get_high_contrast(adw_style_manager_get_default());
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

	tint.alpha = f->contrast ? 0.16f : 0.08f;
	fill(f, &tint, f->left + from, 0, MAX(to - from, 1), f->height);
}

/* Pixels for each column: two where spans are narrower, which halves what a frame costs. */
static int column_of(Frame *f, const TipmeLane *lane)
{
	guint spans = tipme_lane_at(lane, f->view.to_ns) - tipme_lane_at(lane, f->view.from_ns);

	return spans > (guint)f->width ? 2 : 1;
}

static void draw_lane(TipmeTimeline *self, Frame *f, const TipmeLane *lane, int y)
{
	GdkRGBA mark = tipme_paint_wait(f->dark), line = f->ink;
	GdkRGBA event = tipme_paint_state(TIPME_LANE_EVENT, f->dark);

	line.alpha = f->contrast ? 0.6f : 0.15f;
	fill(f, &line, f->left, y + f->lane - 1, f->width, 1);
	int column = column_of(f, lane);

	tipme_lane_pixels(lane, f->view.from_ns, f->view.to_ns, MAX(f->width / column, 1),
			  self->pixels);
	if (column > 1) {
		int scale = gtk_widget_get_scale_factor(GTK_WIDGET(self));
		cairo_surface_t *strip =
			tipme_strip_new(lane, self->pixels, column, f->width * scale,
					f->lane * scale, scale, f->dark);
		cairo_t *cr = gtk_snapshot_append_cairo(
			f->to, &GRAPHENE_RECT_INIT((float)f->left, (float)y, (float)f->width,
						   (float)f->lane));

		cairo_set_source_surface(cr, strip, f->left, y);
		cairo_paint(cr);
		cairo_destroy(cr);
		cairo_surface_destroy(strip);
		return;
	}
	for (guint i = 0; i < self->pixels->len; i++) {
		const TipmePixels *p = &g_array_index(self->pixels, TipmePixels, i);
		GdkRGBA colour = tipme_paint_state(p->state, f->dark);
		double height = MAX(1, round(f->lane * tipme_paint_height(p->state)));

		if (p->state != TIPME_LANE_NOTHING)
			fill(f, &colour, f->left + p->x * column, y + f->lane - height,
			     p->width * column, height);
		if (p->wait && lane->is_events)
			fill(f, &event, f->left + p->x * column, y, p->width * column, f->lane);
		else if (p->wait)
			fill(f, &mark, f->left + p->x * column, y, p->width * column,
			     MAX(1, f->lane / 6));
	}
}

static void draw_lanes(TipmeTimeline *self, Frame *f)
{
	int y = f->top;

	for (guint i = 0; i < f->lanes->lanes->len; i++, y += f->lane + f->gap)
		draw_lane(self, f, g_ptr_array_index(f->lanes->lanes, i), y);
}

/* A corner before the name. */
static void draw_pin(Frame *f, int y)
{
	for (int i = 0; i < 6; i++)
		fill(f, &f->ink, 0, y + i, 6 - i, 1);
}

/* Does the next lane show a thread of the same process? */
static gboolean joins(Frame *f, guint nr)
{
	const TipmeLane *lane = g_ptr_array_index(f->lanes->lanes, nr);
	const TipmeLane *next =
		nr + 1 < f->lanes->lanes->len ? g_ptr_array_index(f->lanes->lanes, nr + 1) : NULL;

	return next && lane->process && lane->process == next->process;
}

static void draw_names(TipmeTimeline *self, Frame *f)
{
	int y = f->top;
	GdkRGBA chosen = f->ink;

	chosen.alpha = f->contrast ? 0.3f : 0.12f;
	if (self->overview) {
		write_text(self, f, _("Whole episode"), 8,
			   MAX(0, (f->height - self->sizes.text) / 2), f->left - 16);
		return;
	}
	for (guint i = 0; i < f->lanes->lanes->len; i++, y += f->lane + f->gap) {
		const TipmeLane *lane = g_ptr_array_index(f->lanes->lanes, i);

		if (i == tipme_session_selected_lane(self->session))
			fill(f, &chosen, 0, y - f->gap / 2, f->left - 4, f->lane + f->gap);
		if (lane->pinned)
			draw_pin(f, y);
		if (joins(f, i))
			fill(f, &f->ink, f->left - 8, y + f->lane / 4, 2, f->lane + f->gap);
		write_text(self, f, lane->name, 8, y + (f->lane - self->sizes.text) / 2,
			   f->left - 20);
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
	gint64 step = tipme_view_tick(&f->view, f->width / (6 * self->sizes.text + 10)),
	       zero = zero_of(self);
	gint64 first = (f->view.from_ns - zero) / step * step;
	GdkRGBA line = f->ink;

	line.alpha = f->contrast ? 0.5f : 0.12f;
	for (gint64 t = first; t <= f->view.to_ns - zero; t += step) {
		double x = tipme_view_x(&f->view, zero + t, f->width);
		g_autofree char *text = tipme_text_tick(t, step);

		if (x < 0)
			continue;
		fill(f, &line, f->left + x, 0, 1, f->height);
		write_text(self, f, text, f->left + x + 4, 2, 8 * self->sizes.text);
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

#define STAGE_WIDTH 9 /* of its words, in heights of the text */

/* Names of stages that would stand on another are left out; the answer's page has them all. */
static void draw_stages(TipmeTimeline *self, Frame *f)
{
	const TipmeAnswer *answer = tipme_session_answer(self->session);
	GdkRGBA line = tipme_paint_state(TIPME_LANE_EVENT, f->dark);
	double free_x = 0;

	for (guint i = 0; answer && i < answer->stages->len; i++) {
		const TipmeStage *stage = g_ptr_array_index(answer->stages, i);
		double x = tipme_view_x(&f->view, answer->from_ns + stage->at_ns, f->width);

		if (x < 0 || x > f->width)
			continue;
		fill(f, &line, f->left + x, self->sizes.axis / 2, 1, f->height);
		if (x < free_x)
			continue;
		write_text(self, f, tipme_stage_words(stage->name), f->left + x + 3,
			   self->sizes.axis / 2 - 1, STAGE_WIDTH * self->sizes.text);
		free_x = x + STAGE_WIDTH * self->sizes.text;
	}
}

static int lane_of_thread(Frame *f, guint32 tid)
{
	for (guint i = 0; tid && i < f->lanes->lanes->len; i++) {
		const TipmeLane *lane = g_ptr_array_index(f->lanes->lanes, i);

		if (!lane->is_cpu && !lane->is_events && lane->number == tid)
			return (int)i;
	}
	return -1;
}

/* size: of its head, in pixels. */
static void draw_arrow(Frame *f, double x, int from, int to, int size)
{
	int step = f->lane + f->gap, down = to > from ? 1 : -1;
	double begin = f->top + from * step + f->lane / 2.0, end = f->top + to * step;

	end += down > 0 ? 0 : f->lane;
	fill(f, &f->ink, x, MIN(begin, end), size > 4 ? 1.5 : 1, ABS(end - begin));
	for (int i = 0; i < size; i++)
		fill(f, &f->ink, x - i, end - down * (i + 1), 2 * i + 1.5, 1);
}

/* The wake-up chain of the verdict: an arrow from each thread to the one that went on. */
static void draw_chain(TipmeTimeline *self, Frame *f)
{
	const TipmeAnswer *answer = tipme_session_answer(self->session);
	int last_x = -1, last_from = -1, last_to = -1;

	for (guint i = 1; answer && i < answer->path->len; i++) {
		const TipmeStretch *before = g_ptr_array_index(answer->path, i - 1);
		const TipmeStretch *after = g_ptr_array_index(answer->path, i);
		double x = tipme_view_x(&f->view, after->from_ns, f->width);

		if (x < 0 || x > f->width || before->tid == after->tid)
			continue;
		int from = lane_of_thread(f, before->tid), to = lane_of_thread(f, after->tid);

		if (from < 0 || to < 0 || from == to ||
		    ((int)x == last_x && from == last_from && to == last_to))
			continue;
		draw_arrow(f, f->left + x, from, to, 5);
		last_x = (int)x;
		last_from = from;
		last_to = to;
	}
}

/* Index of the first at or after a time. */
static guint message_at(const GArray *all, gint64 ns)
{
	guint low = 0, high = all->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (g_array_index(all, TipmeMessage, middle).ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Messages between threads that are seen: thin arrows, where there are few enough to tell apart. */
static void draw_messages(Frame *f)
{
	const GArray *all = f->lanes->messages;
	guint first = message_at(all, f->view.from_ns), last = message_at(all, f->view.to_ns);
	Frame thin = *f;

	thin.ink.alpha = f->contrast ? 1 : 0.45f;
	for (guint i = first; last - first <= MESSAGES_MOST && i < last; i++) {
		const TipmeMessage *message = &g_array_index(all, TipmeMessage, i);
		int from = lane_of_thread(f, message->from), to = lane_of_thread(f, message->to);

		if (from >= 0 && to >= 0 && from != to)
			draw_arrow(&thin, f->left + tipme_view_x(&f->view, message->ns, f->width),
				   from, to, 3);
	}
}

/* What is measured, with its length. */
static void draw_range(TipmeTimeline *self, Frame *f)
{
	GdkRGBA tint = tipme_paint_state(TIPME_LANE_RUNNING, f->dark);
	gint64 from_ns, to_ns;

	if (!tipme_session_range(self->session, &from_ns, &to_ns))
		return;
	double from = CLAMP(tipme_view_x(&f->view, from_ns, f->width), 0, f->width);
	double to = CLAMP(tipme_view_x(&f->view, to_ns, f->width), 0, f->width);
	g_autofree char *text = g_strdup_printf("%.3f ms", (double)(to_ns - from_ns) / 1e6);

	fill(f, &tint, f->left + from, f->top, 2, f->height);
	fill(f, &tint, f->left + to - 2, f->top, 2, f->height);
	tint.alpha = 0.15f;
	fill(f, &tint, f->left + from, f->top, to - from, f->height);
	write_text(self, f, text, f->left + from + 6, f->height - self->sizes.text - 2,
		   8 * self->sizes.text);
}

static void draw_content(TipmeTimeline *self, Frame *f)
{
	draw_interval(self, f);
	draw_lanes(self, f);
	dim_rest(self, f);
	if (!self->overview) {
		draw_axis(self, f);
		draw_stages(self, f);
		draw_messages(f);
		draw_chain(self, f);
		draw_range(self, f);
	}
	draw_names(self, f);
	draw_marks(self, f);
}

/* While the view moves, only its frame does: the rest of the overview is drawn once. */
static void draw_whole(TipmeTimeline *self, Frame *f)
{
	GtkSnapshot *to = f->to;

	if (!self->whole) {
		f->to = gtk_snapshot_new();
		draw_content(self, f);
		self->whole = gtk_snapshot_free_to_node(f->to);
		f->to = to;
	}
	if (self->whole)
		gtk_snapshot_append_node(to, self->whole);
	draw_frame_of_view(self, f);
}

void tipme_timeline_draw(GtkWidget *widget, GtkSnapshot *snapshot)
{
	TipmeTimeline *self = TIPME_TIMELINE(widget);
	Frame f;

	if (!frame_init(self, &f, snapshot))
		return;
	gtk_snapshot_push_clip(snapshot, &GRAPHENE_RECT_INIT(0, 0, (float)(f.left + f.width),
							     (float)f.height));
	if (self->overview)
		draw_whole(self, &f);
	else
		draw_content(self, &f);
	gtk_snapshot_pop(snapshot);
}
