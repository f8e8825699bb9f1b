/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All cgroups by number, also those that are gone since; and how long those with a CPU quota were
 * throttled, by their cpu.stat. Only the thread that keeps house looks; the writer reads what it
 * found.
 */
#ifndef TIPMED_CGROUPS_H
#define TIPMED_CGROUPS_H

#include <stddef.h>
#include <stdint.h>

struct tipmed_cgroups;

/* Returns 0 or -errno. Free takes NULL. */
int tipmed_cgroups_new(struct tipmed_cgroups **cgroups);
void tipmed_cgroups_free(struct tipmed_cgroups *cgroups);

/* Whether there is a hierarchy that counts CPU time. */
int tipmed_cgroups_any(const struct tipmed_cgroups *cgroups);

/*
 * Looks for cgroups, as often as that is cheap, and at the statistics of those with a quota. With
 * emit, gives a cpu_throttle record for each that was throttled since the last look.
 */
void tipmed_cgroups_look(struct tipmed_cgroups *cgroups, uint64_t now_ns,
			 void (*emit)(void *arg, const void *rec, size_t len), void *arg);

/*
 * Emits a cgroup_name record for each, and a cgroup_weight record where needed; stops at the first
 * value but 0 and returns it. Any thread.
 */
int tipmed_cgroups_names(struct tipmed_cgroups *cgroups,
			 int (*emit)(void *arg, const void *rec, size_t len), void *arg);

#endif
