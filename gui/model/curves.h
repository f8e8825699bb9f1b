/* SPDX-License-Identifier: GPL-2.0-only */
/* Distributions that verbs print as JSON, as curves over axes. Free of GTK. */
#ifndef TIPME_GUI_CURVES_H
#define TIPME_GUI_CURVES_H

#include <glib.h>
#include <json-c/json.h>

typedef struct {
	double x, y;
} TipmePoint;

typedef struct {
	char *name;
	GArray *points; /* TipmePoint, x ascending */
} TipmeCurve;

typedef struct {
	char *title; /* what an axis counts, with its unit */
	gboolean log;
	double from, to; /* what is to be seen; from < to */
} TipmeAxis;

typedef struct {
	char *title;
	TipmeAxis x, y;
	GPtrArray *curves; /* TipmeCurve: stairs */
	gboolean spikes; /* each point stands alone instead */
	double limits[2]; /* thresholds; NAN: none */
	gboolean limits_on_y;
} TipmeChart;

/*
 * Charts of `tipme latency report --json` or `tipme profile report --json`: how many were how long,
 * how much of it up to there or beyond, and how it went over time. Elements are TipmeChart; never
 * NULL. A chart has at least one curve with points.
 */
GPtrArray *tipme_charts_of_measurement(struct json_object *measurement);

/* Where a value stands on an axis: 0 at its beginning, 1 at its end. */
double tipme_axis_place(const TipmeAxis *axis, double value);

/*
 * Values for ticks, ascending, at most `most`: 1, 2, 5 times powers of ten, or powers of ten. Free.
 */
GArray *tipme_axis_ticks(const TipmeAxis *axis, guint most);

/* The chart in a sentence, for screen readers. Free it. */
char *tipme_chart_words(const TipmeChart *chart);

#endif
