// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pool that grows while it is written, with the writer, the reader and the thread that makes it
 * grow as they record for real. First in simulated time: what is kept at three and ten times the
 * rate, how large it becomes, and that it is small again later. Then in a storm: segments come and
 * go under writers and copies; no record may be torn, or be there twice. A segment that is gone is
 * overwritten at once, so that whoever still used it would be seen.
 */
#include "config.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define TEST_CPUS 256
#define TIPME_POOL_GROWS
#include "kernel_backend.h"
#include "kernel_growth.h"
#include "pool-test.h"

#define SECOND 1000000000ULL
#define MEGABYTE 1e6
#define POISON 0xa5

static struct tipme_pool_view view;
static struct tipme_growth growth;
static struct tipme_kernel_seen *scratch;
static uint64_t numbers[TEST_CPUS];
static unsigned int refuse; /* segments that may still be had; 0: as many as there are */
static int tests, failures;

static void ok(int good, const char *what, double seconds, double mb)
{
	failures += !good;
	printf("%s %d - %s (%.1f s, %.1f MB)\n", good ? "ok" : "not ok", ++tests, what, seconds,
	       mb);
	fflush(stdout);
}

static double size_mb(void)
{
	return (double)view.subs * view.subbuf_bytes / MEGABYTE;
}

/* As new memory of the kernel is: zero. */
static int segment_add(void *arg, unsigned int segment, void *at, size_t bytes)
{
	if (refuse && segment >= refuse)
		return -1;
	memset(at, 0, bytes);
	return 0;
}

static void segment_remove(void *arg, unsigned int segment, void *at, size_t bytes)
{
	memset(at, POISON, bytes);
}

static void begin(const struct tipme_pool_view *sizes, double window_s)
{
	uint32_t most = sizes->subs_most;

	pool_setup(most, sizes->subbuf_bytes, 0);
	/* The queue begins with what is there from the beginning. */
	memset(pool.cells + sizes->subs, 0, (most - sizes->subs) * sizeof(*pool.cells));
	pool.queue.tail = sizes->subs;
	view = *sizes;
	view.base = pool.base;
	view.start_ns = 1;
	growth = (struct tipme_growth){ .view = &view,
					.queue = &pool.queue,
					.spare = &pool.spare,
					.cells = pool.cells,
					.spare_cells = pool.spare_cells,
					.cell_mask = pool.cell_mask,
					.window_ns = (uint64_t)(window_s * SECOND),
					.add = segment_add,
					.remove = segment_remove };
	tipme_pool_seen_free(scratch);
	scratch = tipme_pool_seen_alloc(&view);
	memset(numbers, 0, sizeof(numbers));
	test_clock_ns = 1;
	refuse = 0;
}

static uint64_t taken(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < TEST_CPUS; i++)
		sum += __atomic_load_n(&pool.cpus[i].taken, __ATOMIC_RELAXED);
	return sum;
}

static double least_kept(unsigned int cpus)
{
	struct tipme_kernel_coverage cov[TEST_CPUS];
	double least = 1e9;

	tipme_pool_coverage(&view, scratch, cov, test_clock_ns);
	for (unsigned int i = 0; i < cpus; i++) {
		double s = (double)(test_clock_ns - cov[i].first_ns) / SECOND;

		least = s < least ? s : least;
	}
	return least;
}

struct seen_while {
	double kept, mb; /* the least seconds of any CPU, the most memory */
};

/*
 * So many records a second of the whole machine for so long; a look each `look_s`, at the end of
 * which something is seen. Before there are `window_s` since the beginning, all of them must be
 * kept.
 */
static struct seen_while run(unsigned int cpus, double rate, double seconds, double look_s,
			     double window_s)
{
	uint64_t end_ns = test_clock_ns + (uint64_t)(seconds * SECOND),
		 step_ns = (uint64_t)(SECOND / rate),
		 look_ns = test_clock_ns + (uint64_t)(look_s * SECOND);
	struct seen_while s = { 1e9, 0 };

	for (uint64_t n = 0; test_clock_ns < end_ns; n++, test_clock_ns += step_ns) {
		unsigned int cpu = (unsigned int)(n % cpus);

		test_write(cpu, test_clock_ns, numbers[cpu]++);
		if (test_clock_ns < look_ns)
			continue;
		look_ns += (uint64_t)(look_s * SECOND);
		double kept = least_kept(cpus), age = (double)test_clock_ns / SECOND;

		kept = age < window_s ? kept + window_s - age : kept;
		s.kept = kept < s.kept ? kept : s.kept;
		tipme_growth_look(&growth, taken(), test_clock_ns);
		s.mb = size_mb() > s.mb ? size_mb() : s.mb;
	}
	return s;
}

