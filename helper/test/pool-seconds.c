// SPDX-License-Identifier: GPL-2.0-only
/*
 * All CPUs keep the same seconds: 16 of them in simulated time, with all load on one, with slow
 * ones, with loads that move.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "pool-test.h"

#define SECOND 1000000000ULL

static int tests;

static void result(int good, const char *what, double share)
{
	printf("%s %d - %s: %.1f %%\n", good ? "ok" : "not ok", ++tests, what, share * 100);
}

/*
 * Records of a CPU stand `every[cpu]` ns apart. Returns the worst share of the window that any CPU
 * ever kept once the pool was full.
 */
static double simulate(uint64_t (*every)(uint32_t cpu, uint64_t now), uint32_t subs,
		       uint64_t window_ns, uint64_t end_ns)
{
	uint64_t next[TEST_CPUS], number[TEST_CPUS] = { 0 }, looked = 0;
	struct tipme_kernel_coverage cov[TEST_CPUS];
	struct tipme_kernel_seen *seen;
	struct tipme_pool_view v;
	double worst = 1e9;

	pool_setup(subs, 4096, 0);
	v = pool_view(TEST_CPUS, 1);
	seen = tipme_pool_seen_alloc(&v);
	for (uint32_t i = 0; i < TEST_CPUS; i++)
		next[i] = 1 + every(i, 0) * (i + 1) / TEST_CPUS;
	for (;;) {
		uint32_t cpu = 0;
		uint64_t now;

		for (uint32_t i = 1; i < TEST_CPUS; i++)
			cpu = next[i] < next[cpu] ? i : cpu;
		now = next[cpu];
		if (now > end_ns)
			break;
		test_clock_ns = now;
		test_write(cpu, now, number[cpu]++);
		next[cpu] += every(cpu, now);
		if (now < window_ns * 2 || now - looked < window_ns / 97)
			continue;
		looked = now;
		tipme_pool_coverage(&v, seen, cov, now);
		for (uint32_t i = 0; i < TEST_CPUS; i++) {
			double share = (double)(now - cov[i].first_ns) / window_ns;

			worst = share < worst ? share : worst;
		}
	}
	tipme_pool_seen_free(seen);
	return worst;
}

#define SUBS 400
#define SLOTS 126 /* of 4096 bytes */
#define RATE 1000

/* What the whole pool could hold at RATE records a second of the machine. */
static const uint64_t window = (uint64_t)(SUBS - TEST_CPUS) * SLOTS * SECOND / RATE;

static uint64_t one_busy(uint32_t cpu, uint64_t now)
{
	return cpu == 3 ? SECOND / RATE : SECOND * 5;
}

/*
 * CPUs that fill a sub-buffer in about 1/2 to 3 windows: each gives one back with fresh and old
 * records in it.
 */
static uint64_t some_slow(uint32_t cpu, uint64_t now)
{
	return cpu == 3 ? SECOND / (RATE - RATE / 50) : window / SLOTS * (cpu + 1) / 4;
}

static uint64_t all_alike(uint32_t cpu, uint64_t now)
{
	return SECOND * TEST_CPUS / RATE;
}

/* The load moves to the next CPU every tenth of a window. */
static uint64_t moving(uint32_t cpu, uint64_t now)
{
	return now / (window / 10) % TEST_CPUS == cpu ? SECOND / RATE : SECOND / 10;
}

/*
 * So unlike a CPU that takes whatever is next in the pool, one that is idle never loses what it has
 * written last.
 */
static uint64_t one_silent(uint32_t cpu, uint64_t now)
{
	return cpu == 5 ? window / 3 : cpu == 3 ? SECOND / RATE : SECOND * 9;
}

int main(void)
{
	static const struct {
		uint64_t (*every)(uint32_t cpu, uint64_t now);
		double least;
		const char *what;
	} loads[] = {
		{ one_busy, 0.9,
		  "all load on one of 16 CPUs: of the seconds that the pool could hold, the worst CPU kept at least" },
		{ some_slow, 0.9,
		  "slow CPUs give back half-old sub-buffers: the worst kept at least" },
		{ all_alike, 0.9, "all CPUs alike: the worst kept at least" },
		{ moving, 0.6,
		  "a load that moves (with a sixth more records elsewhere): the worst kept at least" },
		{ one_silent, 0.9, "three records a window on one CPU: the worst kept at least" },
	};
	int failed = 0;

	printf("1..%zu\n", sizeof(loads) / sizeof(*loads));
	for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++) {
		double worst = simulate(loads[i].every, SUBS, window, window * 6);

		result(worst >= loads[i].least, loads[i].what, worst);
		failed |= worst < loads[i].least;
	}
	return failed;
}
