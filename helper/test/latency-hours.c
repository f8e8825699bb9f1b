// SPDX-License-Identifier: GPL-2.0-only
/*
 * The longest latency of each block: as the distributions grow, block by block, in constant memory.
 */
#include "config.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "daemon-tap.h"
#include "latency_hours.h"

volatile sig_atomic_t tipme_latency_ended, tipme_latency_interrupted;

#define STAGE TIPME_STAGE_TOTAL_USER
#define SECOND 1000000000ULL

static struct tipme_latencies all;

static void count(unsigned int cpu, uint64_t us)
{
	all.stage[cpu][STAGE].measured = true;
	all.stage[cpu][STAGE].bucket[tipme_latency_bucket(us * 1000)]++;
}

static int64_t at(struct json_object *o, size_t i)
{
	struct json_object *max, *list;

	json_object_object_get_ex(o, "max_us", &max);
	json_object_object_get_ex(max, "total_user", &list);
	return i < json_object_array_length(list)
		       ? json_object_get_int64(json_object_array_get_idx(list, i))
		       : -1;
}

static int64_t number(struct json_object *o, const char *name)
{
	struct json_object *v;

	return json_object_object_get_ex(o, name, &v) ? json_object_get_int64(v) : -1;
}

static void some_minutes(void)
{
	struct tipme_latency_hours *h;
	struct json_object *o;

	ok(!tipme_hours_make(&h, 60), "made");
	count(0, 900);
	tipme_hours_take(h, &all, 1, 0);
	count(0, 5);
	count(1, 70);
	tipme_hours_take(h, &all, 60 * SECOND, 0);
	tipme_hours_take(h, &all, 120 * SECOND, 0);
	count(1, 100000);
	count(1, 3);
	tipme_hours_take(h, &all, 180 * SECOND, 0);
	count(0, 9);
	tipme_hours_take(h, &all, 190 * SECOND, 1);
	o = tipme_hours_json(h);
	ok(number(o, "seconds") == 60 && number(o, "last_s") == 10,
	   "three minutes and ten seconds");
	ok(at(o, 0) == 70, "the longest of both CPUs, and not what was before");
	ok(at(o, 1) == 0, "a minute without any");
	ok(at(o, 2) <= 100000 && at(o, 2) > 98000, "a long one, as exact as its bucket");
	ok(at(o, 3) == 9 && at(o, 4) == -1, "the rest of a minute");
	json_object_put(o);
	tipme_hours_free(h);
}

/* Two weeks: the longest of each stretch stays, and stretches become longer. */
static void two_weeks(void)
{
	struct tipme_latency_hours *h;
	struct json_object *o;
	const unsigned int minutes = 14 * 1440;
	int64_t s;
	int right = 1;

	tipme_hours_make(&h, 60);
	tipme_hours_take(h, &all, 1, 0);
	for (unsigned int m = 0; m < minutes; m++) {
		count(m & 1, m % 1000 == 999 ? 4000 : 1 + m % 7);
		tipme_hours_take(h, &all, (m + 1) * 60 * SECOND, 0);
	}
	o = tipme_hours_json(h);
	s = number(o, "seconds");
	ok(s > 60 && s % 60 == 0 && !(s / 60 & (s / 60 - 1)),
	   "blocks have become longer, by doubling");
	for (size_t i = 0; at(o, i) >= 0; i++) {
		uint64_t first = i * (uint64_t)s / 60, last = first + (uint64_t)s / 60;

		right &= at(o, i) == (last / 1000 > first / 1000 ? 4000 : 7);
	}
	ok(right, "... each with the longest in it");
	ok(at(o, TIPME_LATENCY_BLOCKS / 2 - 2) > 0 && at(o, TIPME_LATENCY_BLOCKS) < 0,
	   "... and never more than there is room for");
	json_object_put(o);
	tipme_hours_free(h);
}

