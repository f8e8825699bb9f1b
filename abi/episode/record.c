// SPDX-License-Identifier: GPL-2.0-only
/*
 * The one walker of records: by the length field, bounded, fields read as 0 where a record ends
 * before them.
 */
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>

#include "episode/episode.h"

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "records are little-endian, and are read in place");

int tipme_record_next(struct tipme_walk *w, struct tipme_rec *r)
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

void tipme_walk_why(const struct tipme_walk *w, char *why, size_t size)
{
	size_t left = (size_t)(w->end - w->at);
	unsigned int len = left < TIPME_RECORD_HEAD ? TIPME_RECORD_HEAD : w->at[9] * 8U;

	if (len < TIPME_RECORD_HEAD)
		snprintf(why, size, "impossible: length %u", len);
	else
		snprintf(why, size, "cut: %zu bytes left, %u wanted", left, len);
}

uint64_t tipme_record_field(const struct tipme_rec *r, size_t offset, size_t size)
{
	uint64_t n = 0;

	if (offset + size <= r->len && size <= sizeof(n))
		memcpy(&n, r->bytes + offset, size);
	return n;
}

void tipme_record_text(const struct tipme_rec *r, size_t offset, size_t max, char *to, size_t size)
{
	size_t room = offset < r->len ? r->len - offset : 0;

	if (max && room > max)
		room = max;
	if (room > size - 1)
		room = size - 1;
	room = room ? strnlen((const char *)r->bytes + offset, room) : 0;
	memcpy(to, r->bytes + (room ? offset : 0), room);
	to[room] = 0;
}

void tipme_record_event(const struct tipme_rec *r, uint8_t to[TIPME_EVENT_SIZE])
{
	uint32_t len = r->len < TIPME_EVENT_SIZE ? r->len : TIPME_EVENT_SIZE;

	memcpy(to, r->bytes, len);
	memset(to + len, 0, TIPME_EVENT_SIZE - len);
}
