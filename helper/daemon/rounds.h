/* SPDX-License-Identifier: GPL-2.0-only */
/* What the main thread does each second while the recorder runs. */
#ifndef TIPMED_ROUNDS_H
#define TIPMED_ROUNDS_H

struct tipmed_recorder;

/* One round: a picture of all threads, and looks at clocks, CPUs, memory, cgroups and libraries. */
void tipmed_rounds_look(struct tipmed_recorder *r);

/*
 * A round each second, and what the trigger thread leaves to the main thread (SIGUSR1), until a
 * signal ends it. Returns the exit status: 0, TIPMED_EXIT_SEAT when another user sits at the
 * screen, or 1 when the socket was taken away.
 */
int tipmed_rounds_keep(struct tipmed_recorder *r, int signal_fd);

#endif
