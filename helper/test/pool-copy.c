// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a copy of the pool says it covers, where writers were interrupted at the worst of times:
 * told step by step, in simulated time. pool-stress.c has the same in a storm, where it comes up
 * now and then.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "pool-test.h"

#define SUBS 8
#define START_NS 1000

static struct tipme_pool_view view;
static struct tipme_kernel_copy copy;
static uint64_t written;
static int tests, failures;

static void ok(int good, const char *what)
{
	failures += !good;
	printf("%s %d - %s\n", good ? "ok" : "not ok", ++tests, what);
}

static void begin(void)
{
	if (copy.buf)
		tipme_kernel_copy_free(&copy);
	pool_setup(SUBS, 4096, 7);
	test_clock_ns = START_NS;
	written = 0;
	view = pool_view(1, START_NS);
	if (tipme_pool_copy_alloc(&view, &copy))
		abort();
}

/* Records one nanosecond apart, from the next on. */
static void write_records(uint64_t n)
{
	while (n--)
		test_write(0, ++test_clock_ns, written++);
}

/* A writer that has its slot, and is interrupted before it has filled it. */
struct interrupted {
	struct test_record *slot;
	uint64_t ts_ns, number;
	uint16_t gen;
};

static struct interrupted interrupted_begin(void)
{
	struct interrupted w = { .ts_ns = ++test_clock_ns, .number = written++ };

	w.slot = tipme_pool_begin(&pool.cpus[0], 0, &w.gen);
	return w;
}

static void interrupted_end(struct interrupted *w)
{
	test_fill(0, w->ts_ns, w->number, w->slot, w->gen);
	tipme_pool_end(&pool.cpus[0]);
}

/*
 * Numbers of records that are missing in the copy although it says that it covers their time; ~0 if
 * one is there twice.
 */
static uint64_t missing(void)
{
	const char *p = copy.buf, *end = p + copy.len;
	unsigned char *seen = calloc(written, 1);
	uint64_t n = 0;

	while (p < end) {
		const struct tipme_section *sec = (const void *)p;
		const struct test_record *rec = (const void *)(sec + 1);

		for (uint64_t i = 0; i < sec->count; i++)
			n = !test_holds(0, &rec[i]) || seen[rec[i].number]++ ? ~0ULL : n;
		p += sizeof(*sec) + sec->body_len;
	}
	/* The number is the time, less START_NS + 1. */
	for (uint64_t i = 0; i < written && n != ~0ULL; i++)
		n += !seen[i] && START_NS + 1 + i > copy.coverage[0].first_ns &&
		     START_NS + 1 + i <= copy.coverage[0].last_ns;
	free(seen);
	return n;
}

/*
 * A writer asks the clock, then an interrupt writes for long, then the writer turns: what is
 * overwritten is newer than its record.
 */
static void late_turner(void)
{
	uint64_t slots, old_ns;

	begin();
	slots = tipme_pool_slots;
	write_records(slots - 3);
	old_ns = ++test_clock_ns;
	written++;
	write_records(2 * slots + 3); /* to the last slot of the third */
	test_write(0, old_ns, slots - 3);
	write_records(SUBS * slots - 10); /* all before the fourth is gone */
	tipme_pool_copy(&view, &copy, test_clock_ns, 0);
	ok(copy.coverage[0].first_ns >= START_NS + 3 * slots,
	   "a sub-buffer begins when it is taken, not when the first record in it does");
	ok(!missing(), "and nothing that is covered is missing");
}

static void hole(void)
{
	uint64_t slots;
	struct interrupted w;

	begin();
	slots = tipme_pool_slots;
	write_records(10);
	w = interrupted_begin();
	write_records(slots + 20);
	tipme_pool_copy(&view, &copy, test_clock_ns, 0);
	ok(copy.coverage[0].first_ns > START_NS + slots - 1 && !missing(),
	   "a record in the making: what comes after its sub-buffer is covered");
	interrupted_end(&w);
	write_records(slots);
	ok(!tipme_pool_copy(&view, &copy, test_clock_ns, 1) && !copy.cut &&
		   copy.coverage[0].last_ns == test_clock_ns,
	   "when it has ended, the copy goes on");
	ok(copy.coverage[0].first_ns == START_NS, "and covers all that it would have without");
	ok(!missing() && copy.records == written, "nothing is missing, nothing twice");
}

