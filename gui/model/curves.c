// SPDX-License-Identifier: GPL-2.0-only
/* Curves from JSON: only what is drawn is kept, no figure is made here. */
#include "config.h"

#include <math.h>

#include "curves.h"
#include "json.h"
#include "numbers.h"
#include "language.h"

#define MOST_POINTS 100000 /* of one curve: a stranger's file may have more */

static void curve_free(gpointer data)
{
	TipmeCurve *curve = data;

	g_free(curve->name);
	g_array_unref(curve->points);
	g_free(curve);
}

static void chart_free(gpointer data)
{
	TipmeChart *chart = data;

	g_free(chart->title);
	g_free(chart->x.title);
	g_free(chart->y.title);
	g_ptr_array_unref(chart->curves);
	g_free(chart);
}

static TipmeChart *chart_new(char *title, const char *x, gboolean x_log, const char *y,
			     gboolean y_log)
{
	TipmeChart *chart = g_new0(TipmeChart, 1);

	chart->title = title;
	chart->x = (TipmeAxis){ .title = g_strdup(x), .log = x_log };
	chart->y = (TipmeAxis){ .title = g_strdup(y), .log = y_log };
	chart->curves = g_ptr_array_new_with_free_func(curve_free);
	chart->limits[0] = chart->limits[1] = NAN;
	return chart;
}

static TipmeCurve *curve_new(TipmeChart *chart, const char *name)
{
	TipmeCurve *curve = g_new0(TipmeCurve, 1);

	curve->name = g_strdup(name);
	curve->points = g_array_new(FALSE, FALSE, sizeof(TipmePoint));
	g_ptr_array_add(chart->curves, curve);
	return curve;
}

/* What cannot stand on an axis is left out; nothing at all stands at the foot of any. */
static void add_point(const TipmeChart *chart, TipmeCurve *curve, double x, double y)
{
	TipmePoint point = { x, y };

	if (!isfinite(x) || !isfinite(y) || (chart->x.log && x <= 0) || y < 0)
		return;
	if (curve->points->len < MOST_POINTS)
		g_array_append_val(curve->points, point);
}

static void widen(TipmeAxis *axis, double value, gboolean first)
{
	axis->from = first ? value : fmin(axis->from, value);
	axis->to = first ? value : fmax(axis->to, value);
}

/* Logarithmic axes begin and end at powers of ten, others at nothing. */
static void round_axis(TipmeAxis *axis)
{
	if (axis->log && axis->from > 0) {
		axis->from = pow(10, floor(log10(axis->from)));
		axis->to = pow(10, ceil(log10(axis->to)));
	} else
		axis->from = fmin(axis->from, 0);
	if (axis->to <= axis->from)
		axis->to = axis->log ? axis->from * 10 : axis->from + 1;
}

/* Gives the chart to the list if there is something in it. */
static void finish(GPtrArray *charts, TipmeChart *chart)
{
	gboolean any = FALSE, seen = FALSE;

	for (guint i = chart->curves->len; i-- > 0;) {
		const TipmeCurve *curve = g_ptr_array_index(chart->curves, i);

		for (guint j = 0; j < curve->points->len; j++, any = TRUE) {
			const TipmePoint *point = &g_array_index(curve->points, TipmePoint, j);

			widen(&chart->x, point->x, !any);
			if (point->y > 0 || !chart->y.log)
				widen(&chart->y, point->y, !seen);
			seen |= point->y > 0 || !chart->y.log;
		}
		if (!curve->points->len)
			g_ptr_array_remove_index(chart->curves, i);
	}
	for (guint i = 0; seen && i < G_N_ELEMENTS(chart->limits); i++)
		if (isfinite(chart->limits[i]))
			widen(chart->limits_on_y ? &chart->y : &chart->x, chart->limits[i], FALSE);
	round_axis(&chart->x);
	round_axis(&chart->y);
	if (seen)
		g_ptr_array_add(charts, chart);
	else
		chart_free(chart);
}

static double number(struct json_object *object, const char *name)
{
	struct json_object *value = tipme_json_get(object, name);

	return value ? json_object_get_double(value) : NAN;
}

static double element(struct json_object *list, guint place)
{
	struct json_object *value =
		place < tipme_json_length(list) ? json_object_array_get_idx(list, place) : NULL;

	return value ? json_object_get_double(value) : NAN;
}

/* --- profiles --- */

static void set_limits(TipmeChart *chart, struct json_object *view)
{
	struct json_object *limits = tipme_json_get(view, "limit_ms");

	for (guint i = 0; i < G_N_ELEMENTS(chart->limits); i++) {
		double limit = element(limits, i);

		chart->limits[i] = limit > 0 ? limit : NAN;
	}
}

