/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Observes an X server without hooks, as an ordinary client of it: input events and to whom they
 * went (RECORD, events only), which windows changed (Damage), whose they are (X-Resource). Writes
 * the records of the X source, marked x_client, with the server's own time stamps: milliseconds,
 * rounded down. One thread; no signals, no globals.
 */
#ifndef TIPME_OBSERVER_H
#define TIPME_OBSERVER_H

#include <poll.h>
#include <stddef.h>

struct tipme_observer;

struct tipme_observer_options {
	const char *display; /* NULL: $DISPLAY */
	const char *rundir; /* of tipmed's socket; NULL: as tipme_rundir() says */
	unsigned ring_kib; /* 0: 2048 */
};

#define TIPME_OBSERVER_FDS 3

/*
 * Connects to the X server. Returns 0, or -errno and a sentence; -ENOSYS: the server lacks an
 * extension. tipmed need not run yet.
 */
int tipme_observer_open(const struct tipme_observer_options *options,
			struct tipme_observer **observer, char *why, size_t why_len);

/*
 * What to poll for, and for how long at most (ms, -1: no limit). Returns how many of `fds` are
 * used.
 */
int tipme_observer_poll(const struct tipme_observer *observer,
			struct pollfd fds[TIPME_OBSERVER_FDS], int *timeout_ms);

/*
 * Does what there is to do; never waits for tipmed, waits for the X server only where a client came
 * or a window appeared. Returns 0, or -errno and a sentence: -ECONNRESET: the X server has gone;
 * -EEXIST: it has hooks, so nobody needs an observer; -EACCES: tipmed does not want us.
 */
int tipme_observer_step(struct tipme_observer *observer, char *why, size_t why_len);

/* Takes NULL. */
void tipme_observer_close(struct tipme_observer *observer);

#endif
