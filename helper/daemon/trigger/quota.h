/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often each user may ask for an episode: one who asks all the time takes nothing from the
 * others. The trigger thread's alone.
 */
#ifndef TIPMED_QUOTA_H
#define TIPMED_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

/* More at the same time than may be permitted, and the kernel's own. */
#define TIPMED_QUOTA_PLACES 32

/* In place of a user id: keys and thresholds, each of which asks for nobody. */
#define TIPMED_QUOTA_KIND(kind) (1ULL << 32 | (kind))

struct tipmed_quota {
	struct {
		uint64_t who;
		/* the time up to which what he asked for is paid for; past: the place is free */
		uint64_t paid_ns;
	} place[TIPMED_QUOTA_PLACES];
};

/* Two at once are fine, then one each 5 seconds. Whether this one is; then it is paid for. */
bool tipmed_quota_allows(struct tipmed_quota *quota, uint64_t who, uint64_t now_ns);

/*
 * For what can wait: from when on it may be; it is paid for. UINT64_MAX: too many users ask at
 * once.
 */
uint64_t tipmed_quota_when(struct tipmed_quota *quota, uint64_t who, uint64_t now_ns);

#endif