/* Of a latency in ns: mostly tens of microseconds, one of 100,000 a stall of up to 30 ms. */
static uint64_t drawn(void)
{
	static uint64_t state = 1999;

	state = state * 6364136223846793005 + 1442695040888963407;
	return (state >> 33) % 100000 ? 20000 + (state >> 44) % 50000
				      : 1000000 + (state >> 40) % 29000000;
}

/* What a result takes while it is there to be saved, in bytes. */
static size_t in_use(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/*
 * Ten hours at 1 kHz on two CPUs, replayed: each latency is counted as if it had been measured,
 * each minute is saved. What is saved at the end has all of them, and took no more room than the
 * first hour's but for the longest of each minute.
 */
static void ten_hours(void)
{
	const struct tipme_latency_options opt = { .period_us = 1000, .every_s = 60 };
	const unsigned int minutes = 600, of_each = 60000;
	size_t after_hour = 0, after_all = 0, each = 0, short_by = 0;
	uint64_t longest_ns = 0, sum = 0, buckets = 0;
	struct tipme_latency_hours *h;
	int64_t longest_us = 0;

	for (unsigned int i = 0; i < all.cpus; i++)
		memset(all.stage[i], 0, TIPME_ALL_STAGES * sizeof(*all.stage[0]));
	all.source = "user";
	tipme_hours_make(&h, 60);
	tipme_hours_take(h, &all, 1, 0);
	for (unsigned int m = 1; m <= minutes; m++) {
		struct json_object *o, *blocks;

		for (unsigned int n = 0; n < of_each * all.cpus; n++) {
			struct tipme_distribution *d = &all.stage[n % all.cpus][STAGE];
			uint64_t ns = drawn();

			d->measured = true;
			tipme_distribution_count(d, ns, n, 0);
			longest_ns = ns > longest_ns ? ns : longest_ns;
		}
		tipme_hours_take(h, &all, m * 60 * SECOND, 0);
		o = tipme_latencies_json(&all, &opt);
		blocks = tipme_hours_json(h);
		after_all = in_use();
		after_hour = m == 60 ? after_all : after_hour;
		for (size_t i = 0; m == minutes && at(blocks, i) >= 0; i++) {
			each++;
			longest_us = at(blocks, i) > longest_us ? at(blocks, i) : longest_us;
		}
		short_by += number(o, "duration_s") < 1;
		json_object_put(o);
		json_object_put(blocks);
	}
	for (unsigned int i = 0; i < all.cpus; i++) {
		sum += all.stage[i][STAGE].count;
		for (unsigned int b = 0; b < TIPME_LATENCY_BUCKETS; b++)
			buckets += all.stage[i][STAGE].bucket[b];
	}
	ok(sum == (uint64_t)minutes * of_each * all.cpus && buckets == sum && !short_by,
	   "ten hours: each of 72 million latencies is in a bucket");
	ok(each == minutes, "... and each minute has its longest");
	/* As exact as its bucket: a 64th. */
	ok((uint64_t)longest_us <= longest_ns / 1000 &&
		   (uint64_t)longest_us + longest_us / 64 + 1 >= longest_ns / 1000,
	   "... the longest of which is the longest of all");
	printf("# in use with a result: %zu bytes after an hour, %zu after ten\n", after_hour,
	       after_all);
	/* The longest of 540 more minutes, and buckets of stalls that the first hour had none of.
	 */
	ok(after_all <= after_hour + (512 << 10),
	   "... in at most half a megabyte more than after an hour");
	tipme_hours_free(h);
}

int main(void)
{
	all.cpus = 2;
	for (unsigned int i = 0; i < all.cpus; i++)
		all.stage[i] = calloc(TIPME_ALL_STAGES, sizeof(*all.stage[0]));
	all.place = calloc(TIPME_LATENCY_PLACES, sizeof(*all.place));
	some_minutes();
	two_weeks();
	ten_hours();
	for (unsigned int i = 0; i < all.cpus; i++)
		free(all.stage[i]);
	free(all.place);
	return tap_end();
}
