// SPDX-License-Identifier: GPL-2.0-only
/* Fields of a record, 0 where it ends before them, and why a walk of records ended. */
#include "config.h"

#include <stdio.h>

#include "episode/episode.h"

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
