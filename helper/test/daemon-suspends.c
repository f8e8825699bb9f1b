// SPDX-License-Identifier: GPL-2.0-only
/* Suspends are found by the two clocks, and by nothing else. */
#include "config.h"

#include "daemon-tap.h"
#include "suspends.h"

#define S 1000000000ULL

int main(void)
{
	struct tipmed_suspends s;
	struct tipmed_suspend out[TIPMED_SUSPENDS_MAX];

	tipmed_suspends_init(&s, 100 * S, 130 * S);
	tipmed_suspends_look(&s, 101 * S, 131 * S);
	tipmed_suspends_look(&s, 102 * S, 132 * S + 1000000);
	ok(tipmed_suspends_since(&s, 0, out) == 0, "a second is a second, also where the reader was interrupted between the clocks");
	tipmed_suspends_look(&s, 103 * S, 433 * S);
	ok(tipmed_suspends_since(&s, 0, out) == 1 && out[0].slept_ns == 300 * S, "five minutes of sleep");
	ok(out[0].from_ns == 102 * S && out[0].to_ns == 103 * S, "between those two looks");
	tipmed_suspends_look(&s, 104 * S, 434 * S);
	ok(tipmed_suspends_since(&s, 0, out) == 1, "it is told once");
	ok(tipmed_suspends_since(&s, 103 * S + 1, out) == 0, "not for an episode that began later");
	for (unsigned int i = 0; i < 40; i++)
		tipmed_suspends_look(&s, (105 + i) * S, (500 + 10 * i) * S);
	ok(tipmed_suspends_since(&s, 0, out) == TIPMED_SUSPENDS_MAX && out[TIPMED_SUSPENDS_MAX - 1].to_ns == 144 * S, "of many the last ones, in order");
	return tap_end();
}