static void add_histogram(GPtrArray *charts, struct json_object *view, const char *kind)
{
	TipmeChart *chart =
		chart_new(g_strdup_printf(_("How many answers took how long: %s"), kind),
			  _("answer, ms"), TRUE, _("answers"), TRUE);
	TipmeCurve *curve = curve_new(chart, kind);
	struct json_object *list = tipme_json_get(view, "histogram");
	double end = NAN;

	for (guint i = 0; i < tipme_json_length(list); i++) {
		struct json_object *bin = json_object_array_get_idx(list, i);

		/* Bins without an answer are not told: a stair would go on over them. */
		if (number(bin, "from_ms") > end * 1.001)
			add_point(chart, curve, end, 0);
		add_point(chart, curve, number(bin, "from_ms"), number(bin, "events"));
		end = number(bin, "to_ms");
	}
	add_point(chart, curve, end, 0);
	set_limits(chart, view);
	guint before = charts->len;

	finish(charts, chart);
	/* One answer stands above none. */
	if (charts->len > before && chart->y.from == 1)
		chart->y.from = 0.7;
}

static void add_cumulative(GPtrArray *charts, struct json_object *view, const char *kind)
{
	TipmeChart *chart = chart_new(g_strdup_printf(_("How much waiting up to there: %s"), kind),
				      _("answer, ms"), TRUE, _("waited, s"), FALSE);
	TipmeCurve *curve = curve_new(chart, kind);
	struct json_object *list = tipme_json_get(view, "cumulative");

	for (guint i = 0; i < tipme_json_length(list); i++) {
		struct json_object *point = json_object_array_get_idx(list, i);

		add_point(chart, curve, number(point, "us") / 1e3, number(point, "ns") / 1e9);
	}
	set_limits(chart, view);
	finish(charts, chart);
}

/* Shortest first: a straight line is even, a bend at the end is a few long ones. */
static void add_by_events(GPtrArray *charts, struct json_object *view, const char *kind)
{
	TipmeChart *chart = chart_new(g_strdup_printf(_("Waiting by number of answers: %s"), kind),
				      _("answers, shortest first"), FALSE, _("waited, s"), FALSE);
	TipmeCurve *curve = curve_new(chart, kind);
	struct json_object *list = tipme_json_get(view, "cumulative");

	for (guint i = 0; i < tipme_json_length(list); i++) {
		struct json_object *point = json_object_array_get_idx(list, i);

		add_point(chart, curve, number(point, "events"), number(point, "ns") / 1e9);
	}
	finish(charts, chart);
}

static void add_over_time(GPtrArray *charts, struct json_object *view, const char *kind)
{
	TipmeChart *chart =
		chart_new(g_strdup_printf(_("The longest answer of each minute: %s"), kind),
			  _("minute"), FALSE, _("answer, ms"), TRUE);
	TipmeCurve *curve = curve_new(chart, kind);
	struct json_object *list = tipme_json_get(view, "over_time");

	for (guint i = 0; i < tipme_json_length(list); i++) {
		struct json_object *minute = json_object_array_get_idx(list, i);

		add_point(chart, curve, number(minute, "minute"), number(minute, "max_ns") / 1e6);
	}
	set_limits(chart, view);
	chart->limits_on_y = TRUE;
	finish(charts, chart);
}

/* Figure 5: each event at its time; the whole, and magnified. */
static void add_each(GPtrArray *charts, struct json_object *view, const char *kind)
{
	struct json_object *shown = tipme_json_get(view, "each");

	for (guint i = 0; i < tipme_json_length(shown); i++) {
		struct json_object *part = json_object_array_get_idx(shown, i);
		struct json_object *list = tipme_json_get(part, "events");
		double from = number(part, "from_s");
		g_autofree char *axis = i ? g_strdup_printf(_("s from %.1f s on"), from)
					  : g_strdup(_("since the first event, s"));
		char *title = i ? g_strdup_printf(_("Two seconds around the longest: %s"), kind)
				: g_strdup_printf(_("Each event: %s"), kind);
		TipmeChart *chart = chart_new(title, axis, FALSE, _("answer, ms"), FALSE);
		TipmeCurve *curve = curve_new(chart, kind);

		for (guint j = 0; j < tipme_json_length(list); j++) {
			struct json_object *pair = json_object_array_get_idx(list, j);

			add_point(chart, curve, element(pair, 0) - from, element(pair, 1));
		}
		set_limits(chart, view);
		chart->limits_on_y = chart->spikes = TRUE;
		finish(charts, chart);
	}
}

/* Figure 4: windows of 1, 10 and 100 ms, each the share of all CPUs that was busy. */
static void add_cpu_use(GPtrArray *charts, struct json_object *cpu)
{
	struct json_object *windows = tipme_json_get(cpu, "windows");
	double cpus = number(cpu, "cpus");
	double all = (number(cpu, "to_ns") - number(cpu, "from_ns")) / 1e6, end = 0;
	TipmeChart *chart = chart_new(g_strdup(_("CPU use around the longest answer")), _("ms"),
				      FALSE, _("busy, %"), FALSE);

	for (int ms = 1; ms <= 100; ms *= 10, end = 0) {
		g_autofree char *field = g_strdup_printf("%d", ms);
		g_autofree char *name = g_strdup_printf("%d ms", ms);
		struct json_object *list = tipme_json_get(windows, field);
		TipmeCurve *curve = curve_new(chart, name);
		double share = NAN;

		for (guint i = 0; i < tipme_json_length(list); i++) {
			double begin = end;

			/* The last one may be shorter. */
			end = fmin(all, begin + ms);
			share = 100 * element(list, i) / (cpus * (end - begin) * 1e6);
			add_point(chart, curve, begin, share);
		}
		add_point(chart, curve, end, share);
	}
	finish(charts, chart);
}

