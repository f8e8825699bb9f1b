// SPDX-License-Identifier: GPL-2.0-only
/* Measurements: their tables, curves and axes. */
#include "config.h"

#include <math.h>

#include <json-c/json.h>

#include "curves.h"
#include "facts.h"

#include "model_tests.h"

void test_charts(void)
{
	struct json_object *latency = json_tokener_parse(
		"{\"results\":[{\"block_s\":60,\"stages\":[{\"title\":\"whole\",\"max_us\":1000,"
		"\"percentiles\":[{},{},{\"us\":100},{\"us\":null}],\"worst\":[{\"us\":900},{\"us\":null}],"
		"\"histogram\":[[1,40],[10,0],[100,2]],\"above\":[[1,42],[100,2]],\"blocks\":[5,1000]}]}]}");
	struct json_object *profile = json_tokener_parse(
		"{\"answers\":[{\"app\":\"a\",\"kind\":\"key\",\"answered\":2,\"p50\":4000000,"
		"\"p99\":6000000,\"max_ns\":6000000,\"stages\":{\"read\":200000,\"sent\":100000,"
		"\"drawn\":8000000,\"finished\":1700000}},{\"app\":\"b\",\"kind\":\"key\",\"answered\":0}],"
		"\"kinds\":{\"key\":{\"limit_ms\":[50,150],\"histogram\":[{\"from_ms\":2,\"to_ms\":3,\"events\":7},"
		"{\"from_ms\":4,\"to_ms\":5,\"events\":1}],"
		"\"cumulative\":[{\"us\":2000,\"events\":7,\"ns\":14000000}],\"over_time\":[{\"minute\":0,\"max_ns\":3000000},"
		"{\"minute\":1,\"max_ns\":null}],\"each\":[{\"from_s\":0,\"events\":[[0,4],[9,6]]},"
		"{\"from_s\":8,\"events\":[[9,6]]}]}},\"cpu\":{\"cpus\":2,\"from_ns\":0,\"to_ns\":15000000,"
		"\"windows\":{\"10\":[5000000,10000000]}},"
		"\"operations\":[{\"operation\":\"o\",\"events\":9,\"cold\":1,\"median_ns\":2000000,"
		"\"max_ns\":6000000}],\"long_operations\":[{\"operation\":\"o\",\"response_ns\":6000000}],"
		"\"between\":[{\"ms\":50,\"events\":2,\"mean_s\":3.24,\"deviation_s\":null}],"
		"\"long_events\":[{\"response_ns\":200000000,\"minute\":3,\"app\":\"a\",\"kind\":\"key\","
		"\"verdict\":\"v\"}],\"machine\":{\"idle\":{\"busy\":0.025,\"interrupts\":"
		"{\"device\":10,\"timer\":100.5}},\"used\":null}}");
	g_autoptr(GPtrArray) charts = tipme_charts_of_measurement(latency);
	g_autoptr(GPtrArray) answers = tipme_charts_of_measurement(profile);
	g_autoptr(GPtrArray) facts = tipme_facts_of_measurement(latency);
	g_autoptr(GPtrArray) views = tipme_facts_of_measurement(profile);
	const TipmeChart *first = charts->len ? g_ptr_array_index(charts, 0) : NULL;
	const TipmeChart *key = answers->len ? g_ptr_array_index(answers, 0) : NULL;

	ok(charts->len == 3 && first->x.from == 1 && first->x.to == 100,
	   "three charts of latencies");
	ok(first->y.from == 1 && first->y.to == 100, "what there was none of widens no axis");
	ok(tipme_axis_place(&first->x, 10) == 0.5 && tipme_axis_place(&first->y, 0) == 0,
	   "ten is half way from one to a hundred; nothing stands at the foot");
	const TipmeCurve *bins = key ? g_ptr_array_index(key->curves, 0) : NULL;

	ok(bins && bins->points->len == 4 && g_array_index(bins->points, TipmePoint, 1).y == 0 &&
		   g_array_index(bins->points, TipmePoint, 3).x == 5,
	   "between bins and behind the last there is nothing");
	ok(answers->len == 7 && key->limits[0] == 50 && key->x.to == 1000,
	   "thresholds are in sight");
	const TipmeChart *close = answers->len == 7 ? g_ptr_array_index(answers, 5) : key;
	const TipmeChart *cpu = answers->len == 7 ? g_ptr_array_index(answers, 6) : key;
	const TipmeCurve *curve = g_ptr_array_index(close->curves, 0);

	ok(close->spikes && curve->points->len == 1 &&
		   g_array_index(curve->points, TipmePoint, 0).x == 1,
	   "each event, magnified: seconds of what is seen");
	curve = g_ptr_array_index(cpu->curves, 0);
	ok(cpu->curves->len == 1 && curve->points->len == 3 &&
		   g_array_index(curve->points, TipmePoint, 0).y == 25 &&
		   g_array_index(curve->points, TipmePoint, 1).y == 100 &&
		   g_array_index(curve->points, TipmePoint, 2).x == 15,
	   "CPU use: a window at the end may be shorter");
	is_text(tipme_chart_words(first),
		"latencies, from 1 to 100, over latency, us, from 1 to 100; curves: whole");
	is_lines(tipme_facts_dump(facts),
		 "How late\n99 %\t99.9 %\tlongest\tstage\n0.10 ms\t-\t1.0 ms\twhole\n"
		 "Exceeded once in\nan hour\ta day\ta week\tstage\n0.90 ms\t-\t-\twhole\n",
		 "its sums");
	is_lines(
		tipme_facts_dump(views),
		"How long answers took\nmedian\t99 %\tlongest\tapplication and input\n"
		"4.0 ms\t6.0 ms\t6.0 ms\ta, key\n-\t-\t-\tb, key\n"
		"Mean time of each stage\nread\tsent\tdrawn\tfinished\tapplication and input\n"
		"0.10 ms\t0.05 ms\t4.0 ms\t0.85 ms\ta, key\n"
		"Times between long answers\nanswers\tmean, s\tdeviation, s\tlonger than, ms\n"
		"2\t3.2\t-\t50\nThe longest answers\nanswer\tminute\tapplication, input and verdict\n"
		"200 ms\t3\ta, key: v\nLong answers by operation\nanswer\toperation\n6.0 ms\to\n"
		"Operations\nanswers\tcold\tmedian\tlongest\toperation\n9\t1\t2.0 ms\t6.0 ms\to\n"
		"What the machine did\nbusy, %\tdevice interrupts a second\t"
		"timer interrupts a second\tminutes in which\n2.50\t10.0\t100.5\tnobody touched it\n",
		"a profile: its tables, without what it has not");
	json_object_put(latency);
	json_object_put(profile);
}

/*
 * Each decade of a length: at most so many, and each 1, 2 or 5 times a power of ten from the next.
 */
void test_ticks(void)
{
	gboolean good = TRUE;

	for (double to = 1e-6; to < 1e9; to *= 1.7) {
		const TipmeAxis axis = { .from = 0, .to = to };
		g_autoptr(GArray) ticks = tipme_axis_ticks(&axis, 8);
		double step = ticks->len > 1 ? g_array_index(ticks, double, 1) : 0;
		double digit = step / pow(10, floor(log10(step) + 1e-9));

		good &= ticks->len >= 2 && ticks->len <= 8;
		good &= fabs(digit - 1) < 1e-6 || fabs(digit - 2) < 1e-6 || fabs(digit - 5) < 1e-6;
	}
	ok(good, "ticks of an axis in each decade");
}
