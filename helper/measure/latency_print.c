// SPDX-License-Identifier: GPL-2.0-only
/*
 * A result of tipme latency as text: a table of the stages, their distribution on logarithmic axes,
 * and the causes of the latest.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "latency.h"

#define ROWS 33 /* doublings of a microsecond: up to more than an hour */
#define COLUMN 13 /* of a stage in the histogram */
#define FUNCTIONS 5 /* shown of a cause */
#define PLACES 12 /* shown of all */
#define SHOWN 5 /* causes */

static const char *const titles[TIPME_ALL_STAGES] = {
	"interrupt",   "deferred work", "both",		 "high thread", "medium thread",
	"user thread", "whole, high",	"whole, medium", "whole, user", "entry",
	"waking",      "switch to it",	"to user space",
};

/* As they follow each other. */
static const int order[TIPME_ALL_STAGES] = {
	TIPME_STAGE_ENTRY,	  TIPME_STAGE_IRQ,	  TIPME_STAGE_DEFERRED,
	TIPME_STAGE_IRQ_DEFERRED, TIPME_STAGE_WAKING,	  TIPME_STAGE_SWITCH,
	TIPME_STAGE_RETURN,	  TIPME_STAGE_HIGH,	  TIPME_STAGE_MEDIUM,
	TIPME_STAGE_USER,	  TIPME_STAGE_TOTAL_HIGH, TIPME_STAGE_TOTAL_MEDIUM,
	TIPME_STAGE_TOTAL_USER,
};

static uint64_t get(struct json_object *o, const char *name)
{
	struct json_object *v;

	return json_object_object_get_ex(o, name, &v) && json_object_get_int64(v) > 0
		       ? (uint64_t)json_object_get_int64(v)
		       : 0;
}

static const char *get_text(struct json_object *o, const char *name)
{
	struct json_object *v;

	return json_object_object_get_ex(o, name, &v) && json_object_is_type(v, json_type_string)
		       ? json_object_get_string(v)
		       : "?";
}

static struct json_object *get_list(struct json_object *o, const char *name)
{
	struct json_object *v;

	return json_object_object_get_ex(o, name, &v) && json_object_is_type(v, json_type_array)
		       ? v
		       : NULL;
}

/*
 * Adds one stage of one CPU. A bucket's bound need not be one of ours: it is counted where it
 * belongs.
 */
static int stage_add(struct tipme_distribution *all, struct json_object *o)
{
	int stage = tipme_latency_stage_of(get_text(o, "stage"));
	struct json_object *buckets = get_list(o, "buckets");
	struct tipme_distribution *d = &all[stage < 0 ? 0 : stage];
	uint64_t count = 0, min = get(o, "min_ns"), max = get(o, "max_ns");

	if (stage < 0 || !buckets)
		return -EINVAL;
	for (size_t i = 0; i < json_object_array_length(buckets); i++) {
		struct json_object *pair = json_object_array_get_idx(buckets, i);
		int64_t us, n;

		if (!json_object_is_type(pair, json_type_array) ||
		    json_object_array_length(pair) != 2)
			return -EINVAL;
		us = json_object_get_int64(json_object_array_get_idx(pair, 0));
		n = json_object_get_int64(json_object_array_get_idx(pair, 1));
		if (us < 0 || us > INT64_MAX / 1000 || n < 0)
			return -EINVAL;
		d->bucket[tipme_latency_bucket((uint64_t)us * 1000)] += (uint64_t)n;
		count += (uint64_t)n;
	}
	if (count && (!d->count || min < d->min_ns))
		d->min_ns = min;
	d->max_ns = max > d->max_ns ? max : d->max_ns;
	d->measured = true;
	d->count += count;
	d->sum_ns += get(o, "sum_ns");
	d->over += get(o, "over");
	d->skipped += get(o, "skipped");
	return 0;
}

/* The upper bound of the bucket below which lies this share, in us; never more than the maximum. */
static double quantile_us(const struct tipme_distribution *d, double share)
{
	uint64_t below = 0, wanted = (uint64_t)ceil((double)d->count * share);

	for (unsigned int i = 0; i < TIPME_LATENCY_BUCKETS - 1; i++) {
		below += d->bucket[i];
		if (below >= wanted)
			return fmin((double)tipme_latency_bucket_us(i + 1),
				    (double)d->max_ns / 1000);
	}
	return (double)d->max_ns / 1000;
}

