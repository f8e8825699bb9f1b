/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loads of the interactive microbenchmarks, and what is timed beside them (TIPME 2000,
 * sections 4.1.1 and 4.2.1).
 */
#ifndef TIPME_LOADS_H
#define TIPME_LOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TIPME_LOAD_CHILDREN_MAX 64
#define TIPME_LOAD_STRIDE 4096

struct tipme_load_options {
	unsigned int children; /* memory: writers, 1 to 64 */
	uint64_t child_bytes; /* memory: each one's buffer */
	/* memory: the buffers are files in there; NULL: they are anonymous, for swap */
	const char *folder;
	/* sched: a new hog every two seconds, never two at once; else one endless hog */
	bool forking;
};

/* Processes of a load; all end when tipme_load_stop() is called or their parent dies. */
struct tipme_load {
	pid_t pid[TIPME_LOAD_CHILDREN_MAX];
	unsigned int count;
};

/*
 * Memory that can be taken away: anonymous, for swap, or a file in `folder` that nobody sees. NULL
 * and errno if there is none.
 */
volatile char *tipme_load_buffer(uint64_t bytes, const char *folder);

/* Start children. Return 0 or -errno; then nothing is left running. */
int tipme_load_memory(struct tipme_load *load, const struct tipme_load_options *opt);
int tipme_load_hog(struct tipme_load *load, const struct tipme_load_options *opt);
/* Returns how many had ended before, by themselves or by the OOM killer. */
unsigned int tipme_load_stop(struct tipme_load *load);

/* Burns `ns` of this thread's own CPU time. */
void tipme_compute(uint64_t ns);

#endif
