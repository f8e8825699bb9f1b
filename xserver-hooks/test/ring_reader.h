/* SPDX-License-Identifier: GPL-2.0-only */
/* A plain reader of the ring for the tests: says of each slot whether it is whole. */
#ifndef TIPME_RING_READER_H
#define TIPME_RING_READER_H

#include <stdbool.h>
#include <string.h>

#include "xring.h"

/*
 * Copies slot `index` (counted from the beginning of time); false: it is being written, or was
 * overwritten since.
 */
static inline bool ring_read(const struct tipme_xslot *slots, unsigned log2, uint64_t index,
			     struct tipme_xslot *out)
{
	const struct tipme_xslot *slot = &slots[index & ((1ULL << log2) - 1)];
	uint64_t tag = __atomic_load_n(&slot->tag, __ATOMIC_ACQUIRE);

	if ((tag >> 16 & 0xffff) != tipme_xring_gen(index, log2))
		return false;
	out->tag = tag;
	out->ts_ns = __atomic_load_n(&slot->ts_ns, __ATOMIC_RELAXED);
	out->body[0] = __atomic_load_n(&slot->body[0], __ATOMIC_RELAXED);
	out->body[1] = __atomic_load_n(&slot->body[1], __ATOMIC_RELAXED);
	/* The second look at the tag must not move before the body. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&slot->tag, __ATOMIC_RELAXED) == tag;
}

#endif
