/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sockets that tipmed listens on: one for root and the owner, and one for each user named with --allow-uid. Each is a user's alone (mode 0600), so that the
 * kernel keeps strangers out, and whoever knocks without end fills no queue but his own.
 */
#ifndef TIPMED_DOORS_H
#define TIPMED_DOORS_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

#define TIPMED_DOORS_MAX (1 + TIPMED_ALLOW_MAX)

struct tipmed_door {
	int fd;
	bool own; /* root's and the owner's */
	uid_t uid;
	bool paused; /* nobody is let in until the closer has done its work */
};

struct tipmed_doors {
	struct tipmed_door door[TIPMED_DOORS_MAX];
	unsigned int count;
};

/* Returns 0, or -errno and a sentence. */
int tipmed_doors_open(struct tipmed_doors *doors, const struct tipmed_options *opt, char *why, size_t why_len);

/* Takes the sockets away; who is connected stays so. */
void tipmed_doors_unlink(const struct tipmed_doors *doors, const struct tipmed_options *opt);
void tipmed_doors_close(struct tipmed_doors *doors);

#endif
