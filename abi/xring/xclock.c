// SPDX-License-Identifier: GPL-2.0-only
/* Ties the time-stamp counter to CLOCK_MONOTONIC. */
#include "config.h"

#include <cpuid.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "hot.h"
#include "xclock.h"

/*
 * A change of the clock's rate, 0.05 % at most, makes up to 50 microseconds between two ties; what
 * is there already is in our own rate.
 */
#define TIE_NS 100000000ULL
/* The rate is measured over so much, at first over less. */
#define RATE_NS 1000000000ULL
#define RATE_FIRST_NS 100000000ULL
/* A pair of readings further apart than this was interrupted. */
#define PAIR_TICKS 1000
#define PAIR_TRIES 4
#define MISFITS_MAX 3

static TIPME_HOT_INPUT uint64_t kernel_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The kernel keeps time by it, and it neither stops nor changes its rate. */
static bool tsc_is_trusted(void)
{
	unsigned a, b, c, d;
	char name[16] = "";
	FILE *f;

	if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1 << 8))
		return false;
	f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	if (!f)
		return false;
	if (!fgets(name, sizeof(name), f))
		name[0] = '\0';
	fclose(f);
	return !strcmp(name, "tsc\n");
}

/*
 * Both clocks at the same moment; false: something came in between each time, *ns is good all the
 * same.
 */
static TIPME_HOT_INPUT bool read_pair(uint64_t *tsc, uint64_t *ns)
{
	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before = __rdtsc(), after;

		*ns = kernel_ns();
		after = __rdtsc();
		*tsc = before + (after - before) / 2;
		if (after - before < PAIR_TICKS)
			return true;
	}
	return false;
}

static void anchor(struct tipme_xclock *clock, uint64_t tsc, uint64_t ns)
{
	clock->anchor_tsc = tsc;
	clock->anchor_ns = ns;
}

/*
 * Rate since the anchor; after a suspend or a leap of the counter it does not fit the last one and
 * is not taken.
 */
static TIPME_SELDOM void measure_rate(struct tipme_xclock *clock, uint64_t tsc, uint64_t ns)
{
	uint64_t ticks = tsc - clock->anchor_tsc;
	uint64_t mult =
		ticks ? (uint64_t)(((unsigned __int128)(ns - clock->anchor_ns) << 32) / ticks) : 0;
	uint64_t difference = mult > clock->mult ? mult - clock->mult : clock->mult - mult;

	anchor(clock, tsc, ns);
	if (!mult || mult >> 32)
		return;
	if (clock->mult && difference > clock->mult / 1000 && ++clock->misfits < MISFITS_MAX)
		return;
	/* It keeps leaping: no clock for us. */
	clock->use_tsc = clock->misfits < MISFITS_MAX;
	clock->misfits = 0;
	clock->mult = mult;
	clock->tie_tsc = (TIE_NS << 32) / mult;
}

void tipme_xclock_init(struct tipme_xclock *clock)
{
	*clock = (struct tipme_xclock){ .use_tsc = tsc_is_trusted() };
	if (clock->use_tsc && read_pair(&clock->base_tsc, &clock->base_ns))
		anchor(clock, clock->base_tsc, clock->base_ns);
}

TIPME_HOT_INPUT uint64_t tipme_xclock_tie(struct tipme_xclock *clock)
{
	uint64_t tsc, ns;

	if (!clock->use_tsc)
		return kernel_ns();
	clock->reach_tsc = 0;
	if (!read_pair(&tsc, &ns))
		return ns;
	if (!clock->anchor_ns)
		anchor(clock, tsc, ns);
	else if (ns - clock->anchor_ns >= (clock->mult ? RATE_NS : RATE_FIRST_NS))
		measure_rate(clock, tsc, ns);
	clock->base_tsc = tsc;
	clock->base_ns = ns;
	if (clock->use_tsc)
		clock->reach_tsc = clock->tie_tsc;
	return ns;
}
