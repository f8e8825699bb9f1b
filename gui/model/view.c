// SPDX-License-Identifier: GPL-2.0-only
/* Zoom and pan. Times stay 64-bit numbers until the last step. */
#include "config.h"

#include "view.h"

void tipme_view_init(TipmeView *view, gint64 first_ns, gint64 last_ns)
{
	view->first_ns = first_ns;
	view->last_ns = MAX(last_ns, first_ns + TIPME_VIEW_LEAST_NS);
	view->from_ns = view->first_ns;
	view->to_ns = view->last_ns;
}

void tipme_view_set(TipmeView *view, gint64 from_ns, gint64 to_ns)
{
	gint64 all = view->last_ns - view->first_ns;
	gint64 span = CLAMP(to_ns - from_ns, MIN(TIPME_VIEW_LEAST_NS, all), all);

	view->from_ns = CLAMP(from_ns, view->first_ns, view->last_ns - span);
	view->to_ns = view->from_ns + span;
}

double tipme_view_x(const TipmeView *view, gint64 ns, int width)
{
	return (double)(ns - view->from_ns) * width / (double)(view->to_ns - view->from_ns);
}

gint64 tipme_view_time(const TipmeView *view, double x, int width)
{
	double share = width > 0 ? CLAMP(x / width, 0, 1) : 0;

	return view->from_ns + (gint64)(share * (double)(view->to_ns - view->from_ns));
}

void tipme_view_zoom(TipmeView *view, double factor, double x, int width)
{
	double span = (double)(view->to_ns - view->from_ns);
	double share = width > 0 ? CLAMP(x / width, 0, 1) : 0.5;
	double all = (double)(view->last_ns - view->first_ns);
	double wanted = CLAMP(span * factor, MIN(TIPME_VIEW_LEAST_NS, all), all);
	gint64 from = view->from_ns + (gint64)(share * (span - wanted));

	tipme_view_set(view, from, from + (gint64)wanted);
}

void tipme_view_pan(TipmeView *view, double pixels, int width)
{
	gint64 span = view->to_ns - view->from_ns;
	gint64 by = width > 0 ? (gint64)(pixels * (double)span / width) : 0;

	tipme_view_set(view, view->from_ns + by, view->from_ns + by + span);
}

gint64 tipme_view_tick(const TipmeView *view, int most)
{
	static const int steps[] = { 1, 2, 5 };
	gint64 least = (view->to_ns - view->from_ns) / MAX(most, 1);

	for (gint64 decade = 1;; decade *= 10)
		for (guint i = 0; i < G_N_ELEMENTS(steps); i++)
			if (decade * steps[i] > least ||
			    decade >= G_GINT64_CONSTANT(100000000000000000))
				return decade * steps[i];
}
