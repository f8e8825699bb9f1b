/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sockets that tipmed listens on: one for root and the owner, and one for each user named with
 * --allow-uid. Each is a user's alone (mode 0600), so that the kernel keeps strangers out, and
 * whoever knocks without end fills no queue but his own.
 */
#ifndef TIPMED_DOORS_H
#define TIPMED_DOORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "options.h"

#define TIPMED_DOORS_MAX (1 + TIPMED_ALLOW_MAX)

struct tipmed_door {
	int fd;
	bool own; /* root's and the owner's */
	uid_t uid;
	/* of the socket's file, and its number there: what has our name may be another's by now */
	dev_t dev;
	ino_t ino;
	/* nobody is let in until the closer has done its work, or what came is paid for */
	bool paused;
	/* the time up to which knocks and messages are paid for; not of our own door */
	uint64_t paid_ns;
};

/*
 * What one user who is neither root nor the owner may have done for him: the thread that does it is
 * ahead of all others on the machine.
 */
#define TIPMED_DOOR_PER_S 500
#define TIPMED_DOOR_BURST 1000

struct tipmed_doors {
	struct tipmed_door door[TIPMED_DOORS_MAX];
	unsigned int count;
};

/* Returns 0, or -errno and a sentence. */
int tipmed_doors_open(struct tipmed_doors *doors, const struct tipmed_options *opt, char *why,
		      size_t why_len);

/* Whether one more may be done for who comes by this door; pay() for each. */
bool tipmed_door_affords(const struct tipmed_door *door, uint64_t now_ns);
void tipmed_door_pay(struct tipmed_door *door, uint64_t now_ns);

/*
 * Whether nobody can come in any more: somebody has taken our own socket away, or has put another
 * in its place.
 */
bool tipmed_doors_gone(const struct tipmed_doors *doors, const struct tipmed_options *opt);

/* Takes the sockets away; who is connected stays so. */
void tipmed_doors_unlink(const struct tipmed_doors *doors, const struct tipmed_options *opt);
void tipmed_doors_close(struct tipmed_doors *doors);

#endif
