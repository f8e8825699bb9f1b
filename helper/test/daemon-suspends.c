// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspends and steps of the clock are found by the three clocks, and by nothing else; who saw one
 * narrows it. That the kernel wakes us: tests/vm/suspend.t.
 */
#include "config.h"

#include <poll.h>
#include <unistd.h>

#include "daemon-tap.h"
#include "suspends.h"

#define S 1000000000ULL
#define WALL (1700000000 * S) /* of the machine's clock, beyond that since boot */

static struct tipmed_suspends s;
static struct tipmed_suspend out[TIPMED_SUSPENDS_MAX];
static struct tipmed_clock_step step[TIPMED_SUSPENDS_MAX];

static struct tipmed_clocks at(uint64_t monotonic_ns, uint64_t boottime_ns, int64_t set_ns)
{
	return (struct tipmed_clocks){ monotonic_ns, boottime_ns,
				       WALL + boottime_ns + (uint64_t)set_ns };
}

static bool look(uint64_t monotonic_ns, uint64_t boottime_ns, int64_t set_ns)
{
	struct tipmed_clocks now = at(monotonic_ns, boottime_ns, set_ns);

	return tipmed_suspends_look(&s, &now, 0, 0);
}

static bool look_seen(uint64_t monotonic_ns, uint64_t boottime_ns, uint64_t from_ns, uint64_t to_ns)
{
	struct tipmed_clocks now = at(monotonic_ns, boottime_ns, 0);

	return tipmed_suspends_look(&s, &now, from_ns, to_ns);
}

static void begin(void)
{
	struct tipmed_clocks now = at(100 * S, 130 * S, 0);

	tipmed_suspends_init(&s, &now);
}

static void test_suspends(void)
{
	begin();
	look(101 * S, 131 * S, 0);
	ok(!look(102 * S, 132 * S + 1000000, 0),
	   "a second is a second, also where the reader was interrupted between the clocks");
	ok(tipmed_suspends_since(&s, 0, out) == 0, "... it did not sleep");
	ok(look(103 * S, 433 * S, 0), "it slept");
	ok(tipmed_suspends_since(&s, 0, out) == 1 && out[0].slept_ns == 300 * S, "five minutes");
	ok(out[0].from_ns == 102 * S && out[0].to_ns == 103 * S, "between those two looks");
	ok(!look(104 * S, 434 * S, 0) && tipmed_suspends_since(&s, 0, out) == 1, "it is told once");
	ok(tipmed_suspends_since(&s, 103 * S + 1, out) == 0, "not for an episode that began later");
	ok(tipmed_clock_steps_since(&s, 0, step) == 0, "nobody set the clock");
	for (unsigned int i = 0; i < 40; i++)
		look((105 + i) * S, (500 + 10 * i) * S, 0);
	ok(tipmed_suspends_since(&s, 0, out) == TIPMED_SUSPENDS_MAX &&
		   out[TIPMED_SUSPENDS_MAX - 1].to_ns == 144 * S,
	   "of many the last ones, in order");
}

static void test_seen(void)
{
	begin();
	look_seen(101 * S, 141 * S, 100 * S + 5, 100 * S + 7);
	ok(tipmed_suspends_since(&s, 0, out) == 1 && out[0].from_ns == 100 * S + 5 &&
		   out[0].to_ns == 100 * S + 7,
	   "who saw it says when");
	look_seen(102 * S, 142 * S, 101 * S + 5, 101 * S + 7);
	ok(tipmed_suspends_since(&s, 0, out) == 1, "what took no time is no sleep, whoever saw it");
	look_seen(103 * S, 153 * S, 101 * S, 102 * S + 7);
	ok(tipmed_suspends_since(&s, 0, out) == 2 && out[1].from_ns == 102 * S &&
		   out[1].to_ns == 103 * S,
	   "one before the last look is another");
	look_seen(104 * S, 164 * S, 103 * S + 5, 104 * S + 1);
	ok(tipmed_suspends_since(&s, 0, out) == 3 && out[2].from_ns == 103 * S &&
		   out[2].to_ns == 104 * S,
	   "... and so is one after this");
}

static void test_steps(void)
{
	begin();
	look(101 * S, 131 * S, 20000000);
	ok(tipmed_clock_steps_since(&s, 0, step) == 0, "a clock that is corrected a little");
	ok(!look(102 * S, 132 * S, -3600 * (int64_t)S), "it is set back: no sleep");
	ok(tipmed_clock_steps_since(&s, 0, step) == 1 && step[0].by_ns == -3600 * (int64_t)S,
	   "... by an hour");
	ok(step[0].from_ns == 101 * S && step[0].to_ns == 102 * S, "... between those two looks");
	ok(look(103 * S, 233 * S, 0), "it sleeps, and its clock is set when it wakes");
	ok(tipmed_clock_steps_since(&s, 0, step) == 2 && step[1].by_ns == 3600 * (int64_t)S,
	   "both are told");
	ok(tipmed_clock_steps_since(&s, 102 * S + 1, step) == 1 && step[0].to_ns == 103 * S,
	   "not what was before");
}

static void test_watch(void)
{
	int fd = tipmed_suspends_watch();
	struct pollfd p = { .fd = fd, .events = POLLIN };

	ok(fd >= 0, "the kernel tells when its clock is set (%d)", fd);
	ok(poll(&p, 1, 100) == 0, "... not when it is not");
	tipmed_suspends_watch_again(fd);
	ok(poll(&p, 1, 100) == 0, "... asked once more, too");
	close(fd);
}

int main(void)
{
	test_suspends();
	test_seen();
	test_steps();
	test_watch();
	return tap_end();
}
