/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one walker of records: by the length field, bounded. Whoever reads records in C, the daemon,
 * the reader of episodes or the window, reads them so.
 */
#ifndef TIPME_RECORD_WALK_H
#define TIPME_RECORD_WALK_H

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tipme_records.h"

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "records are little-endian, and are read in place");

#define TIPME_RECORD_HEAD 16U /* bytes with which every record begins */

struct tipme_rec {
	const uint8_t *bytes; /* all of it, little-endian */
	uint32_t len; /* in bytes, 16 to 2040 */
	uint64_t ts_ns;
	uint32_t tid;
	uint8_t type; /* enum tipme_record; numbers that nobody knows are the caller's to skip */
};

/* Where a walk stands. Set `at` and `end`; tipme_record_next() moves `at`. */
struct tipme_walk {
	const uint8_t *at, *end;
};

/* Little-endian numbers at any address. */
static inline uint64_t tipme_get64(const uint8_t *p)
{
	uint64_t n;

	memcpy(&n, p, sizeof(n));
	return n;
}

static inline uint32_t tipme_get32(const uint8_t *p)
{
	uint32_t n;

	memcpy(&n, p, sizeof(n));
	return n;
}

static inline uint16_t tipme_get16(const uint8_t *p)
{
	uint16_t n;

	memcpy(&n, p, sizeof(n));
	return n;
}

/*
 * The next record by its length field, whatever its type. Returns 1; 0 at the end; -EBADMSG where
 * no whole record stands (`at` stays there).
 */
static inline int tipme_record_next(struct tipme_walk *w, struct tipme_rec *r)
{
	size_t left = (size_t)(w->end - w->at);

	if (!left)
		return 0;
	if (left < TIPME_RECORD_HEAD)
		return -EBADMSG;
	uint32_t len = w->at[offsetof(struct tipme_head, len8)] * 8U;

	if (len < TIPME_RECORD_HEAD || len > left)
		return -EBADMSG;
	*r = (struct tipme_rec){
		.bytes = w->at,
		.len = len,
		.ts_ns = tipme_get64(w->at),
		.tid = tipme_get32(w->at + offsetof(struct tipme_head, tid)),
		.type = w->at[offsetof(struct tipme_head, type)],
	};
	w->at += len;
	return 1;
}

#endif
