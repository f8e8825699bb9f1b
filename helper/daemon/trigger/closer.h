/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Closes descriptors that strangers have passed, and the connections in which such may still lie.
 * Closing the last copy of one may take as long as whoever passed it likes: a socket waits until
 * its peer has read (SO_LINGER), a file until its server answers. So it is not for a thread that
 * others wait for.
 */
#ifndef TIPMED_CLOSER_H
#define TIPMED_CLOSER_H

#include <stdatomic.h>
#include <stdbool.h>

#define TIPMED_CLOSER_THREADS 4
/* While so many wait, nothing that may bring more is taken in. */
#define TIPMED_CLOSER_FULL 64U

struct tipmed_closer {
	int pipe[2];
	atomic_uint waiting;
};

/* Returns 0 or -errno. */
int tipmed_closer_start(struct tipmed_closer *closer, int threads);

/* Lets the threads go that do not hang. */
void tipmed_closer_stop(struct tipmed_closer *closer);

/*
 * Never waits. With `unread`, what was sent on this connection is thrown away first: it would take
 * our last answer away from the peer.
 */
void tipmed_closer_close(struct tipmed_closer *closer, int fd, bool unread);

static inline bool tipmed_closer_full(const struct tipmed_closer *closer)
{
	return atomic_load_explicit(&closer->waiting, memory_order_relaxed) >= TIPMED_CLOSER_FULL;
}

#endif
