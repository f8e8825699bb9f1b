// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel source's records of many sections, as columns in one order of time, with lists of who took part in which: what the reader in
 * Perl does for few records (KernelEvents.pm), for many of them. Its input comes from a stranger's episode.
 *
 * usage: tipme-columns UNTIL-NS, with numbers of 32 bits, little-endian, and records on standard input and output:
 *   it reads     the number of sections; of each its file (an open descriptor), offset (64 bits), length in bytes, CPU
 *   it answers   a byte for each section: 0, it takes it as it stands; 1, not all of it are records of 32 bytes and of a kind it knows
 *   it reads     for each of the latter, in order: a length, and so many bytes of such records
 *   it answers   the number of records up to UNTIL-NS, then the columns ts type cpu tid a b c d sec nr (big-endian, as vec() of Perl reads
 *                them), then three groupings: by thread, by CPU (switches), by kind (all but switches and wakings); each has its number of
 *                keys, of each key that and how often it comes, then the indices of all
 */
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tipme_records.h"

#define RECORD 32
#define SECTIONS_MOST 200000U
#define RECORDS_MOST (64U << 20) /* 2 GiB of them */
#define FIRST TIPME_SCHED_SWITCH
#define LAST TIPME_AFFINITY

struct section {
	uint32_t fd;
	uint64_t offset;
	uint32_t len, cpu;
	uint32_t first; /* of its records, in `raw` */
	bool odd;
};

struct event {
	uint64_t ts;
	uint32_t at; /* which of `raw` */
};

struct all {
	uint8_t *raw; /* the records, one behind the other */
	uint32_t *section; /* of each */
	uint32_t count, room;
	struct section *sections;
	uint32_t section_count;
	struct event *order;
};

struct pair {
	uint32_t key, index;
};

struct pairs {
	struct pair *list;
	size_t count, room;
};

static int complain(const char *what, int err)
{
	fprintf(stderr, "tipme-columns: %s: %s\n", what, strerror(-err));
	return 1;
}

static int read_all(void *to, size_t len)
{
	return fread(to, 1, len, stdin) == len ? 0 : -EIO;
}

static int read_number(uint32_t *n)
{
	int err = read_all(n, sizeof(*n));

	*n = le32toh(*n);
	return err;
}

static uint32_t word(const uint8_t *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return le32toh(n);
}

static uint64_t time_of(const uint8_t *record)
{
	uint64_t n;

	memcpy(&n, record, sizeof(n));
	return le64toh(n);
}

static int read_sections(struct all *a)
{
	int err = read_number(&a->section_count);

	if (!err && a->section_count > SECTIONS_MOST)
		err = -E2BIG;
	if (err)
		return err;
	a->sections = calloc(a->section_count + 1, sizeof(*a->sections));
	if (!a->sections)
		return -ENOMEM;
	for (struct section *s = a->sections; !err && s < a->sections + a->section_count; s++) {
		uint32_t low, high;

		err = read_number(&s->fd) || read_number(&low) || read_number(&high) || read_number(&s->len) || read_number(&s->cpu) ? -EIO : 0;
		if (!err)
			s->offset = low | (uint64_t)high << 32;
	}
	return err;
}

static int make_room(struct all *a, size_t bytes)
{
	size_t need = a->count + bytes / RECORD;

	if (need > RECORDS_MOST)
		return -E2BIG;
	if (need <= a->room)
		return 0;
	size_t room = need + need / 2;
	uint8_t *raw = realloc(a->raw, room * RECORD);

	if (!raw)
		return -ENOMEM;
	a->raw = raw;
	uint32_t *section = realloc(a->section, room * sizeof(*section));

	if (!section)
		return -ENOMEM;
	a->section = section;
	a->room = (uint32_t)room;
	return 0;
}

static bool is_plain(const uint8_t *record)
{
	return record[8] >= FIRST && record[8] <= LAST && record[9] == RECORD / 8;
}

static void count_in(struct all *a, uint32_t section, size_t bytes)
{
	a->sections[section].first = a->count;
	for (size_t i = 0; i < bytes / RECORD; i++)
		a->section[a->count++] = section;
}

