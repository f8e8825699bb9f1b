/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ring of the X source: one writer, any number of readers elsewhere, memory that nobody can shrink
 * or grow.
 */
#ifndef TIPME_XRING_H
#define TIPME_XRING_H

#include <stdbool.h>
#include <stdint.h>

#include "hot.h"
#include "tipme_records.h"

#define TIPME_XRING_LOG2_MIN 10
#define TIPME_XRING_LOG2_MAX 20
#define TIPME_XRING_LOG2_DEFAULT 17

/* All records of the X source have this size. */
struct tipme_xslot {
	uint64_t ts_ns;
	uint64_t tag; /* type, len8, gen, tid: struct tipme_head */
	uint64_t body[2];
};
TIPME_ASSERT(sizeof(struct tipme_xslot) == 32);
TIPME_ASSERT(sizeof(struct tipme_x_device) == 32 && sizeof(struct tipme_x_deliver) == 32);
TIPME_ASSERT(sizeof(struct tipme_x_request) == 32 && sizeof(struct tipme_x_damage) == 32);
TIPME_ASSERT(sizeof(struct tipme_x_flush) == 32 && sizeof(struct tipme_x_sleep) == 32);
TIPME_ASSERT(sizeof(struct tipme_x_wakeup) == 32 && sizeof(struct tipme_x_chord) == 32);
TIPME_ASSERT(sizeof(struct tipme_x_client) == 32 && sizeof(struct tipme_x_grab) == 32);
TIPME_ASSERT(sizeof(struct tipme_x_input) == 32 && sizeof(struct tipme_x_reply) == 32);
TIPME_ASSERT(sizeof(struct tipme_x_output_full) == 32 && sizeof(struct tipme_x_present) == 32);
TIPME_ASSERT(sizeof(struct tipme_x_idle) == 32 && sizeof(struct tipme_x_arrival) == 32);

struct tipme_xring {
	struct tipme_x_ring_header *header;
	struct tipme_xslot *slots;
	uint64_t head; /* ours; the one in the header is for readers */
	unsigned log2;
	uint32_t tid;
	int fd;
	int locked; /* 0, or the errno of mlock() */
};

/*
 * Makes the memory for 2^log2 slots; the calling thread is the writer. Returns 0 or -errno. The
 * memory is locked where that is allowed: `locked` says. tipme_xring_close() takes a ring that was
 * never opened if all of it is 0.
 */
int tipme_xring_open(struct tipme_xring *ring, unsigned log2, const char *server_name);
void tipme_xring_close(struct tipme_xring *ring);

/* Smallest allowed log2 that holds so many KiB; the default for 0. */
unsigned tipme_xring_log2(unsigned long kib);

static TIPME_INLINE uint64_t tipme_xring_gen(uint64_t index, unsigned log2)
{
	return 1 + (index >> log2) % 65535;
}

static TIPME_INLINE uint64_t tipme_xring_tag(const struct tipme_xring *ring, uint64_t index,
					     uint64_t type)
{
	return (type & 0xff) | 4 << 8 | tipme_xring_gen(index, ring->log2) << 16 |
	       (uint64_t)ring->tid << 32;
}

/*
 * Writes one record; the caller filled all but head.gen, head.tid and head.len8. No lock, no call,
 * no branch. The slot is invalid (gen 0) before its body changes and valid after: a reader in
 * another process looks at gen first and last. Compilers must keep that order, hence the fences;
 * x86 stores are in order anyway. Returns the slot's index.
 */
static TIPME_INLINE uint64_t tipme_xring_put(struct tipme_xring *ring, const void *record)
{
	struct tipme_xslot rec;
	uint64_t index = ring->head++;
	struct tipme_xslot *slot = &ring->slots[index & ((1ULL << ring->log2) - 1)];

	__builtin_memcpy(&rec, record, sizeof(rec));
	rec.tag = tipme_xring_tag(ring, index, rec.tag);
	__atomic_store_n(&ring->header->head, ring->head, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->tag, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&slot->ts_ns, rec.ts_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->body[0], rec.body[0], __ATOMIC_RELAXED);
	__atomic_store_n(&slot->body[1], rec.body[1], __ATOMIC_RELAXED);
	__atomic_store_n(&slot->tag, rec.tag, __ATOMIC_RELEASE);
	return index;
}

/*
 * Writes over a record that was put before, so that what goes on needs no new slot and is in the
 * ring all the time. The slot stays valid meanwhile: a reader may take any mixture of old and new
 * words, so every mixture must be true. The type comes last. False: the slot belongs to a younger
 * record by now; put a new one.
 */
static TIPME_INLINE bool tipme_xring_amend(struct tipme_xring *ring, uint64_t index,
					   const void *record)
{
	struct tipme_xslot rec;
	struct tipme_xslot *slot = &ring->slots[index & ((1ULL << ring->log2) - 1)];

	if (ring->head - index > 1ULL << ring->log2)
		return false;
	__builtin_memcpy(&rec, record, sizeof(rec));
	__atomic_store_n(&slot->body[0], rec.body[0], __ATOMIC_RELAXED);
	__atomic_store_n(&slot->body[1], rec.body[1], __ATOMIC_RELAXED);
	__atomic_store_n(&slot->ts_ns, rec.ts_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->tag, tipme_xring_tag(ring, index, rec.tag), __ATOMIC_RELEASE);
	return true;
}

/*
 * The same for the body alone, from registers: a copy of what was just written field by field would
 * wait for it.
 */
static TIPME_INLINE bool tipme_xring_amend_body(struct tipme_xring *ring, uint64_t index,
						uint64_t body0, uint64_t body1)
{
	struct tipme_xslot *slot = &ring->slots[index & ((1ULL << ring->log2) - 1)];

	if (ring->head - index > 1ULL << ring->log2)
		return false;
	__atomic_store_n(&slot->body[0], body0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->body[1], body1, __ATOMIC_RELAXED);
	return true;
}

#endif