/*
 * A tenth of the time and of the memory of a machine: windows of 4.2 s, looks of 0.1 s.
 */
#define SCALE 10
#define WINDOW_S 42.0

static struct tipme_pool_view sizes_of(unsigned int cpus, uint64_t ram_bytes)
{
	const struct tipme_kernel_machine m = { cpus, cpus, ram_bytes, 1 };
	struct tipme_kernel_options opt = { .window_s = (unsigned int)WINDOW_S };
	struct tipme_pool_view v = { 0 };

	tipme_kernel_sizes_for(&v, &opt, &m);
	/* cut to a tenth, of segments as small */
	v.segment_subs = v.segment_subs >= SCALE ? v.segment_subs / SCALE : 1;
	v.subs = v.subs / SCALE > 3 * cpus ? v.subs / SCALE : 3 * cpus;
	v.subs_first = v.subs;
	v.subs_most = v.subs_most / SCALE > v.subs ? v.subs_most / SCALE : v.subs;
	return v;
}

static void rate_times(unsigned int times, unsigned int cpus, uint64_t ram_bytes)
{
	struct tipme_pool_view v = sizes_of(cpus, ram_bytes);
	/* what a pool that does not grow is made for, and what this one begins with */
	double rate = cpus > 2 ? 10000.0 * cpus : 20000, own = rate / 2;
	double window = WINDOW_S / SCALE;
	double most = (double)v.subs_most * v.subbuf_bytes / MEGABYTE, small, holds, want;
	struct seen_while s;
	char what[200];

	begin(&v, window);
	small = size_mb();
	run(cpus, own, 2 * window, 0.1, window);
	snprintf(what, sizeof(what), "%u CPUs: at its own rate the pool hardly grows", cpus);
	/* of a tenth, a segment and what each CPU fills are a larger part */
	ok(size_mb() <= 1.6 * small, what, least_kept(cpus) * SCALE, size_mb() * SCALE);

	run(cpus, rate, window, 0.1, window);
	s = run(cpus, rate, window, 0.1, window);
	snprintf(what, sizeof(what), "%u CPUs, at twice that: the seconds are kept", cpus);
	ok(s.kept >= 0.95 * window, what, s.kept * SCALE, s.mb * SCALE);

	s = run(cpus, times * rate, 3 * window, 0.1, window);
	/* what fits the share, without a sub-buffer of each CPU */
	holds = (v.subs_most - cpus) * (double)tipme_pool_slots / (times * rate);
	want = holds < window ? holds : window;
	snprintf(
		what, sizeof(what),
		"%u CPUs, suddenly %u times: the seconds are kept all the while, or what the share holds",
		cpus, times);
	/* before the first look some of them are overwritten */
	ok(s.kept >= 0.9 * want - 0.1 * times, what, s.kept * SCALE, s.mb * SCALE);
	snprintf(what, sizeof(what), "%u CPUs: within its share of memory", cpus);
	ok(s.mb <= most + 0.01, what, s.kept * SCALE, s.mb * SCALE);

	run(cpus, own / 8, 2 * window, 0.1, window);
	s = run(cpus, own / 8, (TIPME_GROWTH_CALM + 3 * window * SCALE) * 0.1, 0.1, window);
	snprintf(what, sizeof(what), "%u CPUs, quiet again: the seconds are kept while it shrinks",
		 cpus);
	ok(s.kept >= 0.95 * window, what, s.kept * SCALE, size_mb() * SCALE);
	/* a sub-buffer that a CPU is still filling holds its segment, until it is old enough */
	run(cpus, own / 8, 10 * window, 0.1, window);
	snprintf(what, sizeof(what), "%u CPUs: and soon it is as small as it was", cpus);
	ok(view.subs == view.subs_first, what, least_kept(cpus) * SCALE, size_mb() * SCALE);
	run(cpus, times * rate, 2 * window, 0.1, window);
	snprintf(what, sizeof(what), "%u CPUs: it grows once more", cpus);
	ok(times < 2 || view.subs > view.subs_first || v.subs_most == v.subs, what,
	   least_kept(cpus) * SCALE, size_mb() * SCALE);
}

/* Memory that is refused is no fault: it goes on as it is, and tries again. */
static void refused(void)
{
	struct tipme_pool_view v = sizes_of(2, 24ULL << 30);

	begin(&v, WINDOW_S / SCALE);
	refuse = 1;
	run(2, 100000, 10, 0.1, WINDOW_S / SCALE);
	ok(view.subs == view.subs_first + view.segment_subs && growth.refused,
	   "where memory is refused it stays as large as it is, and says so", least_kept(2) * SCALE,
	   size_mb() * SCALE);
	refuse = 0;
	run(2, 100000, 10, 0.1, WINDOW_S / SCALE);
	ok(!growth.refused && least_kept(2) >= 0.9 * WINDOW_S / SCALE,
	   "and grows when there is some again", least_kept(2) * SCALE, size_mb() * SCALE);
}

