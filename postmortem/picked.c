// SPDX-License-Identifier: GPL-2.0-only
/*
 * Of many records those of one thread, or of some kinds: what Perl would look for byte by byte.
 * Records are those of pieces that are not odd: all have 32 bytes.
 */
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"

/* The fields of a record that say whom a switch or a waking is about. */
#define TID_AT 12
#define OTHER_AT 16

struct found {
	uint8_t *at;
	size_t room, len;
	uint32_t count;
};

static bool is_wanted(const struct tipme_rec *r, const struct tipme_picked *what)
{
	if (!what->by_thread)
		return what->types[r->type];
	return tipme_get32(r->bytes + TID_AT) == what->tid ||
	       tipme_get32(r->bytes + OTHER_AT) == what->tid;
}

static int add(struct found *f, uint32_t nr, const struct tipme_rec *r)
{
	int err = tipme_grow(&f->at, &f->room, f->len + sizeof(nr) + r->len, 1);

	if (err)
		return err;
	nr = htole32(nr);
	memcpy(f->at + f->len, &nr, sizeof(nr));
	memcpy(f->at + f->len + sizeof(nr), r->bytes, r->len);
	f->len += sizeof(nr) + r->len;
	f->count++;
	return 0;
}

static int look_through(const struct tipme_picked *what, const uint8_t *bytes, size_t len,
			struct found *f)
{
	struct tipme_walk w = { bytes, bytes + len };
	struct tipme_rec r;
	int err = 0, more;

	for (uint32_t nr = 1; !err && (more = tipme_record_next(&w, &r)) != 0; nr++) {
		if (more < 0 || r.len != TIPME_EVENT_SIZE)
			err = -EINVAL;
		else if (is_wanted(&r, what))
			err = add(f, nr, &r);
	}
	return err;
}

static int pick(const struct tipme_picked *what, const struct tipme_piece *p, uint8_t **buffer,
		size_t *room, struct found *f)
{
	int err = p->len > TIPME_SECTION_MOST ? -E2BIG
					      : tipme_grow(buffer, room, (size_t)p->len + 1, 1);
	ssize_t got = err ? err : tipme_read_at(p->fd, *buffer, (size_t)p->len, p->offset);

	if (got < 0)
		return (int)got;
	/* It has changed since it was looked at. */
	if ((uint64_t)got != p->len)
		return -EIO;
	return look_through(what, *buffer, (size_t)got, f);
}

int tipme_picked(const struct tipme_picked *what, const struct tipme_piece *pieces, uint32_t count)
{
	struct found f = { 0 };
	uint8_t *buffer = NULL;
	size_t room = 0;
	int err = 0;

	for (uint32_t i = 0; !err && i < count; i++) {
		f.len = f.count = 0;
		err = pick(what, &pieces[i], &buffer, &room, &f);
		uint32_t n = htole32(f.count);

		if (!err && (fwrite(&n, sizeof(n), 1, stdout) != 1 ||
			     fwrite(f.at, 1, f.len, stdout) != f.len))
			err = -EIO;
	}
	free(buffer);
	free(f.at);
	return !err && fflush(stdout) ? -errno : err;
}
