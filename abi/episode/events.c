// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel records of many sections as columns in one order of time. Two passes over the sections:
 * the first counts, the second merges them straight into the columns, so that only the sections
 * that overlap at one time are held in memory.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "episode/private.h"
#include "episode/table.h"

#define FLUSH_ROWS 65536U /* written rows after which a file's pages leave our memory */
#define KINDS 256U

/*
 * How often each key comes; later where its next index stands. Open addressing; key + 1, 0 is free.
 */
struct keys {
	uint64_t *key;
	uint32_t *n;
	uint32_t room, count;
};

struct lists {
	struct keys keys;
	uint32_t *key, *first, *index; /* in the columns */
	uint32_t total;
};

struct cursor {
	uint8_t *raw; /* the records, 32 bytes each */
	struct order {
		uint64_t ts;
		uint32_t at;
	} * order;
	uint32_t count, at, piece;
};

struct build {
	struct tipme_piece *pieces;
	uint32_t count; /* of pieces */
	uint64_t until_ns;
	bool swap, is_file;
	struct tipme_columns_map map;
	uint64_t *ts;
	uint8_t *type;
	uint16_t *cpu;
	uint32_t *tid, *a, *b, *c, *d, *sec, *nr;
	struct lists by_tid, by_cpu, by_kind;
	uint32_t rows, row, flushed;
	uint32_t *opening; /* pieces in order of min_ns */
	uint32_t next_opening;
	struct cursor *heap;
	size_t heap_count, heap_room;
	uint8_t *buffer;
	size_t buffer_room;
};

/* ---- keys ---- */

static uint32_t slot_of(const struct keys *k, uint32_t key)
{
	uint32_t i = (uint32_t)((key * 0x9e3779b97f4a7c15ULL) >> 32) & (k->room - 1);

	while (k->key[i] && k->key[i] != key + 1ULL)
		i = (i + 1) & (k->room - 1);
	return i;
}

static int widen(struct keys *k)
{
	struct keys old = *k;

	k->room = old.room ? 2 * old.room : 1024;
	k->key = calloc(k->room, sizeof(*k->key));
	k->n = calloc(k->room, sizeof(*k->n));
	for (uint32_t i = 0; k->key && k->n && i < old.room; i++) {
		if (!old.key[i])
			continue;
		uint32_t to = slot_of(k, (uint32_t)(old.key[i] - 1));

		k->key[to] = old.key[i];
		k->n[to] = old.n[i];
	}
	free(old.key);
	free(old.n);
	return k->key && k->n ? 0 : -ENOMEM;
}

static int count_key(struct lists *l, uint32_t key)
{
	struct keys *k = &l->keys;

	if (2 * (k->count + 1) > k->room && widen(k))
		return -ENOMEM;
	uint32_t i = slot_of(k, key);

	k->count += !k->key[i];
	k->key[i] = key + 1ULL;
	k->n[i]++;
	l->total++;
	return 0;
}

static uint32_t put32(const struct build *b, uint32_t n)
{
	return b->swap ? __builtin_bswap32(n) : n;
}

/* Beyond what the first pass counted, as in a file that grows meanwhile, nothing is written. */
static int add_index(struct build *b, struct lists *l, uint32_t key)
{
	if (!l->keys.room)
		return -EIO;
	uint32_t i = slot_of(&l->keys, key);

	if (!l->keys.key[i] || l->keys.n[i] >= l->total)
		return -EIO;
	l->index[l->keys.n[i]++] = put32(b, b->row);
	return 0;
}

static int by_number(const void *one, const void *other)
{
	const uint32_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

/* From counts to places: the keys in order, where each begins. */
static void settle_keys(struct build *b, struct lists *l)
{
	struct keys *k = &l->keys;
	uint32_t n = 0, at = 0;

	for (uint32_t i = 0; i < k->room; i++) {
		if (k->key[i])
			l->key[n++] = (uint32_t)(k->key[i] - 1);
	}
	qsort(l->key, n, sizeof(*l->key), by_number);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t s = slot_of(k, l->key[i]), many = k->n[s];

		k->n[s] = at;
		l->first[i] = put32(b, at);
		l->key[i] = put32(b, l->key[i]);
		at += many;
	}
	l->first[n] = put32(b, at);
}

