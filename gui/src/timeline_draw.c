// SPDX-License-Identifier: GPL-2.0-only
/*
 * Draws in passes, after lanes are reduced to at most one span per pixel. One conversion between
 * times and pixels serves drawing and hits: tipme_view_x() and tipme_view_time().
 */
#include "config.h"

#include "timeline_frame.h"

#include <adwaita.h>
#include <math.h>

#include "language.h"
#include "numbers.h"
#include "paint.h"
#include "strip.h"

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
	GdkRGBA tint = tipme_paint_interval(f->dark);

	if (!answer || !answer->has_interval)
		return;
	double from = CLAMP(tipme_view_x(&f->view, answer->from_ns, f->width), 0, f->width);
	double to = CLAMP(tipme_view_x(&f->view, answer->to_ns, f->width), 0, f->width);

	if (f->contrast)
		tint = (GdkRGBA){ f->ink.red, f->ink.green, f->ink.blue, 0.16f };
	tipme_frame_fill(f, &tint, f->left + from, 0, MAX(to - from, 1), f->height);
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
	tipme_frame_fill(f, &line, f->left, y + f->lane - 1, f->width, 1);
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
			tipme_frame_fill(f, &colour, f->left + p->x * column, y + f->lane - height,
					 p->width * column, height);
		if (p->wait && lane->is_events)
			tipme_frame_fill(f, &event, f->left + p->x * column, y, p->width * column,
					 f->lane);
		else if (p->wait)
			tipme_frame_fill(f, &mark, f->left + p->x * column, y, p->width * column,
					 MAX(1, f->lane / 6));
	}
}

/* Does a thread belong to the process that is charged with most? */
static gboolean is_charged(TipmeTimeline *self, Frame *f, guint32 tid)
{
	const TipmeAnswer *answer = tipme_session_answer(self->session);
	const TipmePart *part = answer ? tipme_frame_part(answer, 0) : NULL;
	gpointer process = g_hash_table_lookup(f->lanes->processes, GUINT_TO_POINTER(tid));

	return part && part->pid && GPOINTER_TO_UINT(process) == part->pid;
}

/* Who had a CPU: by name where there is room; in a colour of its own who is charged with most. */
static void draw_occupant(TipmeTimeline *self, Frame *f, const TipmeSpan *span, int y)
{
	const char *name = g_hash_table_lookup(f->lanes->names, GUINT_TO_POINTER(span->who));
	double from = CLAMP(tipme_view_x(&f->view, span->from_ns, f->width), 0, f->width);
	double to = CLAMP(tipme_view_x(&f->view, span->to_ns, f->width), 0, f->width);
	gboolean charged = is_charged(self, f, span->who);
	GdkRGBA colour =
		charged ? tipme_paint_part(0) : tipme_paint_state(TIPME_LANE_RUNNING, f->dark);
	GdkRGBA ink = f->ink;

	if (charged && to > from)
		tipme_frame_fill(f, &colour, f->left + from, y, MAX(to - from, 1), f->lane);
	if (!name || to - from < 3 * self->sizes.text)
		return;
	f->ink = tipme_paint_ink_on(&colour);
	tipme_frame_write(self, f, name, f->left + from + 4, y + (f->lane - self->sizes.text) / 2,
			  (int)(to - from) - 8);
	f->ink = ink;
}

static void draw_occupants(TipmeTimeline *self, Frame *f, const TipmeLane *lane, int y)
{
	guint first = tipme_lane_at(lane, f->view.from_ns);
	guint last = tipme_lane_at(lane, f->view.to_ns);

	if (!lane->is_cpu || self->overview || last - first > OCCUPANTS_MOST)
		return;
	for (guint i = first; i <= last && i < lane->count; i++)
		draw_occupant(self, f, &lane->spans[i], y);
}

/* Stripes over what no record tells, but only what came after it. */
static void draw_inferred(Frame *f)
{
	GdkRGBA veil =
		f->dark ? (GdkRGBA){ 0.12f, 0.12f, 0.12f, 0.85f } : (GdkRGBA){ 1, 1, 1, 0.85f };
	double end = MIN(tipme_view_x(&f->view, f->lanes->records_ns, f->width), f->width);

	if (f->lanes->records_ns <= f->lanes->first_ns)
		return;
	for (double x = 0; x < end; x += 6)
		tipme_frame_fill(f, &veil, f->left + x, f->top, MIN(4, end - x), f->height);
}

