/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connection to tipmed: a thread of its own, so that the server's other threads never wait for
 * anybody.
 */
#ifndef TIPME_LINK_H
#define TIPME_LINK_H

#include <stdbool.h>
#include <stdint.h>

#define TIPME_RUNDIR_DEFAULT "/run/tipme"
#define TIPME_DUMPDIR_DEFAULT "/var/tmp"
#define TIPME_LINK_PATH_LEN 256

/*
 * The main thread's ring, and the input thread's, which is offered once that thread has written to
 * it.
 */
#define TIPME_LINK_RINGS 2

struct tipme_link_options {
	const char *run_dir; /* of tipmed's socket; NULL: the default */
	/* for our own file where nobody listens; NULL: the default */
	const char *dump_dir;
	const char *server_name;
	uint32_t display;
	/* the main thread's; the input thread's is asked for when it is there */
	int ring_fd;
};

/*
 * Starts the thread: it offers the rings to the tipmed of run_dir as soon and as often as there is
 * one. Returns 0 or -errno. Call once; the thread lives as long as the process. All is copied.
 */
int tipme_link_start(const struct tipme_link_options *opt);

/*
 * Asks for what a chord_action says: tipmed, else the kernel module, else our own file. Never
 * blocks; any thread.
 */
void tipme_link_trigger(unsigned action);

/* There may be another ring to offer. Never blocks; any thread. */
void tipme_link_wake(void);

/* The file that was saved since the last call, if one was: whether to ask, and the answer. */
extern _Atomic bool tipme_link_saved_is_new;
bool tipme_link_saved(char path[TIPME_LINK_PATH_LEN]);

#endif
