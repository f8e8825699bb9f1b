/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of tipme-columns share. */
#ifndef TIPME_COLUMNS_H
#define TIPME_COLUMNS_H

#include "episode/private.h"

/*
 * Writes a Perfetto trace of the records of [from, to) to a descriptor: how many stand in it, and
 * how many have no place there. X_ONLY: nothing of scheduling. -errno where the episode does not
 * open or nothing more can be written.
 */
int tipme_perfetto(const char *dir, int fd, uint64_t from, uint64_t to, bool x_only,
		   uint64_t *written, uint64_t *left);

/*
 * Both read rows and stretches of time from standard input (postmortem/lib/Tipme/Columns.pm) and
 * who had the CPUs from a file of columns; the answer goes to standard output. Sums: of each
 * stretch, of each thread and row: time, the longest piece, and when that began. Runs: of each
 * stretch, pixel columns [from, to) and the key of who is drawn there.
 */
int tipme_occupancy_sums(int fd);
int tipme_occupancy_runs(int fd, uint64_t from, uint64_t to, uint32_t width);

/* Which records are wanted: of a thread that a switch or a waking is about, or of kinds. */
struct tipme_picked {
	bool by_thread;
	uint32_t tid;
	bool types[256];
};

/*
 * Of pieces of which none is odd: of each how many of its records are wanted, and of each of those
 * its number in the piece, from 1, and its bytes. All that goes to standard output.
 */
int tipme_picked(const struct tipme_picked *what, const struct tipme_piece *pieces, uint32_t count);

/* Of a thread that waits for a CPU, for whom others' turns are summed up. */
struct tipme_turns_kind {
	uint32_t tid;
	bool waits_real_time; /* its own priority is real-time */
	double length_ns; /* of a run, at most */
	uint32_t next_shift, prev_shift; /* where a switch has the priorities, in column d */
};

/*
 * Turns: who had a CPU one after the other, in runs of turns. Of each run when it ends and its last
 * switch; of each thread in it the first turn, and the time of all of them. The thread itself, or
 * nobody, is a turn of run 0. Rows are threads that are wanted turn by turn.
 */
int tipme_occupancy_turns(int fd, const struct tipme_turns_kind *kind);

/*
 * Writes what the reader makes of [from, to) as a file of columns, little-endian; damage goes to
 * standard error.
 */
int tipme_write_columns(const char *dir, int fd, uint64_t from, uint64_t to);

#endif
