// SPDX-License-Identifier: GPL-2.0-only
/*
 * The default pool on machines of 2 to 256 CPUs, in simulated time, with the writer and the reader
 * that record for real: with 10,000 records a second of each CPU it keeps the seconds that it is
 * meant to, or as many as its share of memory holds. A tenth of the seconds and of the memory is
 * simulated: there the sub-buffer that each CPU fills is ten times as large a part, so a little
 * less is kept than on the machine.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#define TEST_CPUS 256
#include "kernel_backend.h"
#include "pool-test.h"

#define SECOND 1000000000ULL
#define SCALE 10
#define GB (1ULL << 30)
#define RATE 10000 /* of each CPU */

static int tests, failures;

static void ok(int good, const char *what, unsigned int cpus, double seconds, double mb)
{
	failures += !good;
	printf("%s %d - %u CPUs: %s (%.1f s, %.0f MB)\n", good ? "ok" : "not ok", ++tests, cpus,
	       what, seconds, mb);
}

/*
 * The least that any CPU had of the records before, looked at again and again once the pool was
 * full; 0: the reader found other records than were written.
 */
static double seconds_kept(const struct tipme_kernel_machine *m, unsigned int rate, double window_s)
{
	uint64_t written = 0, end_ns = (uint64_t)(window_s * 2.5 * SECOND),
		 step_ns = SECOND / rate / m->online, looked_ns = 0;
	struct tipme_kernel_coverage cov[TEST_CPUS];
	struct tipme_pool_view v = pool_view(m->possible, 1);
	struct tipme_kernel_seen *seen = tipme_pool_seen_alloc(&v);
	double least = 1e9;

	for (test_clock_ns = 1; test_clock_ns < end_ns; test_clock_ns += step_ns, written++) {
		test_write((uint32_t)(written % m->online), test_clock_ns, written);
		if (test_clock_ns < window_s * 1.5 * SECOND ||
		    test_clock_ns - looked_ns < window_s * SECOND / 50)
			continue;
		looked_ns = test_clock_ns;
		tipme_pool_coverage(&v, seen, cov, test_clock_ns);
		for (unsigned int cpu = 0; cpu < m->online; cpu++) {
			double s = (double)(test_clock_ns - cov[cpu].first_ns) / SECOND;

			least = s < least ? s : least;
		}
	}
	tipme_pool_seen_free(seen);
	return least;
}

static void machine(unsigned int online, unsigned int possible, uint64_t ram_bytes)
{
	struct tipme_kernel_machine m = { .possible = possible,
					  .online = online,
					  .ram_bytes = ram_bytes / SCALE };
	struct tipme_kernel_options opt = { .window_s = 42 };
	struct tipme_pool_view v;
	uint64_t bytes, share = ram_bytes / TIPME_POOL_RAM_PART, idle;
	double whole = 42.0, want, kept;

	/* What it would be on that machine. */
	m.ram_bytes = ram_bytes;
	tipme_kernel_sizes_for(&v, &opt, &m);
	bytes = (uint64_t)v.subs * v.subbuf_bytes;
	idle = (uint64_t)v.subbuf_bytes * possible;
	ok(bytes - idle <= (share > 27000000 ? share : 27000000),
	   "within its share of memory, but for a sub-buffer of each CPU", online, whole,
	   (double)bytes / 1e6);
	want = (double)opt.rate / (RATE * (double)online) * whole;
	want = want < whole ? want : whole;
	pool_setup(v.subs / SCALE > 3 * possible ? v.subs / SCALE : 3 * possible, v.subbuf_bytes,
		   0);
	kept = seconds_kept(&m, RATE, want / SCALE) * SCALE;
	ok(kept >= 0.85 * want,
	   want < whole ? "keeps what that holds" : "keeps the seconds asked for", online, kept,
	   (double)bytes / 1e6);
}

/*
 * Where it does not grow (pool-growth.c): at a higher rate it keeps so much less, and no CPU is
 * worse off than another.
 */
static void rate_times(unsigned int times, unsigned int online, uint64_t ram_bytes)
{
	struct tipme_kernel_machine m = { .possible = online,
					  .online = online,
					  .ram_bytes = ram_bytes };
	struct tipme_kernel_options opt = { .window_s = 42 };
	struct tipme_pool_view v;
	double want, kept;

	tipme_kernel_sizes_for(&v, &opt, &m);
	want = (double)opt.rate / (RATE * (double)online * times) * 42.0;
	pool_setup(v.subs / SCALE > 3 * online ? v.subs / SCALE : 3 * online, v.subbuf_bytes, 0);
	kept = seconds_kept(&m, RATE * times, want / SCALE) * SCALE;
	ok(kept >= 0.85 * want, "at more records a second it keeps so much less", online, kept,
	   (double)v.subs * v.subbuf_bytes / 1e6);
}

int main(void)
{
	machine(2, 2, 4 * GB);
	machine(16, 16, 16 * GB);
	machine(64, 64, 64 * GB);
	machine(64, 128, 16 * GB);
	machine(256, 256, 512 * GB);
	rate_times(3, 64, 64 * GB);
	rate_times(10, 16, 16 * GB);
	printf("1..%d\n", tests);
	return failures != 0;
}
