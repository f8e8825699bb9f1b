/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Has the recorder save the worst interval of a benchmark, while it lasts in its memory, and tipme
 * say what it was.
 */
#ifndef TIPME_EXPLAIN_H
#define TIPME_EXPLAIN_H

#include <stdint.h>

#include "intervals.h"

struct tipme_explain {
	int fd; /* to tipmed; -1: nobody records */
	struct tipme_interval asked; /* the interval that was last asked for */
	char id[64]; /* its episode */
	char path[512]; /* where that lies, once it is saved */
	uint64_t asked_ns;
	unsigned int refused; /* asked for, and refused (rate limit) */
};

/* Connects to tipmed. Returns 0 or -errno; `ex` is valid in either case. */
int tipme_explain_open(struct tipme_explain *ex);
/*
 * Asks for an episode if this interval is much longer than the last one asked for; never waits for
 * the disk.
 */
void tipme_explain_offer(struct tipme_explain *ex, const struct tipme_interval *at,
			 const char *words);
/* Waits (30 s at most) until the last one is saved. Returns 0, or -ENOENT if none was. */
int tipme_explain_wait(struct tipme_explain *ex);
void tipme_explain_close(struct tipme_explain *ex);

#endif
