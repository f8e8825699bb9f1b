// SPDX-License-Identifier: GPL-2.0-only
/* One press of the hot-key, told of by several: which is taken. */
#include "config.h"

#include "clock.h"
#include "daemon-tap.h"
#include "presses.h"

#define MS (TIPME_NS_PER_S / 1000)
#define S TIPME_NS_PER_S

static struct tipmed_presses presses;
static struct tipmed_press_teller server, agent;
static uint64_t now_ns = 1000 * S;

/* A keyboard has a press. True: an episode comes of it. */
static bool keyboard(void)
{
	bool known = tipmed_press_seen(&presses, now_ns);

	tipmed_press_owe(&server, now_ns);
	tipmed_press_owe(&agent, now_ns);
	return !known;
}

static bool told(struct tipmed_press_teller *teller)
{
	return !tipmed_press_told(&presses, teller, now_ns);
}

int main(void)
{
	ok(keyboard(), "a keyboard has a press: it is taken");
	now_ns += 2 * MS;
	ok(!told(&server) && !told(&agent), "the X server and the agent tell of the same");
	now_ns += 3 * S;
	ok(keyboard(), "the next press is another");
	now_ns += 20 * S;
	ok(!told(&server), "a server that hung tells of it 20 s later: still the same");
	ok(told(&server), "what it tells beyond that, no keyboard had: it is taken");
	now_ns += 50 * S;
	ok(told(&agent), "what was not told of in a minute never will be: this is another press");
	now_ns += 90 * S;
	ok(told(&server), "a server that is faster than the keyboard is taken");
	now_ns += 1 * MS;
	ok(!keyboard(), "then the keyboard's is the same");
	now_ns += 5 * S;
	ok(told(&server), "and nothing is owed of it");
	now_ns += 90 * S;
	ok(keyboard(), "two presses,");
	now_ns += 2 * S;
	ok(keyboard(), "both of keyboards,");
	now_ns += 9 * S;
	ok(!told(&server) && !told(&server), "are told of at once when the server goes on");
	now_ns += 1 * S;
	ok(told(&server), "a third is one more");
	return tap_end();
}
