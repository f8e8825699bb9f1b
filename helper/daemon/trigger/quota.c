// SPDX-License-Identifier: GPL-2.0-only
/* A bucket of tokens for each user. */
#include "config.h"

#include "clock.h"
#include "quota.h"

#define TRIGGER_COST_NS (5 * TIPME_NS_PER_S)
#define TRIGGER_BURST 2

/*
 * His place; else one whose owner owes nothing; -1: there is none, which takes more users at once
 * than there may be.
 */
static int place_of(const struct tipmed_quota *q, uint64_t who, uint64_t now_ns)
{
	int free = -1;

	for (int i = 0; i < TIPMED_QUOTA_PLACES; i++) {
		if (q->place[i].paid_ns <= now_ns)
			free = i;
		else if (q->place[i].who == who)
			return i;
	}
	return free;
}

/* His place, where he owes nothing for what is past; -1: there is none. */
static int place_take(struct tipmed_quota *q, uint64_t who, uint64_t now_ns)
{
	int i = place_of(q, who, now_ns);

	if (i >= 0 && q->place[i].paid_ns <= now_ns) {
		q->place[i].who = who;
		q->place[i].paid_ns = now_ns;
	}
	return i;
}

bool tipmed_quota_allows(struct tipmed_quota *q, uint64_t who, uint64_t now_ns)
{
	int i = place_take(q, who, now_ns);

	if (i < 0 || q->place[i].paid_ns - now_ns > (TRIGGER_BURST - 1) * TRIGGER_COST_NS)
		return false;
	q->place[i].paid_ns += TRIGGER_COST_NS;
	return true;
}

uint64_t tipmed_quota_when(struct tipmed_quota *q, uint64_t who, uint64_t now_ns)
{
	int i = place_take(q, who, now_ns);

	if (i < 0)
		return UINT64_MAX;
	uint64_t paid_ns = q->place[i].paid_ns, ahead_ns = (TRIGGER_BURST - 1) * TRIGGER_COST_NS;

	q->place[i].paid_ns += TRIGGER_COST_NS;
	return paid_ns - now_ns > ahead_ns ? paid_ns - ahead_ns : now_ns;
}
