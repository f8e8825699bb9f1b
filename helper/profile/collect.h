/* SPDX-License-Identifier: GPL-2.0-only */
/* tipme profile record: the collector. */
#ifndef TIPME_PROFILE_COLLECT_H
#define TIPME_PROFILE_COLLECT_H

#include "profile.h"

struct tipme_collect_options {
	const char *file, *replay;
	char **program; /* what to run meanwhile; ends with NULL */
	uint64_t duration_ns; /* 0: until the program ends, or a signal comes */
	const char *name[TIPME_APPS]; /* PID=NAME, of processes in the records */
	unsigned int names, episodes_over_ms, keep;
	bool key_times, quiet;
};

/* Collects until it is over, and writes the file. Returns the exit status. */
int tipme_collect(const struct tipme_collect_options *o);

/* The worst answers, for whom episodes are asked for and judged (worst.c). */
struct tipme_judge;

struct tipme_judge *tipme_judge_new(struct tipme_profile *p, struct tipme_rings *rings,
				    unsigned int over_ms, unsigned int keep);
void tipme_judge_free(struct tipme_judge *j);
/* An answer was complete: if it is among the worst, an episode is asked for. */
void tipme_judge_answer(struct tipme_judge *j, unsigned int app, const struct tipme_answer *a,
			uint32_t minute, uint64_t now_ns);
/* Takes verdicts that have come meanwhile; `finish`: waits for the one that is on its way. */
void tipme_judge_step(struct tipme_judge *j, bool finish);

#endif
