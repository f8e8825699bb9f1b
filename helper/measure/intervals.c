// SPDX-License-Identifier: GPL-2.0-only
/* Intervals between time stamps: kept, counted, shown. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "intervals.h"

#define BUCKET_NS 10000000ULL
#define BAR_PER_DECADE 12

int tipme_intervals_init(struct tipme_intervals *all, unsigned int room, uint64_t nominal_ns)
{
	*all = (struct tipme_intervals){ .at = malloc((size_t)room * sizeof(*all->at)),
					 .room = room,
					 .nominal_ns = nominal_ns };
	if (!all->at)
		return -ENOMEM;
	memset(all->at, 0, (size_t)room * sizeof(*all->at));
	return 0;
}

void tipme_intervals_free(struct tipme_intervals *all)
{
	free(all->at);
	*all = (struct tipme_intervals){ 0 };
}

static uint64_t length(const struct tipme_interval *i)
{
	return i->to_ns - i->from_ns;
}

uint64_t tipme_intervals_add(struct tipme_intervals *all, uint64_t from_ns, uint64_t to_ns)
{
	if (all->count < all->room)
		all->at[all->count++] = (struct tipme_interval){ from_ns, to_ns };
	return to_ns - from_ns;
}

static int by_length(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sorted lengths; the caller frees. NULL without intervals or memory. */
static uint64_t *sorted(const struct tipme_intervals *all)
{
	uint64_t *lengths = all->count ? malloc(all->count * sizeof(*lengths)) : NULL;

	for (unsigned int i = 0; lengths && i < all->count; i++)
		lengths[i] = length(&all->at[i]);
	if (lengths)
		qsort(lengths, all->count, sizeof(*lengths), by_length);
	return lengths;
}

uint64_t tipme_intervals_quantile(const struct tipme_intervals *all, double share)
{
	uint64_t *lengths = sorted(all), found;
	double place = ceil(share * all->count) - 1;

	if (!lengths)
		return 0;
	found = lengths[place < 0 ? 0 : place >= all->count ? all->count - 1 : (unsigned int)place];
	free(lengths);
	return found;
}

const struct tipme_interval *tipme_intervals_worst(const struct tipme_intervals *all)
{
	const struct tipme_interval *worst = NULL;

	for (unsigned int i = 0; i < all->count; i++)
		if (!worst || length(&all->at[i]) > length(worst))
			worst = &all->at[i];
	return worst;
}

/* Calls fn for each bucket that is not empty, shortest first. */
static void each_bucket(const struct tipme_intervals *all,
			void (*fn)(void *arg, uint64_t from_ms, unsigned int count), void *arg)
{
	uint64_t *lengths = sorted(all);

	for (unsigned int i = 0, n; lengths && i < all->count; i += n) {
		uint64_t bucket = lengths[i] / BUCKET_NS;

		for (n = 1; i + n < all->count && lengths[i + n] / BUCKET_NS == bucket; n++)
			;
		fn(arg, bucket * (BUCKET_NS / 1000000), n);
	}
	free(lengths);
}

static void print_bucket(void *arg, uint64_t from_ms, unsigned int count)
{
	int bar = 1 + (int)(log10(count) * BAR_PER_DECADE);

	fprintf(arg, "%6llu ms %7u ", (unsigned long long)from_ms, count);
	for (int i = 0; i < bar; i++)
		fputc('#', arg);
	fputc('\n', arg);
}

void tipme_intervals_print(const struct tipme_intervals *all, FILE *out)
{
	fprintf(out, "intervals from  count (buckets of 10 ms; the bar is logarithmic)\n");
	each_bucket(all, print_bucket, out);
}

static void add_bucket(void *arg, uint64_t from_ms, unsigned int count)
{
	struct json_object *bucket = json_object_new_object();

	json_object_object_add(bucket, "from_ms", json_object_new_int64((int64_t)from_ms));
	json_object_object_add(bucket, "count", json_object_new_int64(count));
	json_object_array_add(arg, bucket);
}

static void add_ns(struct json_object *to, const char *key, uint64_t ns)
{
	json_object_object_add(to, key, json_object_new_int64((int64_t)ns));
}

struct json_object *tipme_intervals_json(const struct tipme_intervals *all)
{
	const struct tipme_interval *worst = tipme_intervals_worst(all);
	struct json_object *o = json_object_new_object(), *buckets = json_object_new_array();

	add_ns(o, "count", all->count);
	add_ns(o, "nominal_ns", all->nominal_ns);
	add_ns(o, "median_ns", tipme_intervals_quantile(all, 0.5));
	add_ns(o, "p90_ns", tipme_intervals_quantile(all, 0.9));
	add_ns(o, "p99_ns", tipme_intervals_quantile(all, 0.99));
	if (worst) {
		add_ns(o, "max_ns", length(worst));
		add_ns(o, "worst_from_ns", worst->from_ns);
		add_ns(o, "worst_to_ns", worst->to_ns);
	}
	each_bucket(all, add_bucket, buckets);
	json_object_object_add(o, "bucket_ms", json_object_new_int64(BUCKET_NS / 1000000));
	json_object_object_add(o, "histogram", buckets);
	return o;
}
