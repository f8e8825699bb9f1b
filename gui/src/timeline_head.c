// SPDX-License-Identifier: GPL-2.0-only
/* What stands above the lanes of a timeline: times, where the time went, stages. */
#include "config.h"

#include "timeline_frame.h"

#include <string.h>

#include "language.h"
#include "numbers.h"
#include "paint.h"

void tipme_frame_fill(Frame *f, const GdkRGBA *colour, double x, double y, double width,
		      double height)
{
	gtk_snapshot_append_color(f->to, colour,
				  &GRAPHENE_RECT_INIT((float)x, (float)y, (float)width,
						      (float)height));
}

void tipme_frame_write(TipmeTimeline *self, Frame *f, const char *text, double x, double y,
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

int tipme_frame_text_width(TipmeTimeline *self, const char *text)
{
	g_autoptr(PangoLayout) layout = gtk_widget_create_pango_layout(GTK_WIDGET(self), text);
	int width;

	pango_layout_get_pixel_size(layout, &width, NULL);
	return width;
}

const TipmePart *tipme_frame_part(const TipmeAnswer *answer, guint nr)
{
	return nr < answer->parts->len ? g_ptr_array_index(answer->parts, nr) : NULL;
}

/* In the colours of the answer's page; named where there is room. */
static void draw_charge(TipmeTimeline *self, Frame *f, int from, int to, guint nr)
{
	const TipmePart *part = tipme_frame_part(tipme_session_answer(self->session), nr);
	GdkRGBA colour = tipme_paint_part(MIN(nr, TIPME_PAINT_PARTS)), ink = f->ink;
	int y = self->sizes.head;

	if (!part)
		return;
	tipme_frame_fill(f, &colour, f->left + from, y, to - from, f->lane);
	if (to - from < 3 * self->sizes.text)
		return;
	/* What can be read of it in little room is who. */
	g_autofree char *words = *part->who ? g_strdup_printf("%s: %s", part->who, part->words)
					    : g_strdup(part->words);

	f->ink = tipme_paint_ink_on(&colour);
	tipme_frame_write(self, f, words, f->left + from + 4, y + (f->lane - self->sizes.text) / 2,
			  to - from - 8);
	f->ink = ink;
}

/*
 * The part that took most of [from_ns, to_ns); TIPME_NO_PART: none. `at` is the first stretch that
 * may reach into it, and goes on; `took` has room for each part.
 */
static guint charged_most(const TipmeAnswer *answer, guint *at, gint64 from_ns, gint64 to_ns,
			  gint64 *took)
{
	guint most = TIPME_NO_PART;

	memset(took, 0, answer->parts->len * sizeof(*took));
	for (guint i = *at; i < answer->path->len; i++) {
		const TipmeStretch *stretch = g_ptr_array_index(answer->path, i);

		if (stretch->from_ns >= to_ns)
			break;
		if (stretch->to_ns <= from_ns)
			*at = i + 1;
		else if (stretch->part != TIPME_NO_PART)
			took[stretch->part] +=
				MIN(stretch->to_ns, to_ns) - MAX(stretch->from_ns, from_ns);
	}
	for (guint i = 0; i < answer->parts->len; i++)
		if (took[i] > (most == TIPME_NO_PART ? 0 : took[most]))
			most = i;
	return most;
}

/* Whom each pixel is charged to, by the wake-up chain; equal ones that follow each other as one. */
static void draw_charges(TipmeTimeline *self, Frame *f)
{
	const TipmeAnswer *answer = tipme_session_answer(self->session);
	guint at = 0, run = TIPME_NO_PART;
	int begin = 0;

	if (!answer || !answer->path->len || !answer->parts->len)
		return;
	g_autofree gint64 *took = g_new(gint64, answer->parts->len);

	for (int x = 0; x <= f->width; x++) {
		gint64 from = tipme_view_time(&f->view, x, f->width),
		       to = tipme_view_time(&f->view, x + 1, f->width);
		guint most =
			x < f->width ? charged_most(answer, &at, from, to, took) : TIPME_NO_PART;

		if (most == run)
			continue;
		draw_charge(self, f, begin, x, run);
		run = most;
		begin = x;
	}
	tipme_frame_write(self, f, _("Where the time went"), 8,
			  self->sizes.head + (f->lane - self->sizes.text) / 2, f->left - 16);
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
		tipme_frame_fill(f, &line, f->left + x, 0, 1, f->height);
		/* A number that is cut would be another number. */
		if (x + 4 + tipme_frame_text_width(self, text) <= f->width)
			tipme_frame_write(self, f, text, f->left + x + 4, 2, 8 * self->sizes.text);
	}
}

#define STAGE_WIDTH 9 /* of its words, at most, in heights of the text */

static int words_width(TipmeTimeline *self, const char *words)
{
	return MIN(tipme_frame_text_width(self, words), STAGE_WIDTH * self->sizes.text);
}

/*
 * A line, and behind it the name where that ends before end_x. Answers with where the next name may
 * begin.
 */
static double draw_stage(TipmeTimeline *self, Frame *f, const TipmeStage *stage, double free_x,
			 double end_x)
{
	const TipmeAnswer *answer = tipme_session_answer(self->session);
	double x = tipme_view_x(&f->view, answer->from_ns + stage->at_ns, f->width);
	const char *words = tipme_stage_words(stage->name);
	int width = words_width(self, words);
	GdkRGBA line = f->ink;

	if (x < 0 || x > f->width)
		return free_x;
	line.alpha = f->contrast ? 1 : 0.5f;
	tipme_frame_fill(f, &line, f->left + x, self->sizes.head / 2, 1, f->height);
	if (x < free_x || x + width + 6 > end_x)
		return free_x;
	tipme_frame_write(self, f, words, f->left + x + 3, self->sizes.head / 2 - 1, width);
	return x + width + 12;
}

/*
 * The last stage's name stands before its line, which many others share with it. Names that would
 * stand on another are left out: the ribbon above has them all.
 */
static void draw_stages(TipmeTimeline *self, Frame *f)
{
	const TipmeAnswer *answer = tipme_session_answer(self->session);
	guint count = answer ? answer->stages->len : 0;
	const TipmeStage *last = count ? g_ptr_array_index(answer->stages, count - 1) : NULL;
	double free_x = 0, end_x = f->width;
	double x = last ? tipme_view_x(&f->view, answer->from_ns + last->at_ns, f->width) : -1;
	int width = last ? words_width(self, tipme_stage_words(last->name)) : 0;

	if (last && x <= f->width && x > 2 * width) {
		end_x = x - width - 6;
		tipme_frame_write(self, f, tipme_stage_words(last->name), f->left + end_x + 3,
				  self->sizes.head / 2 - 1, width);
	}
	for (guint i = 0; i < count; i++)
		free_x = draw_stage(self, f, g_ptr_array_index(answer->stages, i), free_x, end_x);
}

void tipme_frame_head(TipmeTimeline *self, Frame *f)
{
	draw_axis(self, f);
	draw_charges(self, f);
	draw_stages(self, f);
}
