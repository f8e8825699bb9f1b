// SPDX-License-Identifier: GPL-2.0-only
/* The clock agrees with CLOCK_MONOTONIC and never runs back. */
#include "config.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#include "tap.h"
#include "xclock.h"

/* Half the spread of a pair. */
#define NEAR_NS 2000
/* Until the next tie, when the kernel has just begun to slew its own clock (xclock.c). */
#define SLEWED_NS (NEAR_NS + 50000)

static uint64_t kernel_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct agreement {
	uint64_t readings, by_counter, near, off, back, worst_ns;
};

/* Each reading lies between two of the kernel's. */
static void read_one(struct tipme_xclock *clock, struct agreement *a)
{
	uint64_t last_ns = clock->last_ns, base_ns = clock->base_ns;
	uint64_t before = kernel_ns(), ns = tipme_xclock_ns(clock), after = kernel_ns();
	uint64_t off = ns < before ? before - ns : ns > after ? ns - after : 0;

	a->readings++;
	a->by_counter += clock->reach_tsc && clock->base_ns == base_ns;
	a->near += off <= NEAR_NS;
	a->off += off > SLEWED_NS;
	a->back += ns < last_ns;
	a->worst_ns = off > a->worst_ns ? off : a->worst_ns;
}

static void check(const struct agreement *a, const char *what)
{
	printf("# %s: %lu readings, %lu by the counter, worst %lu ns off\n", what,
	       (unsigned long)a->readings, (unsigned long)a->by_counter,
	       (unsigned long)a->worst_ns);
	ok(a->readings && !a->off, "%s: it agrees with the kernel's clock", what);
	ok(a->near >= a->readings - a->readings / 10,
	   "%s: to 2 microseconds, but where that is slewed", what);
	ok(!a->back, "%s: it never runs back", what);
}

/* The host may leave us hardly any of the time that is asked for: then longer, up to a minute. */
static bool enough(const struct tipme_xclock *clock, const struct agreement *a, uint64_t gone_ns,
		   uint64_t for_ns)
{
	bool by_counter = !clock->use_tsc || a->by_counter > a->readings / 2;

	return gone_ns >= for_ns && (by_counter || gone_ns >= 60000000000);
}

static void busy(struct tipme_xclock *clock, uint64_t for_ns, const char *what)
{
	struct agreement a = { 0 };
	uint64_t begin = kernel_ns();

	while (!enough(clock, &a, kernel_ns() - begin, for_ns))
		read_one(clock, &a);
	check(&a, what);
	if (clock->use_tsc)
		ok(a.by_counter > a.readings / 2, "%s: most readings cost no call", what);
	else
		ok(true, "%s # SKIP the kernel's clock source is not the counter", what);
}

static void idle(struct tipme_xclock *clock)
{
	struct agreement a = { 0 };

	for (int i = 0; i < 50; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 500000 * (i % 20) }, NULL);
		read_one(clock, &a);
		read_one(clock, &a);
	}
	check(&a, "with pauses");
}

/* The writer may be moved to another CPU between two readings. */
static void moving(struct tipme_xclock *clock)
{
	struct agreement a = { 0 };
	cpu_set_t all, one;

	sched_getaffinity(0, sizeof(all), &all);
	for (int i = 0; i < 20000; i++) {
		CPU_ZERO(&one);
		for (int cpu = i % CPU_SETSIZE; !CPU_COUNT(&one); cpu = (cpu + 1) % CPU_SETSIZE)
			if (CPU_ISSET(cpu, &all))
				CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		read_one(clock, &a);
	}
	sched_setaffinity(0, sizeof(all), &all);
	check(&a, "from CPU to CPU");
}

/* A counter that leaps, as after a suspend: the clock is tied anew and stays right. */
static void leaps(struct tipme_xclock *clock)
{
	struct agreement a = { 0 };

	for (int i = 0; i < 200; i++) {
		clock->base_tsc += i % 2 ? 1ULL << 40 : -(1ULL << 40);
		clock->anchor_tsc += i % 2 ? 1ULL << 40 : -(1ULL << 40);
		read_one(clock, &a);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	check(&a, "after leaps of the counter");
}

int main(void)
{
	struct tipme_xclock clock;

	tipme_xclock_init(&clock);
	busy(&clock, 500000000, "from the start");
	idle(&clock);
	moving(&clock);
	busy(&clock, 500000000, "later");
	leaps(&clock);
	clock.use_tsc = false;
	clock.reach_tsc = 0;
	struct agreement a = { 0 };

	for (int i = 0; i < 1000; i++)
		read_one(&clock, &a);
	check(&a, "without the counter");
	return tap_done();
}
