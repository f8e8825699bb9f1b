/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory of the whole machine, as /proc tells it: one record at each look. */
#ifndef TIPMED_MEMORY_STATE_H
#define TIPMED_MEMORY_STATE_H

#include <stddef.h>
#include <stdint.h>

struct tipme_memory_state;

/* What only counts up, as it was at the last look. */
struct tipmed_memory_counts {
	uint64_t swapped_in, swapped_out, major_faults, compactions, oom_kills;
	uint64_t some_us, full_us, io_full_us; /* UINT64_MAX: the kernel does not tell */
};

struct tipmed_memory {
	struct tipmed_memory_counts last;
	uint64_t looked_ns; /* 0: never */
};

/* Looks, and fills a record; *m keeps the counts for the next look. Returns 0 or -errno. */
int tipmed_memory_look(struct tipmed_memory *m, uint64_t now_ns, struct tipme_memory_state *rec);

#endif
