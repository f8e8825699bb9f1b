/* SPDX-License-Identifier: GPL-2.0-only */
/* The share of user mode in what the calling thread runs. */
#ifndef TIPME_BENCH_PROFILE_H
#define TIPME_BENCH_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

struct tipme_profile {
	struct tipme_profile_mode {
		int fd;
		void *ring;
	} user, kernel;
	bool had; /* both modes could be sampled; else the numbers say nothing */
	uint64_t user_samples, kernel_samples;
	uint64_t begun_ns; /* the first time */
};

/*
 * Samples from here on; what is timed must not lie in between. Begun and ended more than once, it
 * adds up; it begins as zeros.
 */
void tipme_profile_begin(struct tipme_profile *p);
void tipme_profile_end(struct tipme_profile *p);
/* Whether the samples until now are too few to tell a share, and more are to be had soon. */
bool tipme_profile_wants_more(const struct tipme_profile *p);

#endif
