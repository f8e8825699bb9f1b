// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of an episode: headers and sections, checked from section to section; damage ends a file,
 * aloud.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "episode/private.h"

int tipme_refuse(struct tipme_episode *ep, int err, const char *form, ...)
{
	va_list args;

	va_start(args, form);
	if (ep->why && ep->why_size)
		vsnprintf(ep->why, ep->why_size, form, args);
	va_end(args);
	return err;
}

void tipme_damaged(struct tipme_episode *ep, const char *form, ...)
{
	char text[512];
	va_list args;

	va_start(args, form);
	vsnprintf(text, sizeof(text), form, args);
	va_end(args);
	for (size_t i = 0; i < ep->damage_count; i++) {
		if (!strcmp(ep->damage[i], text))
			return;
	}
	if (!ep->damage)
		ep->damage = calloc(TIPME_DAMAGE_MOST, sizeof(*ep->damage));
	if (ep->damage && ep->damage_count < TIPME_DAMAGE_MOST) {
		char *kept = strdup(text);

		if (kept)
			ep->damage[ep->damage_count++] = kept;
	}
}

int tipme_grow(void *array, size_t *room, size_t need, size_t size)
{
	void *old;

	if (need <= *room)
		return 0;
	memcpy(&old, array, sizeof(old));
	size_t more = need + need / 2 + 16;
	void *grown = reallocarray(old, more, size);

	if (!grown)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	*room = more;
	return 0;
}

int tipme_open_plain(struct tipme_episode *ep, const char *name, uint64_t *size)
{
	struct stat st;
	int fd = openat(ep->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && errno == ELOOP)
		return tipme_refuse(ep, -EPROTO,
				    "%s/%s: is a link: an episode holds plain files only", ep->dir,
				    name);
	if (fd < 0)
		return tipme_refuse(ep, -errno, "%s/%s: %s: is the episode whole?", ep->dir, name,
				    strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return tipme_refuse(ep, -EPROTO,
				    "%s/%s: is no plain file: an episode holds plain files only",
				    ep->dir, name);
	}
	*size = (uint64_t)st.st_size;
	return fd;
}