static void print_table(const struct tipme_distribution *all)
{
	printf("us             count      min      mean     99 %%   99.9 %%       max    over  skipped\n");
	for (int i = 0; i < TIPME_ALL_STAGES; i++) {
		int s = order[i];
		const struct tipme_distribution *d = &all[s];

		if (!d->measured)
			continue;
		printf("%-13s %6" PRIu64 " %8.1f %9.1f %8.0f %8.0f %9.1f %7" PRIu64 " %8" PRIu64
		       "\n",
		       titles[s], d->count, (double)d->min_ns / 1000,
		       d->count ? (double)d->sum_ns / 1000 / (double)d->count : 0,
		       quantile_us(d, 0.99), quantile_us(d, 0.999), (double)d->max_ns / 1000,
		       d->over, d->skipped);
	}
}

/* Row 0 is below 1 us, row r begins at 2^(r-1) us. */
static void rows_fill(const struct tipme_distribution *d, uint64_t *row)
{
	for (unsigned int i = 0; i < TIPME_LATENCY_BUCKETS; i++) {
		uint64_t us = tipme_latency_bucket_us(i);
		unsigned int r = us ? (unsigned int)(64 - __builtin_clzll(us)) : 0;

		row[r < ROWS ? r : ROWS - 1] += d->bucket[i];
	}
}

/*
 * One star for each power of ten: what happened once still shows beside what happened a million
 * times.
 */
static void print_cell(uint64_t n)
{
	char stars[COLUMN + 1] = "";
	unsigned int len = 0;

	for (uint64_t k = n; k && len < COLUMN - 1; k /= 10)
		stars[len++] = '*';
	stars[len] = '\0';
	printf(" %-*s", COLUMN, stars);
}

static void print_histogram(const struct tipme_distribution *all)
{
	static const int shown[] = { TIPME_STAGE_IRQ, TIPME_STAGE_DEFERRED, TIPME_STAGE_HIGH,
				     TIPME_STAGE_MEDIUM, TIPME_STAGE_TOTAL_USER };
	uint64_t row[5][ROWS] = { { 0 } };
	unsigned int first = ROWS, last = 0;

	for (unsigned int i = 0; i < 5; i++) {
		rows_fill(&all[shown[i]], row[i]);
		for (unsigned int r = 0; r < ROWS; r++) {
			if (!row[i][r])
				continue;
			first = r < first ? r : first;
			last = r > last ? r : last;
		}
	}
	printf("\nfrom us   ");
	for (unsigned int i = 0; i < 5; i++)
		if (all[shown[i]].measured)
			printf(" %-*s", COLUMN, titles[shown[i]]);
	printf("\n");
	for (unsigned int r = first; r <= last; r++) {
		printf("%9" PRIu64 " ", r ? (uint64_t)1 << (r - 1) : 0);
		for (unsigned int i = 0; i < 5; i++)
			if (all[shown[i]].measured)
				print_cell(row[i][r]);
		printf("\n");
	}
	printf("each * a power of ten\n");
}

struct function {
	char name[900];
	unsigned int count, irqs_off;
};

