/* SPDX-License-Identifier: GPL-2.0-only */
/* Connection to tipmed: a thread of its own, so that the server's main thread never waits for anybody. */
#ifndef TIPME_LINK_H
#define TIPME_LINK_H

#include <stdint.h>

#define TIPME_RUNDIR_DEFAULT "/run/tipme"

/*
 * Starts the thread: it offers ring_fd to the tipmed of run_dir (NULL: the default) as soon and as often as there is one.
 * Returns 0 or -errno. Call once; the thread lives as long as the process. run_dir and server_name are copied.
 */
int tipme_link_start(const char *run_dir, const char *server_name, uint32_t display, int ring_fd);

/* Asks tipmed to save an episode. Never blocks; safe in the main thread. */
void tipme_link_trigger(void);

#endif
