/* SPDX-License-Identifier: GPL-2.0-only */
/* What tipmed may do: as much as recording needs, and no more from then on. */
#ifndef TIPMED_PRIVILEGES_H
#define TIPMED_PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

#include "limitations.h"

/*
 * Keeps the capabilities that recording needs, of those we have, and gives up all others, for this thread and the threads that it makes
 * from now on; new programs get none. Returns 0 or -errno.
 */
int tipmed_privileges_drop(void);

/* Says which of those capabilities are missing, and what that costs. */
void tipmed_privileges_tell(struct tipmed_limits *limits);

/* From now on the files of this thread belong to `owner`, and it may do with files what `owner` may, before any capability is dropped. */
int tipmed_files_become(uid_t owner, gid_t group);

/*
 * Makes the process hard to stop: locked in memory, spared by the OOM killer, ahead of ordinary
 * threads, allowed to be real-time. What is refused is said.
 */
void tipmed_memory_lock(struct tipmed_limits *limits);
void tipmed_oom_spare(struct tipmed_limits *limits);
void tipmed_priority_raise(struct tipmed_limits *limits);
void tipmed_realtime_allow(struct tipmed_limits *limits);

/* Makes the calling thread real-time. Returns 0 or -errno. */
int tipmed_realtime_enter(void);

#endif
