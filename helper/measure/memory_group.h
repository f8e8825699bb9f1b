/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A memory cgroup of our own (version 1 or 2), so that a benchmark presses on itself and not on the
 * whole machine.
 */
#ifndef TIPME_MEMORY_GROUP_H
#define TIPME_MEMORY_GROUP_H

#include <stddef.h>
#include <stdint.h>

struct tipme_memory_group {
	char path[512]; /* folder of the group; empty: none was made */
	char parent[512]; /* where we came from, and go back to */
};

/*
 * Makes a group of `limit_bytes`, and moves this process into it; children follow. Needs root.
 * Returns 0, or -errno and in `why` one sentence; then nothing has changed.
 */
int tipme_memory_group_enter(struct tipme_memory_group *group, uint64_t limit_bytes, char *why,
			     size_t why_len);
/*
 * Back to where we were; removes the group. All children must have ended. A group that was not made
 * is fine.
 */
void tipme_memory_group_leave(struct tipme_memory_group *group);

/*
 * How much memory processes may use here: that of the machine, or the least limit of our own group.
 * 0: not known.
 */
uint64_t tipme_memory_available(void);
/* Free swap in bytes. */
uint64_t tipme_swap_free(void);

#endif