ssize_t tipme_read_at(int fd, uint8_t *to, size_t len, uint64_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t got = pread(fd, to + done, len - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int tipme_slurp(struct tipme_episode *ep, const char *name, size_t most, char **text, size_t *len)
{
	uint64_t size = 0;
	int fd = tipme_open_plain(ep, name, &size);

	if (fd < 0)
		return fd;
	int err =
		size > most
			? tipme_refuse(ep, -EPROTO,
				       "%s/%s: %llu bytes, more than %zu: not an episode of tipme",
				       ep->dir, name, (unsigned long long)size, most)
			: 0;
	char *all = err ? NULL : malloc((size_t)size + 1);
	ssize_t got = all ? tipme_read_at(fd, (uint8_t *)all, (size_t)size, 0) : -ENOMEM;

	close(fd);
	if (err || got < 0) {
		free(all);
		return err ? err : (int)got;
	}
	all[got] = 0;
	*text = all;
	*len = (size_t)got;
	return 0;
}

static int check_header(struct tipme_episode *ep, struct tipme_file *f, struct tipme_file_header *h)
{
	if (memcmp(h->magic, TIPME_FILE_MAGIC, sizeof(h->magic)))
		return tipme_refuse(ep, -EPROTO, "%s/%s: not a record file of tipme", ep->dir,
				    f->name);
	if (h->byte_order != TIPME_BYTE_ORDER)
		return tipme_refuse(
			ep, -EPROTO,
			"%s/%s: byte order 0x%08x: written on a machine of another byte order, "
			"which this program does not read",
			ep->dir, f->name, h->byte_order);
	if (h->major != TIPME_FORMAT_MAJOR)
		return tipme_refuse(ep, -EPROTO,
				    "%s/%s: format %u.%u: this program reads format %u: use the "
				    "tipme that wrote it, or a later one",
				    ep->dir, f->name, h->major, h->minor, TIPME_FORMAT_MAJOR);
	if (h->header_len < sizeof(*h) || h->header_len > 4096 || h->header_len % 8)
		return tipme_refuse(ep, -EPROTO, "%s/%s: header of %u bytes: the file is damaged",
				    ep->dir, f->name, h->header_len);
	return 0;
}

/* 1: the file goes on; 0: it was cut, and that is noted. */
static int read_header(struct tipme_episode *ep, struct tipme_file *f)
{
	struct tipme_file_header h;

	if (f->size < sizeof(h)) {
		tipme_damaged(ep, "%s: was cut: %llu bytes, not even its header of %zu", f->name,
			      (unsigned long long)f->size, sizeof(h));
		return 0;
	}
	if (tipme_read_at(f->fd, (uint8_t *)&h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return tipme_refuse(ep, -EIO, "%s/%s: cannot be read at byte 0", ep->dir, f->name);
	int err = check_header(ep, f, &h);

	if (err)
		return err;
	if (f->size < h.header_len) {
		tipme_damaged(ep, "%s: was cut: %llu bytes, not even its header of %u", f->name,
			      (unsigned long long)f->size, h.header_len);
		return 0;
	}
	uint64_t body = f->size - h.header_len;

	if (body < h.body_len)
		tipme_damaged(ep, "%s: was cut: %llu of %llu bytes are there", f->name,
			      (unsigned long long)body, (unsigned long long)h.body_len);
	else if (body > h.body_len)
		tipme_damaged(ep, "%s: has %llu bytes behind its end, not read", f->name,
			      (unsigned long long)(body - h.body_len));
	f->header_len = h.header_len;
	f->body_len = body < h.body_len ? body : h.body_len;
	return 1;
}

static int stop_file(struct tipme_episode *ep, const struct tipme_file *f, uint32_t n, uint64_t at,
		     const char *why)
{
	tipme_damaged(ep, "%s: section %u at byte %llu: %s: the rest of the file is not read",
		      f->name, n, (unsigned long long)at, why);
	return 0;
}

struct tipme_section_head {
	uint32_t type, len;
	uint32_t source, cpu;
	uint64_t first_ns, last_ns, count, body_len;
};

/* Says what is impossible about a section's head; NULL: nothing is. */
static const char *section_wrong(const struct tipme_section_head *h, uint32_t n, char *why,
				 size_t size)
{
	if (h->type != TIPME_SECTION)
		snprintf(why, size, "record of type %u where a section belongs", h->type);
	else if (h->len < sizeof(struct tipme_section))
		snprintf(why, size, "length %u", h->len);
	else if (n > TIPME_SECTIONS_MOST)
		snprintf(why, size, "too many sections");
	else if (h->body_len > TIPME_SECTION_MOST)
		snprintf(why, size, "%llu bytes long", (unsigned long long)h->body_len);
	else if (h->count > h->body_len / TIPME_RECORD_HEAD)
		snprintf(why, size, "%llu records in %llu bytes", (unsigned long long)h->count,
			 (unsigned long long)h->body_len);
	else
		return NULL;
	return why;
}

static int read_section(struct tipme_file *f, uint64_t at, struct tipme_section_head *h)
{
	struct tipme_section s;

	if (tipme_read_at(f->fd, (uint8_t *)&s, sizeof(s), at) != (ssize_t)sizeof(s))
		return -EIO;
	*h = (struct tipme_section_head){ .type = s.type,
					  .len = s.len8 * 8U,
					  .source = s.source,
					  .cpu = s.cpu,
					  .first_ns = s.first_ns,
					  .last_ns = s.last_ns,
					  .count = s.count,
					  .body_len = s.body_len };
	return 0;
}

static int keep_section(struct tipme_episode *ep, const struct tipme_episode_section *s)
{
	int err = tipme_grow(&ep->sections, &ep->section_room, ep->section_count + 1, sizeof(*s));

	if (!err)
		ep->sections[ep->section_count++] = *s;
	return err;
}

static int scan_sections(struct tipme_episode *ep, uint32_t number)
{
	struct tipme_file *f = &ep->files[number];
	uint64_t at = f->header_len, end = at + f->body_len, records = 0;
	char why[96];

	for (uint32_t n = 1; at < end; n++) {
		struct tipme_section_head h;

		if (end - at < sizeof(struct tipme_section) || read_section(f, at, &h))
			return stop_file(ep, f, n, at, "cut");
		if (section_wrong(&h, n, why, sizeof(why)))
			return stop_file(ep, f, n, at, why);
		uint64_t body = at + h.len, left = end > body ? end - body : 0;
		struct tipme_episode_section s = { .file = number,
						   .source = h.source,
						   .cpu = h.cpu,
						   .first_ns = h.first_ns,
						   .last_ns = h.last_ns,
						   .count = h.count,
						   .offset = body,
						   .body_len = h.body_len,
						   .number = records,
						   .cut = h.body_len > left };

		if (s.cut) {
			s.body_len = left;
			snprintf(why, sizeof(why), "%llu of %llu bytes are there",
				 (unsigned long long)left, (unsigned long long)h.body_len);
			stop_file(ep, f, n, at, why);
		}
		int err = s.body_len || s.count ? keep_section(ep, &s) : 0;

		if (err)
			return err;
		at = body + h.body_len;
		records += h.count;
	}
	return 0;
}

static int open_file(struct tipme_episode *ep, const char *name)
{
	struct stat st;
	struct tipme_file *f = &ep->files[ep->file_count];

	if (fstatat(ep->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT) {
		tipme_damaged(ep, "%s: is missing", name);
		return 0;
	}
	snprintf(f->name, sizeof(f->name), "%s", name);
	f->fd = tipme_open_plain(ep, name, &f->size);
	if (f->fd < 0)
		return f->fd;
	ep->file_count++;
	if (f->size > TIPME_FILE_MOST)
		return tipme_refuse(ep, -EPROTO, "%s/%s: %llu bytes: more than this program reads",
				    ep->dir, name, (unsigned long long)f->size);
	int more = read_header(ep, f);

	return more <= 0 ? more : scan_sections(ep, ep->file_count - 1);
}

static bool is_open(const struct tipme_episode *ep, const char *name)
{
	for (uint32_t i = 0; i < ep->file_count; i++) {
		if (!strcmp(ep->files[i].name, name))
			return true;
	}
	return false;
}

static int by_first(const void *one, const void *other, void *arg)
{
	const struct tipme_episode_section *a = one, *b = other;
	const struct tipme_episode *ep = arg;

	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns ? -1 : 1;
	if (a->file != b->file)
		return strcmp(ep->files[a->file].name, ep->files[b->file].name);
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

int tipme_files_open(struct tipme_episode *ep)
{
	for (size_t i = 0; i < ep->facts.source_count; i++) {
		const char *name = ep->facts.sources[i].file;
		int err = is_open(ep, name) ? 0 : open_file(ep, name);

		if (err < 0)
			return err;
	}
	if (ep->section_count)
		qsort_r(ep->sections, ep->section_count, sizeof(*ep->sections), by_first, ep);
	return 0;
}

int tipme_section_read(struct tipme_episode *ep, const struct tipme_episode_section *s,
		       uint8_t **bytes, size_t *len)
{
	if (s->file >= ep->file_count || s->body_len > TIPME_SECTION_MOST)
		return -EINVAL;
	uint8_t *b = malloc((size_t)s->body_len + 1);

	if (!b)
		return -ENOMEM;
	ssize_t got = tipme_read_at(ep->files[s->file].fd, b, (size_t)s->body_len, s->offset);

	if (got < 0) {
		free(b);
		return (int)got;
	}
	*bytes = b;
	*len = (size_t)got;
	return 0;
}

void tipme_section_broken(struct tipme_episode *ep, const struct tipme_episode_section *s,
			  uint64_t nr, uint64_t at, const char *why)
{
	if (!s->cut)
		tipme_damaged(
			ep,
			"%s: record %llu of the section at byte %llu, at byte %llu: %s: the rest of the section is not read",
			ep->files[s->file].name, (unsigned long long)nr,
			(unsigned long long)s->offset, (unsigned long long)(s->offset + at), why);
}

int tipme_section_each(struct tipme_episode *ep, const struct tipme_episode_section *s,
		       int (*each)(void *, const struct tipme_rec *), void *arg)
{
	uint8_t *bytes;
	size_t len;
	struct tipme_rec r;
	uint64_t nr = 1;
	char why[96];
	int err = tipme_section_read(ep, s, &bytes, &len);

	if (err)
		return err;
	struct tipme_walk w = { bytes, bytes + len };

	while ((err = tipme_record_next(&w, &r)) == 1) {
		nr++;
		err = each(arg, &r);
		if (err)
			break;
	}
	if (err == -EBADMSG) {
		tipme_walk_why(&w, why, sizeof(why));
		tipme_section_broken(ep, s, nr, (uint64_t)(w.at - bytes), why);
		err = 0;
	}
	free(bytes);
	return err;
}
