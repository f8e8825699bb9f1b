/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One press of the hot-key is one episode, however many tell of it: the keyboards themselves, an X
 * server, the agent. A server that hung, or had no CPU, tells of it when it goes on, which may be
 * long after.
 */
#ifndef TIPMED_PRESSES_H
#define TIPMED_PRESSES_H

#include <stdbool.h>
#include <stdint.h>

/* Whoever tells of presses over a connection. */
struct tipmed_press_teller {
	uint64_t told_ns; /* when it last told of one; 0: never */
	uint64_t owed_ns; /* when a keyboard last had one that it has not told of yet */
	unsigned int owed; /* how many of these */
};

struct tipmed_presses {
	uint64_t taken_ns; /* when one was last taken, whoever told of it; 0: never */
};

/* A teller tells of a press. True: it is known already. */
bool tipmed_press_told(struct tipmed_presses *presses, struct tipmed_press_teller *teller,
		       uint64_t now_ns);

/*
 * A keyboard, or the kernel, has a press (we see it at once). True: it is known already. Then, for
 * each teller, tipmed_press_owe().
 */
bool tipmed_press_seen(struct tipmed_presses *presses, uint64_t now_ns);

/* The teller will tell of the press that was just seen, too, if it has not yet. */
void tipmed_press_owe(struct tipmed_press_teller *teller, uint64_t now_ns);

#endif