/* ---- records of a piece ---- */

static bool is_event(const struct tipme_rec *r)
{
	return (r->type >= TIPME_EVENT_FIRST && r->type <= TIPME_EVENT_LAST) ||
	       (r->type >= TIPME_EVENT_WAYLAND_FIRST && r->type <= TIPME_EVENT_WAYLAND_LAST);
}

static int read_piece(struct build *b, const struct tipme_piece *p, struct tipme_walk *w)
{
	if (p->len > TIPME_SECTION_MOST)
		return -E2BIG;
	int err = tipme_grow(&b->buffer, &b->buffer_room, (size_t)p->len + 1, 1);

	if (err)
		return err;
	ssize_t got = tipme_read_at(p->fd, b->buffer, (size_t)p->len, p->offset);

	if (got < 0)
		return (int)got;
	*w = (struct tipme_walk){ b->buffer, b->buffer + got };
	return 0;
}

/* Calls each() with the place of every list that an event belongs to. */
static int each_key(struct build *b, uint8_t type, uint32_t tid, uint32_t other, uint32_t cpu,
		    int (*each)(struct build *, struct lists *, uint32_t))
{
	int err = 0;

	switch (type) {
	case TIPME_SCHED_SWITCH:
		if (tid)
			err = each(b, &b->by_tid, tid);
		if (other && !err)
			err = each(b, &b->by_tid, other);
		return err ? err : each(b, &b->by_cpu, cpu & 0xffff);
	case TIPME_SCHED_WAKING: return each(b, &b->by_tid, tid);
	case TIPME_FORK: err = each(b, &b->by_tid, other); break;
	}
	return err ? err : each(b, &b->by_kind, type);
}

static int count_one(struct build *b, struct lists *l, uint32_t key)
{
	(void)b;
	return count_key(l, key);
}

static int scan_piece(struct build *b, struct tipme_piece *p, bool keys)
{
	struct tipme_walk w;
	struct tipme_rec r;
	uint64_t nr = 1;
	int err = read_piece(b, p, &w), more = 0;

	p->min_ns = UINT64_MAX;
	p->odd = !err && (uint64_t)(w.end - w.at) != p->len;
	while (!err && (more = tipme_record_next(&w, &r)) == 1) {
		nr++;
		p->odd |= r.len != TIPME_EVENT_SIZE || !is_event(&r);
		if (!is_event(&r)) {
			p->unknown++;
			continue;
		}
		p->all++;
		if (r.ts_ns > b->until_ns)
			continue;
		p->kept++;
		p->min_ns = r.ts_ns < p->min_ns ? r.ts_ns : p->min_ns;
		p->max_ns = r.ts_ns > p->max_ns ? r.ts_ns : p->max_ns;
		if (keys)
			err = each_key(b, r.type, r.tid,
				       r.len >= 20 ? tipme_get32(r.bytes + 16) : 0, p->cpu,
				       count_one);
	}
	if (!err && more < 0) {
		p->odd = p->broken = true;
		p->broken_nr = (uint32_t)nr;
		p->broken_at = (uint64_t)(w.at - b->buffer);
	}
	return err;
}

int tipme_pieces_scan(struct tipme_piece *pieces, uint32_t count, uint64_t until_ns)
{
	struct build b = { .until_ns = until_ns };
	int err = 0;

	for (uint32_t i = 0; !err && i < count; i++)
		err = scan_piece(&b, &pieces[i], false);
	free(b.buffer);
	return err;
}

/* ---- order inside a piece ---- */

static void merge(const struct order *from, struct order *to, size_t left, size_t middle,
		  size_t right)
{
	for (size_t i = left, j = middle, k = left; k < right; k++)
		to[k] = j >= right || (i < middle && from[i].ts <= from[j].ts) ? from[i++]
									       : from[j++];
}