/* A file that has become shorter meanwhile is odd, too: the reader in Perl then says what it sees. */
static int take_section(struct all *a, uint32_t i)
{
	struct section *s = &a->sections[i];
	int err = make_room(a, s->len);

	if (err)
		return err;
	uint8_t *to = a->raw + (size_t)a->count * RECORD;

	s->odd = s->len % RECORD;
	for (size_t done = 0; !s->odd && done < s->len;) {
		ssize_t got = pread((int)s->fd, to + done, s->len - done, (off_t)(s->offset + done));

		if (got < 0 && errno != EINTR)
			return -errno;
		s->odd = !got;
		done += got > 0 ? (size_t)got : 0;
	}
	for (size_t at = 0; !s->odd && at < s->len; at += RECORD)
		s->odd = !is_plain(to + at);
	if (!s->odd)
		count_in(a, i, s->len);
	return 0;
}

/* Answers for each section, and takes those that the reader in Perl has made plain. Sections stay in their order, as records of one time do. */
static int take_all(struct all *a)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < a->section_count; i++) {
		uint32_t len = 0;

		err = take_section(a, i);
		if (err)
			break;
		putchar(a->sections[i].odd);
		if (!a->sections[i].odd)
			continue;
		fflush(stdout);
		err = read_number(&len);
		if (!err && len % RECORD)
			err = -EINVAL;
		if (!err)
			err = make_room(a, len);
		if (!err)
			err = read_all(a->raw + (size_t)a->count * RECORD, len);
		if (!err)
			count_in(a, i, len);
	}
	return err;
}

static void merge(const struct event *from, struct event *to, size_t left, size_t middle, size_t right)
{
	for (size_t i = left, j = middle, k = left; k < right; k++)
		to[k] = j >= right || (i < middle && from[i].ts <= from[j].ts) ? from[i++] : from[j++];
}

/* Sections are runs that are in order but for a few records; two runs that stand side by side are merged until one is left. Records of one time stay
 * in the order of their coming. */
static int sort_by_time(struct all *a)
{
	size_t n = a->count, runs = 0;
	uint32_t *start = malloc((n + 2) * sizeof(*start));
	struct event *from = malloc((n + 1) * sizeof(*from)), *to = malloc((n + 1) * sizeof(*to));

	a->order = from;
	if (!from || !to || !start) {
		free(to);
		free(start);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		from[i] = (struct event){ time_of(a->raw + i * RECORD), (uint32_t)i };
		if (!i || from[i].ts < from[i - 1].ts)
			start[runs++] = (uint32_t)i;
	}
	start[runs] = (uint32_t)n;
	while (runs > 1) {
		size_t left = 0, kept = 0;

		for (; left + 1 < runs; left += 2) {
			merge(from, to, start[left], start[left + 1], start[left + 2]);
			start[kept++] = start[left];
		}
		if (left < runs) {
			merge(from, to, start[left], n, n);
			start[kept++] = start[left];
		}
		start[kept] = (uint32_t)n;
		runs = kept;
		struct event *other = from;

		from = to;
		to = other;
	}
	a->order = from;
	free(to);
	free(start);
	return 0;
}

static void put32(uint32_t n)
{
	n = htobe32(n);
	fwrite_unlocked(&n, sizeof(n), 1, stdout);
}

static const uint8_t *record_at(const struct all *a, uint32_t i)
{
	return a->raw + (size_t)a->order[i].at * RECORD;
}

static void put_column(const struct all *a, int at)
{
	for (uint32_t i = 0; i < a->count; i++)
		put32(word(record_at(a, i) + at));
}

static void put_places(const struct all *a)
{
	for (uint32_t i = 0; i < a->count; i++)
		put32(a->section[a->order[i].at]);
	for (uint32_t i = 0; i < a->count; i++)
		put32(a->order[i].at - a->sections[a->section[a->order[i].at]].first + 1);
}