static int most_first(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

/* Adds a frame's function, without its offset, with its module. */
static void frame_add(char *name, size_t len, const char *before, struct json_object *frame)
{
	const char *text = frame ? json_object_get_string(frame) : NULL;
	size_t have = strlen(name);

	text = text ? text : "?";
	snprintf(name + have, len - have, "%s%.*s%.40s", before,
		 (int)(strcspn(text, "+") < 60 ? strcspn(text, "+") : 60), text,
		 strchr(text, ' ') ? strchr(text, ' ') : "");
}

/*
 * Where the sample was: the innermost function, who called it, and who that. Whose code, where it
 * was not the kernel's.
 */
static void sample_where(struct json_object *s, char *name, size_t len)
{
	struct json_object *stack = get_list(s, "stack"), *user;
	size_t frames = stack ? json_object_array_length(stack) : 0;

	name[0] = '\0';
	if (json_object_object_get_ex(s, "user", &user) && json_object_get_boolean(user))
		snprintf(name, len, "%.16s, its own code", get_text(s, "comm"));
	else if (!frames)
		snprintf(name, len, "?");
	for (size_t i = 0; !name[0] || (i && i < 3); i++) {
		if (i >= frames)
			break;
		frame_add(name, len, i ? " < " : "", json_object_array_get_idx(stack, i));
	}
}

static unsigned int functions_count(struct json_object *samples, struct function *f,
				    unsigned int max)
{
	unsigned int n = 0;

	for (size_t i = 0; i < json_object_array_length(samples); i++) {
		struct json_object *s = json_object_array_get_idx(samples, i), *off;
		char name[900];
		unsigned int k = 0;

		sample_where(s, name, sizeof(name));
		while (k < n && strcmp(f[k].name, name))
			k++;
		if (k == max)
			continue;
		if (k == n) {
			n++;
			f[k] = (struct function){ 0 };
			snprintf(f[k].name, sizeof(f[k].name), "%s", name);
		}
		f[k].count++;
		f[k].irqs_off += json_object_object_get_ex(s, "irqs_off", &off) &&
				 json_object_get_boolean(off);
	}
	qsort(f, n, sizeof(*f), most_first);
	return n;
}

static void print_cause(struct json_object *c, bool staged)
{
	struct json_object *samples = get_list(c, "samples");
	uint64_t irq = get(c, "irq_ns"), deferred = get(c, "deferred_ns"),
		 thread = get(c, "thread_ns");
	static struct function f[256];
	unsigned int n = samples ? functions_count(samples, f, 256) : 0;

	printf("  %.3f ms on CPU %" PRIu64 ": ", (double)(irq + deferred + thread) / 1e6,
	       get(c, "cpu"));
	if (staged)
		printf("interrupt %.3f, deferred work %.3f, ", (double)irq / 1e6,
		       (double)deferred / 1e6);
	printf("%s thread %.3f; %zu samples\n", get_text(c, "thread"), (double)thread / 1e6,
	       samples ? json_object_array_length(samples) : 0);
	for (unsigned int i = 0; i < n && i < FUNCTIONS; i++)
		printf("    %5u  %s%s\n", f[i].count, f[i].name,
		       f[i].irqs_off * 2 > f[i].count ? " (interrupts off)" : "");
}

/* The places with most samples, of all latencies over the threshold. */
static void print_places(struct json_object *o)
{
	struct json_object *places;
	struct function *f;
	size_t n = 0;

	if (!json_object_object_get_ex(o, "places", &places) ||
	    !json_object_is_type(places, json_type_object) || !json_object_object_length(places))
		return;
	f = calloc((size_t)json_object_object_length(places), sizeof(*f));
	if (!f)
		return;
	json_object_object_foreach(places, name, one)
	{
		snprintf(f[n].name, sizeof(f[n].name), "%s", name);
		f[n].count = (unsigned int)get(one, "samples");
		f[n++].irqs_off = (unsigned int)get(one, "irqs_off");
	}
	qsort(f, n, sizeof(*f), most_first);
	printf("\nwhere the CPU was until they came: %" PRIu64 " samples of %" PRIu64
	       " latencies over the threshold (by %s)\n",
	       get(o, "samples_seen"), get(o, "causes_seen"), get_text(o, "sampler"));
	for (size_t i = 0; i < n && i < PLACES; i++)
		printf("    %5u  %s%s\n", f[i].count, f[i].name,
		       f[i].irqs_off * 2 > f[i].count ? " (interrupts off)" : "");
	if (get(o, "samples_user"))
		printf("    %5" PRIu64 "  code of processes\n", get(o, "samples_user"));
	free(f);
}

static void print_causes(struct json_object *o, bool staged)
{
	struct json_object *causes = get_list(o, "causes");
	size_t n = causes ? json_object_array_length(causes) : 0;

	if (!n)
		return;
	print_places(o);
	printf("\nthe longest\n");
	for (size_t i = 0; i < n && i < SHOWN; i++)
		print_cause(json_object_array_get_idx(causes, i), staged);
}

int tipme_latency_print(struct json_object *o, char *why, size_t why_len)
{
	struct json_object *stages = get_list(o, "stages");
	struct tipme_distribution *all;
	int err = 0;

	if (strcmp(get_text(o, "format"), "tipme latency") || get(o, "version") != 1 || !stages) {
		snprintf(why, why_len, "not a result of tipme latency record, or of a newer one");
		return -EINVAL;
	}
	all = calloc(TIPME_ALL_STAGES, sizeof(*all));
	for (size_t i = 0; all && i < json_object_array_length(stages) && !err; i++) {
		err = stage_add(all, json_object_array_get_idx(stages, i));
		if (err)
			snprintf(why, why_len, "stage %zu of the result cannot be read", i);
	}
	if (all && !err) {
		printf("kernel %s, source %s, timer every %" PRIu64 " us\n\n",
		       get_text(o, "kernel"), get_text(o, "source"), get(o, "period_us"));
		print_table(all);
		if (!all[TIPME_STAGE_IRQ].measured)
			printf("not measured without tipme.ko: interrupt, deferred work, kernel threads; as root the first two are by tracing programs\n");
		print_histogram(all);
		print_causes(o, all[TIPME_STAGE_IRQ].measured);
	}
	free(all);
	return all ? err : -ENOMEM;
}