/* Sections are nearly in order: runs are merged, two that stand side by side, until one is left. */
static int sort_runs(struct cursor *c, uint32_t *start, size_t runs)
{
	size_t n = c->count;
	struct order *from = c->order, *to = malloc((n + 1) * sizeof(*to));

	if (!to)
		return -ENOMEM;
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
		struct order *other = from;

		from = to;
		to = other;
	}
	c->order = from;
	free(to);
	return 0;
}

static int sort_cursor(struct cursor *c)
{
	uint32_t *start = malloc((c->count + 2UL) * sizeof(*start));
	size_t runs = 0;

	if (!start)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->count; i++) {
		if (!i || c->order[i].ts < c->order[i - 1].ts)
			start[runs++] = i;
	}
	start[runs] = c->count;
	int err = runs > 1 ? sort_runs(c, start, runs) : 0;

	free(start);
	return err;
}

/*
 * Takes the records of known kinds, each as 32 bytes; their number must be that of the first pass.
 */
static int take_piece(struct build *b, struct cursor *c)
{
	const struct tipme_piece *p = &b->pieces[c->piece];
	struct tipme_walk w;
	struct tipme_rec r;
	uint32_t n = 0;
	int err = read_piece(b, p, &w);

	c->raw = malloc((p->all + 1UL) * TIPME_EVENT_SIZE);
	c->order = malloc((p->kept + 1UL) * sizeof(*c->order));
	if (!err && (!c->raw || !c->order))
		err = -ENOMEM;
	while (!err && tipme_record_next(&w, &r) == 1) {
		if (!is_event(&r))
			continue;
		if (n >= p->all || (r.ts_ns <= b->until_ns && c->count >= p->kept))
			return -EIO;
		tipme_record_event(&r, c->raw + (size_t)n * TIPME_EVENT_SIZE);
		if (r.ts_ns <= b->until_ns)
			c->order[c->count++] = (struct order){ r.ts_ns, n };
		n++;
	}
	if (!err && (n != p->all || c->count != p->kept))
		err = -EIO;
	return err ? err : sort_cursor(c);
}

/* ---- merge of the pieces ---- */

static bool before(const struct cursor *a, const struct cursor *b)
{
	uint64_t s = a->order[a->at].ts, t = b->order[b->at].ts;

	return s < t || (s == t && a->piece < b->piece);
}

static void sink(struct build *b, size_t i)
{
	for (;;) {
		size_t least = i, left = 2 * i + 1;

		if (left < b->heap_count && before(&b->heap[left], &b->heap[least]))
			least = left;
		if (left + 1 < b->heap_count && before(&b->heap[left + 1], &b->heap[least]))
			least = left + 1;
		if (least == i)
			return;
		struct cursor other = b->heap[i];

		b->heap[i] = b->heap[least];
		b->heap[least] = other;
		i = least;
	}
}

static void rise(struct build *b, size_t i)
{
	while (i && before(&b->heap[i], &b->heap[(i - 1) / 2])) {
		struct cursor other = b->heap[i];

		b->heap[i] = b->heap[(i - 1) / 2];
		b->heap[(i - 1) / 2] = other;
		i = (i - 1) / 2;
	}
}

static void close_cursor(struct cursor *c)
{
	free(c->raw);
	free(c->order);
}

static int open_piece(struct build *b, uint32_t piece)
{
	struct cursor c = { .piece = piece };
	int err = tipme_grow(&b->heap, &b->heap_room, b->heap_count + 1, sizeof(*b->heap));

	err = err ? err : take_piece(b, &c);
	if (err) {
		close_cursor(&c);
		return err;
	}
	b->heap[b->heap_count++] = c;
	rise(b, b->heap_count - 1);
	return 0;
}

/* Opens all pieces that may hold the next record. */
static int open_more(struct build *b)
{
	int err = 0;

	while (!err && b->next_opening < b->count) {
		const struct tipme_piece *p = &b->pieces[b->opening[b->next_opening]];

		if (p->kept && b->heap_count && p->min_ns > b->heap[0].order[b->heap[0].at].ts)
			break;
		if (p->kept)
			err = open_piece(b, b->opening[b->next_opening]);
		b->next_opening++;
	}
	return err;
}