static void two_holes(void)
{
	uint64_t slots;
	struct interrupted a, b;

	begin();
	slots = tipme_pool_slots;
	a = interrupted_begin();
	write_records(slots + 5);
	b = interrupted_begin();
	write_records(slots);
	tipme_pool_copy(&view, &copy, test_clock_ns, 0);
	ok(copy.coverage[0].first_ns > START_NS + 2 * slots - 1 && !missing(),
	   "two in the making: what comes after both is covered");
	interrupted_end(&b);
	tipme_pool_copy(&view, &copy, test_clock_ns, 1);
	ok(copy.coverage[0].first_ns > START_NS + 2 * slots - 1 && !missing(),
	   "while one is, the same");
	interrupted_end(&a);
	write_records(1);
	tipme_pool_copy(&view, &copy, test_clock_ns, 1);
	ok(copy.coverage[0].first_ns == START_NS && !missing() && copy.records == written,
	   "when both have ended, all is");
	write_records(slots);
	tipme_pool_copy(&view, &copy, test_clock_ns, 1);
	ok(!copy.cut && copy.coverage[0].first_ns == START_NS && !missing() &&
		   copy.records == written,
	   "and so it stays");
}

/* What was overwritten between two looks is gone, whatever has ended late. */
static void hole_then_gap(void)
{
	uint64_t slots, seen_ns;
	struct interrupted w;

	begin();
	slots = tipme_pool_slots;
	write_records(10);
	w = interrupted_begin();
	write_records(slots);
	tipme_pool_copy(&view, &copy, test_clock_ns, 0);
	seen_ns = test_clock_ns;
	interrupted_end(&w);
	write_records((SUBS + 2) * slots);
	ok(tipme_pool_copy(&view, &copy, test_clock_ns, 1) && copy.cut,
	   "what was overwritten meanwhile ends the copy");
	ok(copy.coverage[0].last_ns <= seen_ns && !missing(), "where it was");
}

/*
 * An interrupt that writes whole sub-buffers: they wait for whom it interrupted, and are
 * overwritten newest first. What is covered is there all the time.
 */
static void long_interrupt(void)
{
	uint64_t lacking = 0, began_ns = START_NS, back = 0;
	struct interrupted w;

	begin();
	write_records(10);
	w = interrupted_begin();
	write_records(3 * tipme_pool_slots);
	interrupted_end(&w);
	for (int i = 0; i < 3 * SUBS; i++) {
		write_records(tipme_pool_slots / 2);
		tipme_pool_copy(&view, &copy, test_clock_ns, 0);
		lacking += missing();
		back += copy.coverage[0].first_ns < began_ns;
		began_ns = copy.coverage[0].first_ns;
	}
	ok(!lacking && !back,
	   "several that waited for an interrupted writer: while they are overwritten, nothing that is covered is missing");
	ok(written - copy.records <= (SUBS + 1) * tipme_pool_slots &&
		   began_ns <= test_clock_ns - (SUBS - 2) * tipme_pool_slots,
	   "and after them the whole pool is covered");
}

/*
 * In parts, while others write: what is covered is there, whatever was overwritten between two of
 * them.
 */
static void in_parts(uint64_t between)
{
	uint64_t parts = 0, slots, begun_ns;

	begin();
	slots = tipme_pool_slots;
	write_records((SUBS + 2) * slots + 7);
	begun_ns = test_clock_ns;
	tipme_pool_copy_begin(&view, &copy, test_clock_ns, 0);
	while (tipme_pool_copy_part(&view, &copy, 1)) {
		write_records(between);
		parts++;
	}
	ok(parts >= SUBS / 2 - 1 && !missing() && copy.coverage[0].last_ns == begun_ns,
	   "a copy in parts: nothing that is covered is missing");
	ok(copy.coverage[0].first_ns <= begun_ns - (between > slots ? 1 : SUBS - 2) * slots,
	   "and it covers what was not overwritten before its part came");
	write_records(10);
	ok(!tipme_pool_copy(&view, &copy, test_clock_ns, 1) && !missing() &&
		   copy.coverage[0].last_ns == test_clock_ns,
	   "when it goes on, the same");
}

int main(void)
{
	printf("1..20\n");
	in_parts(10);
	in_parts(tipme_pool_slots + tipme_pool_slots / 2);
	late_turner();
	hole();
	two_holes();
	hole_then_gap();
	long_interrupt();
	tipme_kernel_copy_free(&copy);
	return failures != 0;
}
