/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the program that computes in deferred work shares with tipme-latency, by mmap: what it is to
 * do, and what became of it.
 */
#ifndef TIPME_LATENCY_MODEL_MAPS_H
#define TIPME_LATENCY_MODEL_MAPS_H

/* A power of two. At the shortest cycle they last for 0.4 s. */
#define TIPME_MODEL_CYCLES 4096

/* One cycle. Times are CLOCK_MONOTONIC. */
struct tipme_model_cycle {
	__u64 due_ns, begun_ns, done_ns;
};

struct tipme_model_work {
	/* written by user space before the first cycle */
	__u64 cycle_ns;
	__u64 due_ns; /* of the next cycle; the program goes on with it */
	__u32 loops; /* of computing in each */
	__u32 stop; /* no further cycle */
	/* written by the program */
	__u64 written; /* cycles, since it began; stored after the cycle itself */
	__u64 sink; /* so that nothing is computed for nobody */
	struct tipme_model_cycle cycle[TIPME_MODEL_CYCLES];
};

/* How long so many loops take. */
struct tipme_model_trial {
	__u64 loops, took_ns;
};

#endif