static int write_row(struct build *b, const struct cursor *c)
{
	uint32_t at = c->order[c->at].at, i = b->row, cpu = b->pieces[c->piece].cpu;
	const uint8_t *r = c->raw + (size_t)at * TIPME_EVENT_SIZE;
	uint64_t ts = tipme_get64(r);

	b->ts[i] = b->swap ? __builtin_bswap64(ts) : ts;
	b->type[i] = r[8];
	b->cpu[i] = b->swap ? __builtin_bswap16((uint16_t)cpu) : (uint16_t)cpu;
	b->tid[i] = put32(b, tipme_get32(r + 12));
	b->a[i] = put32(b, tipme_get32(r + 16));
	b->b[i] = put32(b, tipme_get32(r + 20));
	b->c[i] = put32(b, tipme_get32(r + 24));
	b->d[i] = put32(b, tipme_get32(r + 28));
	b->sec[i] = put32(b, c->piece);
	b->nr[i] = put32(b, at + 1);
	int err = each_key(b, r[8], tipme_get32(r + 12), tipme_get32(r + 16), cpu, add_index);

	b->row++;
	return err;
}

static void flush_one(const void *column, uint32_t width, uint32_t from, uint32_t to)
{
	uintptr_t a = (uintptr_t)column + (uintptr_t)from * width,
		  e = (uintptr_t)column + (uintptr_t)to * width;

	a = a & ~4095UL;
	e = e & ~4095UL;
	if (e > a)
		madvise((void *)a, e - a, MADV_DONTNEED);
}

/* What is written of a file stays in the kernel's cache; our own memory need not hold it. */
static void flush_rows(struct build *b)
{
	const void *four[] = { b->tid, b->a, b->b, b->c, b->d, b->sec, b->nr };

	if (!b->is_file || b->row - b->flushed < FLUSH_ROWS)
		return;
	flush_one(b->ts, 8, b->flushed, b->row);
	flush_one(b->type, 1, b->flushed, b->row);
	flush_one(b->cpu, 2, b->flushed, b->row);
	for (size_t i = 0; i < sizeof(four) / sizeof(four[0]); i++)
		flush_one(four[i], 4, b->flushed, b->row);
	b->flushed = b->row;
}

static int merge_pieces(struct build *b)
{
	int err = open_more(b);

	while (!err && b->heap_count) {
		struct cursor *c = &b->heap[0];

		if (b->row >= b->rows)
			return -EIO;
		err = write_row(b, c);
		if (++c->at == c->count) {
			close_cursor(c);
			b->heap[0] = b->heap[--b->heap_count];
		}
		sink(b, 0);
		if (!err)
			err = open_more(b);
		flush_rows(b);
	}
	return !err && b->row != b->rows ? -EIO : err;
}

static int by_min(const void *one, const void *other, void *arg)
{
	const uint32_t *a = one, *b = other;
	const struct tipme_piece *pieces = arg;

	if (pieces[*a].min_ns != pieces[*b].min_ns)
		return pieces[*a].min_ns < pieces[*b].min_ns ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

static int scan_all(struct build *b)
{
	uint64_t rows = 0;
	int err = 0;

	for (uint32_t i = 0; !err && i < b->count; i++) {
		err = scan_piece(b, &b->pieces[i], true);
		rows += b->pieces[i].kept;
		if (rows > TIPME_EVENTS_MOST)
			err = -E2BIG;
	}
	b->rows = (uint32_t)rows;
	b->opening = malloc((b->count + 1UL) * sizeof(*b->opening));
	if (!err && !b->opening)
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < b->count; i++)
		b->opening[i] = i;
	if (!err)
		qsort_r(b->opening, b->count, sizeof(*b->opening), by_min, b->pieces);
	return err;
}

#define LIST(list, table)                                                                 \
	{ table, "key", 4, b->list.keys.count, (void **)&b->list.key },                   \
		{ table, "first", 4, b->list.keys.count + 1UL, (void **)&b->list.first }, \
	{                                                                                 \
		table, "index", 4, b->list.total, (void **)&b->list.index                 \
	}

