/* SPDX-License-Identifier: GPL-2.0-only */
/* What tipmed may do: as much as recording needs, and no more from then on. */
#ifndef TIPMED_PRIVILEGES_H
#define TIPMED_PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

#include "limitations.h"

#define TIPMED_GROUPS_MAX 32

/* Whom we become when all is open. */
struct tipmed_user {
	bool set; /* false: nobody else */
	uid_t uid;
	gid_t gid;
	gid_t groups[TIPMED_GROUPS_MAX];
	int group_count;
};

/*
 * Looks up `name`; "": the user that is made for us, if there is one. Nobody else where we are not
 * root, or where that user is root. Returns 0, or -errno and a sentence.
 */
int tipmed_user_find(struct tipmed_user *user, const char *name, struct tipmed_limits *limits,
		     char *why, size_t why_len);

/* Whose files a thread writes: they belong to him, and it may do with files what he may. */
struct tipmed_file_owner {
	uid_t uid;
	gid_t gid;
};

/*
 * Becomes `user`, and as far as files go `files` (NULL: the user, too); keeps the capabilities that
 * recording needs, of those we have, and gives up all others, for this thread and the threads that
 * it makes from now on; new programs get none. Returns 0 or -errno.
 */
int tipmed_privileges_drop(const struct tipmed_user *user, const struct tipmed_file_owner *files);

/* The same with this capability, if we have it, and no other. */
int tipmed_privileges_only(const struct tipmed_user *user, unsigned int capability);

/* The same with none at all. */
int tipmed_privileges_none(const struct tipmed_user *user);

/* Says which of those capabilities are missing, and what that costs. */
void tipmed_privileges_tell(struct tipmed_limits *limits);

/*
 * Makes the process hard to stop: locked in memory, spared by the OOM killer, ahead of ordinary
 * threads, allowed to be real-time. What is refused is said. Memory is locked as it is used; the
 * answer is whether it is.
 */
bool tipmed_memory_lock(struct tipmed_limits *limits);
void tipmed_oom_spare(struct tipmed_limits *limits);
void tipmed_priority_raise(struct tipmed_limits *limits);
void tipmed_realtime_allow(struct tipmed_limits *limits);

/* Makes the calling thread real-time. Returns 0 or -errno. */
int tipmed_realtime_enter(void);

#endif
