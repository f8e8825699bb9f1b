// SPDX-License-Identifier: GPL-2.0-only
/* Which presses of the hot-key are the same. */
#include "config.h"

#include "clock.h"
#include "presses.h"

/* All who are not held up tell of a press one after the other; nobody presses twice in this. */
#define SAME_PRESS_NS (TIPME_NS_PER_S / 2)

/*
 * A teller that has not told by then never will: it was not the one on the screen. What is told
 * instead of it would have to be a press that no keyboard had: one made by a program.
 */
#define LATE_NS (60 * TIPME_NS_PER_S)

bool tipmed_press_seen(struct tipmed_presses *presses, uint64_t now_ns)
{
	if (presses->taken_ns && now_ns - presses->taken_ns < SAME_PRESS_NS)
		return true;
	presses->taken_ns = now_ns;
	return false;
}

void tipmed_press_owe(struct tipmed_press_teller *teller, uint64_t now_ns)
{
	if (teller->told_ns && now_ns - teller->told_ns < SAME_PRESS_NS)
		return;
	if (now_ns - teller->owed_ns >= LATE_NS)
		teller->owed = 0;
	teller->owed++;
	teller->owed_ns = now_ns;
}

bool tipmed_press_told(struct tipmed_presses *presses, struct tipmed_press_teller *teller,
		       uint64_t now_ns)
{
	teller->told_ns = now_ns;
	if (teller->owed && now_ns - teller->owed_ns < LATE_NS) {
		teller->owed--;
		return true;
	}
	return tipmed_press_seen(presses, now_ns);
}