static int make_columns(struct build *b, int fd)
{
	uint64_t n = b->rows;
	const struct tipme_columns_want want[] = {
		{ "events", "ts", 8, n, (void **)&b->ts },
		{ "events", "type", 1, n, (void **)&b->type },
		{ "events", "cpu", 2, n, (void **)&b->cpu },
		{ "events", "tid", 4, n, (void **)&b->tid },
		{ "events", "a", 4, n, (void **)&b->a },
		{ "events", "b", 4, n, (void **)&b->b },
		{ "events", "c", 4, n, (void **)&b->c },
		{ "events", "d", 4, n, (void **)&b->d },
		{ "events", "sec", 4, n, (void **)&b->sec },
		{ "events", "nr", 4, n, (void **)&b->nr },
		LIST(by_tid, "by_tid"),
		LIST(by_cpu, "by_cpu"),
		LIST(by_kind, "by_kind"),
	};
	int err = tipme_columns_make(&b->map, fd, b->swap, want, sizeof(want) / sizeof(want[0]));

	if (err)
		return err;
	settle_keys(b, &b->by_tid);
	settle_keys(b, &b->by_cpu);
	settle_keys(b, &b->by_kind);
	return 0;
}

static struct tipme_groups groups_of(const struct lists *l)
{
	return (struct tipme_groups){ l->keys.count, l->key, l->first, l->index };
}

static void build_free(struct build *b)
{
	struct lists *all[] = { &b->by_tid, &b->by_cpu, &b->by_kind };

	for (size_t i = 0; i < 3; i++) {
		free(all[i]->keys.key);
		free(all[i]->keys.n);
	}
	for (size_t i = 0; i < b->heap_count; i++)
		close_cursor(&b->heap[i]);
	free(b->heap);
	free(b->opening);
	free(b->buffer);
}

int tipme_events_build(struct tipme_events *ev, struct tipme_piece *pieces, uint32_t count,
		       uint64_t until_ns, int fd, bool big_endian)
{
	struct build b = { .pieces = pieces,
			   .count = count,
			   .until_ns = until_ns,
			   .swap = big_endian,
			   .is_file = fd >= 0 };
	int err = scan_all(&b);

	err = err ? err : make_columns(&b, fd);
	err = err ? err : merge_pieces(&b);
	if (err)
		tipme_columns_free(&b.map);
	else
		*ev = (struct tipme_events){ .count = b.rows,
					     .ts_ns = b.ts,
					     .type = b.type,
					     .cpu = b.cpu,
					     .tid = b.tid,
					     .a = b.a,
					     .b = b.b,
					     .c = b.c,
					     .d = b.d,
					     .section = b.sec,
					     .nr = b.nr,
					     .by_tid = groups_of(&b.by_tid),
					     .by_cpu = groups_of(&b.by_cpu),
					     .by_kind = groups_of(&b.by_kind),
					     .to_ns = until_ns,
					     .map = b.map.at,
					     .map_len = b.map.len };
	build_free(&b);
	return err;
}

void tipme_events_free(struct tipme_events *ev)
{
	struct tipme_columns_map map = { ev->map, ev->map_len };

	tipme_columns_free(&map);
	free((void *)ev->sections);
	*ev = (struct tipme_events){ 0 };
}

uint32_t tipme_events_at(const struct tipme_events *ev, uint64_t ts_ns)
{
	uint32_t lo = 0, hi = ev->count;

	while (lo < hi) {
		uint32_t m = lo + (hi - lo) / 2;

		if (ev->ts_ns[m] < ts_ns)
			lo = m + 1;
		else
			hi = m;
	}
	return lo;
}

const uint32_t *tipme_group(const struct tipme_groups *g, uint32_t key, uint32_t *count)
{
	uint32_t lo = 0, hi = g->count;

	while (lo < hi) {
		uint32_t m = lo + (hi - lo) / 2;

		if (g->key[m] < key)
			lo = m + 1;
		else
			hi = m;
	}
	*count = lo < g->count && g->key[lo] == key ? g->first[lo + 1] - g->first[lo] : 0;
	return *count ? g->index + g->first[lo] : g->index;
}