static void put_columns(const struct all *a)
{
	uint32_t n = htole32(a->count);

	fwrite_unlocked(&n, sizeof(n), 1, stdout);
	for (uint32_t i = 0; i < a->count; i++) {
		uint64_t ts = htobe64(a->order[i].ts);

		fwrite_unlocked(&ts, sizeof(ts), 1, stdout);
	}
	for (uint32_t i = 0; i < a->count; i++)
		putchar_unlocked(record_at(a, i)[8]);
	for (uint32_t i = 0; i < a->count; i++) {
		uint32_t cpu = a->sections[a->section[a->order[i].at]].cpu;

		putchar_unlocked(cpu >> 8 & 255);
		putchar_unlocked(cpu & 255);
	}
	for (int at = 12; at < RECORD; at += 4)
		put_column(a, at);
	put_places(a);
}

static int add(struct pairs *p, uint32_t key, uint32_t index)
{
	if (p->count == p->room) {
		size_t room = p->room ? 2 * p->room : 4096;
		struct pair *list = realloc(p->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		p->list = list;
		p->room = room;
	}
	p->list[p->count++] = (struct pair){ key, index };
	return 0;
}

/* By key, byte by byte; pairs of one key stay in their order, which is that of time. */
static int sort_by_key(struct pairs *p)
{
	struct pair *from = p->list, *to = malloc((p->count + 1) * sizeof(*to));

	if (!to)
		return -ENOMEM;
	for (int shift = 0; shift < 32; shift += 8) {
		size_t at[257] = { 0 };

		for (size_t i = 0; i < p->count; i++)
			at[(from[i].key >> shift & 255) + 1]++;
		for (int k = 0; k < 256; k++)
			at[k + 1] += at[k];
		for (size_t i = 0; i < p->count; i++)
			to[at[from[i].key >> shift & 255]++] = from[i];
		struct pair *other = from;

		from = to;
		to = other;
	}
	/* Four passes: it is in the list again. */
	free(to);
	p->list = from;
	p->room = p->count;
	return 0;
}

static int put_groups(struct pairs *p)
{
	uint32_t keys = 0;
	int err = sort_by_key(p);

	if (err)
		return err;
	for (size_t i = 0; i < p->count; i++)
		keys += !i || p->list[i].key != p->list[i - 1].key;
	put32(keys);
	for (size_t i = 0, n = 1; i < p->count; i++, n++) {
		if (i + 1 < p->count && p->list[i + 1].key == p->list[i].key)
			continue;
		put32(p->list[i].key);
		put32((uint32_t)n);
		n = 0;
	}
	for (size_t i = 0; i < p->count; i++)
		put32(p->list[i].index);
	free(p->list);
	p->list = NULL;
	return 0;
}

static int add_record(const uint8_t *r, uint32_t cpu, uint32_t i, struct pairs by[3])
{
	uint32_t tid = word(r + 12), other = word(r + 16);
	int err = 0;

	switch (r[8]) {
	case TIPME_SCHED_SWITCH:
		if (tid)
			err = add(&by[0], tid, i);
		if (other && !err)
			err = add(&by[0], other, i);
		return err ? err : add(&by[1], cpu & 0xffff, i);
	case TIPME_SCHED_WAKING:
		return add(&by[0], tid, i);
	case TIPME_FORK:
		err = add(&by[0], other, i);
		break;
	}
	return err ? err : add(&by[2], r[8], i);
}

static int put_lists(const struct all *a)
{
	struct pairs by[3] = { 0 };
	int err = 0;

	for (uint32_t i = 0; !err && i < a->count; i++)
		err = add_record(record_at(a, i), a->sections[a->section[a->order[i].at]].cpu, i, by);
	for (int k = 0; k < 3; k++) {
		if (!err)
			err = put_groups(&by[k]);
		free(by[k].list);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct all a = { 0 };

	if (argc != 2) {
		fprintf(stderr, "usage: tipme-columns UNTIL-NS; `tipme diagnose` calls it\n");
		return 64;
	}
	uint64_t until = strtoull(argv[1], NULL, 10);
	int err = read_sections(&a);

	if (!err)
		err = take_all(&a);
	if (!err)
		err = sort_by_time(&a);
	while (!err && a.count && a.order[a.count - 1].ts > until)
		a.count--;
	if (!err) {
		put_columns(&a);
		err = put_lists(&a);
	}
	if (!err && fflush(stdout))
		err = -errno;
	free(a.raw);
	free(a.section);
	free(a.sections);
	free(a.order);
	return err ? complain("records", err) : 0;
}