/* --- latencies --- */

/* One curve for each stage, of pairs of numbers. */
static void add_stages(GPtrArray *charts, struct json_object *stages, const char *field,
		       char *title, const char *y)
{
	TipmeChart *chart = chart_new(title, _("latency, us"), TRUE, y, TRUE);

	for (guint i = 0; i < tipme_json_length(stages); i++) {
		struct json_object *stage = json_object_array_get_idx(stages, i);
		struct json_object *list = tipme_json_get(stage, field);
		TipmeCurve *curve = curve_new(chart, tipme_json_text(stage, "title"));

		for (guint j = 0; j < tipme_json_length(list); j++) {
			struct json_object *pair = json_object_array_get_idx(list, j);

			add_point(chart, curve, fmax(element(pair, 0), 0.5), element(pair, 1));
		}
	}
	finish(charts, chart);
}

static void add_blocks(GPtrArray *charts, struct json_object *measurement)
{
	TipmeChart *chart = chart_new(g_strdup(_("The longest latency, over time")), _("minute"),
				      FALSE, _("latency, us"), TRUE);
	struct json_object *stages = tipme_json_get(measurement, "stages");
	double seconds = number(measurement, "block_s");

	for (guint i = 0; i < tipme_json_length(stages); i++) {
		struct json_object *stage = json_object_array_get_idx(stages, i);
		struct json_object *list = tipme_json_get(stage, "blocks");
		TipmeCurve *curve = curve_new(chart, tipme_json_text(stage, "title"));

		for (guint j = 0; j < tipme_json_length(list); j++)
			add_point(chart, curve, j * seconds / 60, element(list, j));
	}
	finish(charts, chart);
}

GPtrArray *tipme_charts_of_measurement(struct json_object *object)
{
	struct json_object *measurement = tipme_json_measurement(object);
	GPtrArray *charts = g_ptr_array_new_with_free_func(chart_free);
	struct json_object *kinds = tipme_json_get(measurement, "kinds");
	struct json_object *stages = tipme_json_get(measurement, "stages");

	if (json_object_is_type(kinds, json_type_object)) {
		json_object_object_foreach(kinds, kind, view)
		{
			const char *input = tipme_text_input(kind);

			add_histogram(charts, view, input);
			add_cumulative(charts, view, input);
			add_by_events(charts, view, input);
			add_over_time(charts, view, input);
			add_each(charts, view, input);
		}
	}
	add_cpu_use(charts, tipme_json_get(measurement, "cpu"));
	if (!tipme_json_length(stages))
		return charts;
	add_stages(charts, stages, "histogram", g_strdup(_("How many latencies were how long")),
		   _("latencies"));
	add_stages(charts, stages, "above", g_strdup(_("How often a latency was longer")),
		   _("an hour, on one CPU"));
	add_blocks(charts, measurement);
	return charts;
}

/* --- axes --- */

double tipme_axis_place(const TipmeAxis *axis, double value)
{
	if (!axis->log)
		return (value - axis->from) / (axis->to - axis->from);
	if (value <= 0)
		return 0;
	return log10(value / axis->from) / log10(axis->to / axis->from);
}

static double step_of(double length, guint most)
{
	double power = pow(10, floor(log10(length / most)));

	for (;; power *= 10)
		for (const int *by = (const int[]){ 1, 2, 5, 0 }; *by; by++)
			if (length / (power * *by) <= most)
				return power * *by;
}

GArray *tipme_axis_ticks(const TipmeAxis *axis, guint most)
{
	GArray *ticks = g_array_new(FALSE, FALSE, sizeof(double));
	double first = axis->log ? round(log10(axis->from)) : axis->from;
	double last = axis->log ? round(log10(axis->to)) : axis->to;
	double step = step_of(last - first, MAX(most, 2) - 1);

	if (axis->log)
		step = fmax(1, ceil(step));
	for (double at = ceil(first / step) * step; at <= last + step / 1e6; at += step) {
		double value = axis->log ? pow(10, at) : at;

		g_array_append_val(ticks, value);
	}
	return ticks;
}

char *tipme_chart_words(const TipmeChart *chart)
{
	g_autoptr(GString) names = g_string_new(NULL);

	for (guint i = 0; i < chart->curves->len; i++)
		g_string_append_printf(names, "%s%s", i ? ", " : "",
				       ((TipmeCurve *)g_ptr_array_index(chart->curves, i))->name);
	return g_strdup_printf(_("%s, from %g to %g, over %s, from %g to %g; curves: %s"),
			       chart->y.title, chart->y.from, chart->y.to, chart->x.title,
			       chart->x.from, chart->x.to, names->str);
}