static void draw_lanes(TipmeTimeline *self, Frame *f)
{
	int y = f->top;

	for (guint i = 0; i < f->lanes->lanes->len; i++, y += f->lane + f->gap) {
		const TipmeLane *lane = g_ptr_array_index(f->lanes->lanes, i);

		draw_lane(self, f, lane, y);
		draw_occupants(self, f, lane, y);
	}
	draw_inferred(f);
}

/* A corner before the name. */
static void draw_pin(Frame *f, int y)
{
	for (int i = 0; i < 6; i++)
		tipme_frame_fill(f, &f->ink, 0, y + i, 6 - i, 1);
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
		tipme_frame_write(self, f, _("Whole episode"), 8,
				  MAX(0, (f->height - self->sizes.text) / 2), f->left - 16);
		return;
	}
	for (guint i = 0; i < f->lanes->lanes->len; i++, y += f->lane + f->gap) {
		const TipmeLane *lane = g_ptr_array_index(f->lanes->lanes, i);

		if (i == tipme_session_selected_lane(self->session))
			tipme_frame_fill(f, &chosen, 0, y - f->gap / 2, f->left - 4,
					 f->lane + f->gap);
		if (lane->pinned)
			draw_pin(f, y);
		if (joins(f, i))
			tipme_frame_fill(f, &f->ink, f->left - 8, y + f->lane / 4, 2,
					 f->lane + f->gap);
		tipme_frame_write(self, f, lane->name, 8, y + (f->lane - self->sizes.text) / 2,
				  f->left - 20);
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

		tipme_frame_fill(f, &f->ink, MIN(x, f->left + f->width - 2), 0, 2, f->height);
	}
	if (self->overview || span_nr == G_MAXUINT || lane_nr >= f->lanes->lanes->len)
		return;
	const TipmeLane *lane = g_ptr_array_index(f->lanes->lanes, lane_nr);
	const TipmeSpan *span = &lane->spans[span_nr];
	double from = CLAMP(tipme_view_x(&f->view, span->from_ns, f->width), 0, f->width);
	double to = CLAMP(tipme_view_x(&f->view, span->to_ns, f->width), 0, f->width);
	int y = f->top + (int)lane_nr * (f->lane + f->gap);

	tipme_frame_fill(f, &f->ink, f->left + from, y - 2, MAX(to - from, 2), 2);
	tipme_frame_fill(f, &f->ink, f->left + from, y + f->lane, MAX(to - from, 2), 2);
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

	tipme_frame_fill(f, &veil, f->left, f->top, from, f->height);
	tipme_frame_fill(f, &veil, f->left + to, f->top, f->width - to, f->height);
}

static void draw_frame_of_view(TipmeTimeline *self, Frame *f)
{
	const TipmeView *view = tipme_session_view(self->session);
	double from = f->left + tipme_view_x(&f->view, view->from_ns, f->width);
	double to = MAX(f->left + tipme_view_x(&f->view, view->to_ns, f->width), from + 3);

	tipme_frame_fill(f, &f->ink, from, 0, 2, f->height);
	tipme_frame_fill(f, &f->ink, to - 2, 0, 2, f->height);
	tipme_frame_fill(f, &f->ink, from, 0, to - from, 1);
	tipme_frame_fill(f, &f->ink, from, f->height - 1, to - from, 1);
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
	tipme_frame_fill(f, &f->ink, x, MIN(begin, end), size > 4 ? 1.5 : 1, ABS(end - begin));
	for (int i = 0; i < size; i++)
		tipme_frame_fill(f, &f->ink, x - i, end - down * (i + 1), 2 * i + 1.5, 1);
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

	tipme_frame_fill(f, &tint, f->left + from, f->top, 2, f->height);
	tipme_frame_fill(f, &tint, f->left + to - 2, f->top, 2, f->height);
	tint.alpha = 0.15f;
	tipme_frame_fill(f, &tint, f->left + from, f->top, to - from, f->height);
	tipme_frame_write(self, f, text, f->left + from + 6, f->height - self->sizes.text - 2,
			  8 * self->sizes.text);
}

static void draw_content(TipmeTimeline *self, Frame *f)
{
	draw_interval(self, f);
	draw_lanes(self, f);
	dim_rest(self, f);
	if (!self->overview) {
		tipme_frame_head(self, f);
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