/* --- a storm --- */

#define STORM_WRITERS 3
#define STORM_SUBS 64
#define STORM_RECORDS 3000000ULL

static volatile int stop;

static void *storm_write(void *arg)
{
	uint32_t cpu = (uint32_t)(uintptr_t)arg;

	while (!stop)
		test_write(cpu, test_now(), numbers[cpu]++);
	return NULL;
}

struct storm {
	uint64_t records, torn, twice, copies;
	unsigned int grown, shrunk;
};

/* Each record of a copy proves itself; of one CPU none is there twice. */
static void storm_look(const struct tipme_kernel_copy *c, struct storm *s)
{
	static uint64_t seen[STORM_WRITERS][1 << 16];
	static uint64_t era;
	const char *p = c->buf, *end = p + c->len;

	era++;
	while (p < end) {
		const struct tipme_section *sec = (const void *)p;
		const struct test_record *r = (const void *)(sec + 1);

		for (uint64_t i = 0; i < sec->count; i++, r++) {
			uint64_t *cell = &seen[sec->cpu][r->number & 0xffff];
			uint64_t mark = era << 40 | (r->number & 0xffffffffff);

			s->torn += !test_holds(sec->cpu, r);
			s->twice += *cell == mark;
			*cell = mark;
		}
		s->records += sec->count;
		p += sizeof(*sec) + sec->body_len;
	}
	s->torn += c->torn;
	s->copies++;
}

static void *storm_copy(void *arg)
{
	struct storm *s = arg;
	struct tipme_kernel_copy c;

	if (tipme_pool_copy_alloc(&view, &c))
		abort();
	while (!stop) {
		tipme_growth_hold(&growth);
		tipme_pool_copy_begin(&view, &c, test_now(), 0);
		while (tipme_pool_copy_part(&view, &c, 100000))
			;
		tipme_pool_copy(&view, &c, test_now(), 1);
		tipme_growth_let_go(&growth);
		storm_look(&c, s);
	}
	tipme_kernel_copy_free(&c);
	return NULL;
}

/* Looks in which it is told that much, and then nothing, was written: it grows, and shrinks. */
static void storm(void)
{
	struct tipme_pool_view v = { .subs = STORM_SUBS,
				     .subs_first = STORM_SUBS,
				     .segment_subs = 16,
				     .subs_most = STORM_SUBS + 4 * 16,
				     .subbuf_bytes = 4096,
				     .cpus = STORM_WRITERS };
	pthread_t writer[STORM_WRITERS], copier;
	struct storm s = { 0 };

	begin(&v, 0);
	test_clock_ns = 0;
	for (uintptr_t i = 0; i < STORM_WRITERS; i++)
		pthread_create(&writer[i], NULL, storm_write, (void *)i);
	pthread_create(&copier, NULL, storm_copy, &s);
	while (s.grown < 200 || s.shrunk < 200 || taken() * tipme_pool_slots < STORM_RECORDS) {
		int changed = tipme_growth_look(&growth, growth.taken + 200, test_now());

		s.grown += changed > 0;
		for (int i = 0; i < 3 * TIPME_GROWTH_CALM; i++) {
			changed = tipme_growth_look(&growth, growth.taken, test_now());
			s.shrunk += changed < 0;
		}
	}
	stop = 1;
	for (int i = 0; i < STORM_WRITERS; i++)
		pthread_join(writer[i], NULL);
	pthread_join(copier, NULL);
	printf("# %" PRIu64 " records in %" PRIu64 " copies; grown %u times, shrunk %u\n",
	       s.records, s.copies, s.grown, s.shrunk);
	ok(s.copies && s.records && !s.torn,
	   "a storm: no record is torn while segments come and go", 0, size_mb());
	ok(!s.twice, "a storm: none is there twice", 0, size_mb());
	uint64_t lost = 0;

	for (int i = 0; i < STORM_WRITERS; i++)
		lost += pool.cpus[i].lost_nested;
	ok(!lost, "a storm: nobody was held up for long", 0, size_mb());
}

int main(void)
{
	rate_times(3, 2, 24ULL << 30);
	rate_times(10, 2, 4ULL << 30);
	rate_times(3, 64, 64ULL << 30);
	if (getenv("TIPME_TEST_ALL"))
		rate_times(3, 256, 512ULL << 30);
	refused();
	storm();
	printf("1..%d\n", tests);
	return failures != 0;
}
