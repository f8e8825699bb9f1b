/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The reader of the kernel pool: works on its memory alone, so that the stress tests read what they
 * wrote with the very same code.
 */
#ifndef TIPME_KERNEL_COPY_H
#define TIPME_KERNEL_COPY_H

#include "kernel_source.h"

struct tipme_pool_view {
	const void *base;
	/* changes while the pool grows: then it is read once, by tipme_pool_subs() */
	unsigned int subs;
	/*
	 * It never has more; so much address space is behind base. 0: it does not grow. The first
	 * ones are always there, the others come and go by segments of so many.
	 */
	unsigned int subs_most, subs_first, segment_subs;
	unsigned int subbuf_bytes;
	unsigned int cpus;
	uint32_t source; /* enum tipme_source: who writes */
	/* recording began; a CPU that has never turned is covered from here on */
	uint64_t start_ns;
};

/* How many there are now. What was there before may have gone. */
static inline unsigned int tipme_pool_subs(const struct tipme_pool_view *v)
{
	return __atomic_load_n(&v->subs, __ATOMIC_ACQUIRE);
}

static inline unsigned int tipme_pool_subs_most(const struct tipme_pool_view *v)
{
	unsigned int subs = tipme_pool_subs(v);

	return v->subs_most > subs ? v->subs_most : subs;
}

static inline const struct tipme_pool_header *tipme_pool_at(const struct tipme_pool_view *v,
							    uint32_t sub)
{
	return (const void *)((const char *)v->base + (size_t)sub * v->subbuf_bytes);
}

int tipme_pool_copy_alloc(const struct tipme_pool_view *v, struct tipme_kernel_copy *c);
size_t tipme_pool_copy_bytes(const struct tipme_pool_view *v);
/*
 * Begins a copy anew (more = 0), or appends what is new since (1). `now` is CLOCK_MONOTONIC before
 * the call.
 */
int tipme_pool_copy(const struct tipme_pool_view *v, struct tipme_kernel_copy *c, uint64_t now,
		    int more);
/*
 * The same in parts. The begin says which sub-buffers belong to it; a part copies some of them, the
 * oldest first, until it has some more than so many bytes. Returns 1 while there are others. What
 * was overwritten between two parts is a gap: its CPU is covered from behind it.
 */
void tipme_pool_copy_begin(const struct tipme_pool_view *v, struct tipme_kernel_copy *c,
			   uint64_t now, int more);
int tipme_pool_copy_part(const struct tipme_pool_view *v, struct tipme_kernel_copy *c,
			 size_t bytes);

struct tipme_kernel_seen *tipme_pool_seen_alloc(const struct tipme_pool_view *v);
void tipme_pool_seen_free(struct tipme_kernel_seen *s);
/*
 * Gives back memory for sub-buffers that the pool did not begin with: a copy begins anew after
 * this.
 */
void tipme_pool_seen_release(struct tipme_kernel_seen *s);
/*
 * From when on all CPUs that write are covered; of one that has hardly written since there may be
 * older records.
 */
uint64_t tipme_pool_reach_ns(const struct tipme_pool_view *v);
/* Coverage without a copy: records stay 0. `s` is a scratch that no copy uses. */
void tipme_pool_coverage(const struct tipme_pool_view *v, struct tipme_kernel_seen *s,
			 struct tipme_kernel_coverage *coverage, uint64_t now);

#endif
