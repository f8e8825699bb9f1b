// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who had the CPUs, from a file of columns: sums of each thread, and what of it a picture can show.
 * A thread may be several to the reader, one after the other (it got another name, or another
 * process took its number): `rows` say from when on it is which.
 */
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "episode/table.h"

#define ROWS_MOST (4U << 20)
#define CPUS_MOST 65536U
#define WIDTH_MOST 100000U
#define WHOLE UINT64_MAX /* a span that fills a pixel column */

struct source {
	struct tipme_columns_map map;
	bool swap;
	const uint64_t *ts;
	const uint32_t *tid, *came, *bits, *key, *first, *index;
	uint64_t rows, keys, indices;
};

struct row {
	uint32_t tid, rank, key;
	uint64_t from;
};

struct stretch {
	uint32_t cpu;
	uint64_t from, to;
};

struct request {
	struct row *rows; /* by thread, then time */
	struct stretch *stretches;
	uint32_t row_count, stretch_count;
};

/* ---- columns ---- */

static uint32_t get32(const struct source *s, const uint32_t *column, uint64_t i)
{
	return s->swap ? __builtin_bswap32(column[i]) : column[i];
}

static uint64_t get64(const struct source *s, const uint64_t *column, uint64_t i)
{
	return s->swap ? __builtin_bswap64(column[i]) : column[i];
}

static int open_source(struct source *s, int fd)
{
	uint64_t tids, cames, bits, firsts;
	int err = tipme_columns_open(&s->map, fd);

	if (err)
		return err;
	s->swap = tipme_columns_swapped(&s->map);
	s->ts = tipme_columns_find(&s->map, "events", "ts", 8, &s->rows);
	s->tid = tipme_columns_find(&s->map, "events", "tid", 4, &tids);
	s->came = tipme_columns_find(&s->map, "events", "a", 4, &cames);
	s->bits = tipme_columns_find(&s->map, "events", "d", 4, &bits);
	s->key = tipme_columns_find(&s->map, "by_cpu", "key", 4, &s->keys);
	s->first = tipme_columns_find(&s->map, "by_cpu", "first", 4, &firsts);
	s->index = tipme_columns_find(&s->map, "by_cpu", "index", 4, &s->indices);
	bool whole = s->ts && s->tid && s->came && s->bits && s->key && s->first && s->index;

	whole = whole && tids == s->rows && cames == s->rows && bits == s->rows;
	return whole && firsts == s->keys + 1 ? 0 : -EPROTO;
}

/* The switches of a CPU: where they are in `index`, as far as all of them are rows. */
static void switches_of(const struct source *s, uint32_t cpu, uint64_t *begin, uint64_t *end)
{
	*begin = *end = 0;
	for (uint64_t k = 0; k < s->keys; k++) {
		if (get32(s, s->key, k) != cpu)
			continue;
		*begin = get32(s, s->first, k);
		*end = get32(s, s->first, k + 1);
	}
	if (*begin > *end || *end > s->indices)
		*begin = *end = 0;
}

static uint64_t switch_at(const struct source *s, uint64_t k)
{
	uint32_t i = get32(s, s->index, k);

	return i < s->rows ? i : 0;
}

/* Somebody had the CPU. */
struct piece {
	uint64_t from, to;
	uint32_t tid;
	uint32_t index; /* the switch that says so */
	bool came; /* by which it came; else by which it left */
	bool leaves; /* by which it left then: the switch `left` */
	uint32_t left;
};

typedef void (*each_piece)(void *arg, const struct piece *p);

/*
 * Calls each() with who had a CPU, one after the other. Where a switch was lost, who leaves is
 * known to have been there; who came before that is not known to have stayed.
 */
static void walk(const struct source *s, const struct stretch *w, each_piece each, void *arg)
{
	uint64_t begin, end, t = w->from, k, hi;

	switches_of(s, w->cpu, &begin, &end);
	if (begin == end)
		return;
	for (k = begin, hi = end; k < hi;) {
		uint64_t m = k + (hi - k) / 2;

		if (get64(s, s->ts, switch_at(s, m)) <= t)
			k = m + 1;
		else
			hi = m;
	}
	for (; t < w->to; k++) {
		uint64_t next = k < end ? switch_at(s, k) : 0,
			 last = k > begin ? switch_at(s, k - 1) : 0;
		uint64_t until =
			k < end && get64(s, s->ts, next) < w->to ? get64(s, s->ts, next) : w->to;
		bool stayed = k > begin &&
			      (k == end || get32(s, s->tid, next) == get32(s, s->came, last));

		struct piece p = { t,
				   until,
				   stayed ? get32(s, s->came, last) : get32(s, s->tid, next),
				   (uint32_t)(stayed ? last : next),
				   stayed,
				   k < end,
				   (uint32_t)next };

		if (until > t)
			each(arg, &p);
		t = until > t ? until : t;
		if (k == end)
			break;
	}
}

/* ---- what is asked ---- */

static int read32(uint32_t *n)
{
	if (fread(n, sizeof(*n), 1, stdin) != 1)
		return -EIO;
	*n = le32toh(*n);
	return 0;
}

static int read64(uint64_t *n)
{
	if (fread(n, sizeof(*n), 1, stdin) != 1)
		return -EIO;
	*n = le64toh(*n);
	return 0;
}

static int read_row(struct row *r)
{
	return read32(&r->tid) || read64(&r->from) || read32(&r->rank) || read32(&r->key) ? -EIO
											  : 0;
}

static int read_stretch(struct stretch *s)
{
	return read32(&s->cpu) || read64(&s->from) || read64(&s->to) ? -EIO : 0;
}

static int read_request(struct request *q)
{
	int err = read32(&q->row_count) || q->row_count > ROWS_MOST ? -EIO : 0;

	q->rows = err ? NULL : calloc(q->row_count + 1UL, sizeof(*q->rows));
	err = !err && !q->rows ? -ENOMEM : err;
	for (uint32_t i = 0; !err && i < q->row_count; i++)
		err = read_row(&q->rows[i]);
	if (!err && (read32(&q->stretch_count) || q->stretch_count > CPUS_MOST))
		err = -EIO;
	q->stretches = err ? NULL : calloc(q->stretch_count + 1UL, sizeof(*q->stretches));
	err = !err && !q->stretches ? -ENOMEM : err;
	for (uint32_t i = 0; !err && i < q->stretch_count; i++)
		err = read_stretch(&q->stretches[i]);
	return err;
}

static void free_request(struct request *q)
{
	free(q->rows);
	free(q->stretches);
}

/* The row of a thread at a time: its number; row_count: there is none. */
static uint32_t row_at(const struct request *q, uint32_t tid, uint64_t t)
{
	uint32_t lo = 0, hi = q->row_count;

	while (lo < hi) {
		uint32_t m = lo + (hi - lo) / 2;

		if (q->rows[m].tid < tid || (q->rows[m].tid == tid && q->rows[m].from <= t))
			lo = m + 1;
		else
			hi = m;
	}
	return lo && q->rows[lo - 1].tid == tid ? lo - 1 : q->row_count;
}

static void write32(uint32_t n)
{
	n = htole32(n);
	fwrite_unlocked(&n, sizeof(n), 1, stdout);
}

static void write64(uint64_t n)
{
	n = htole64(n);
	fwrite_unlocked(&n, sizeof(n), 1, stdout);
}

/* ---- sums ---- */

struct sum {
	uint32_t tid, row;
	uint64_t ns, longest_ns, longest_from;
};

struct sums {
	const struct request *q;
	struct sum *at; /* open addressing; ns 0 is free */
	size_t room, count;
	int err;
};

static struct sum *sum_of(const struct sums *s, uint32_t tid, uint32_t row)
{
	size_t i =
		(size_t)(((uint64_t)row << 32 | tid) * 0x9e3779b97f4a7c15ULL >> 32) & (s->room - 1);

	while (s->at[i].ns && (s->at[i].tid != tid || s->at[i].row != row))
		i = (i + 1) & (s->room - 1);
	return &s->at[i];
}

static void widen(struct sums *s)
{
	struct sums old = *s;

	s->room = old.room ? 2 * old.room : 256;
	s->at = calloc(s->room, sizeof(*s->at));
	if (!s->at) {
		s->err = -ENOMEM;
		s->at = old.at;
		s->room = old.room;
		return;
	}
	for (size_t i = 0; i < old.room; i++) {
		if (old.at[i].ns)
			*sum_of(s, old.at[i].tid, old.at[i].row) = old.at[i];
	}
	free(old.at);
}

static void add_piece(void *arg, const struct piece *p)
{
	struct sums *s = arg;

	if (2 * (s->count + 1) > s->room)
		widen(s);
	if (s->err)
		return;
	uint32_t row = row_at(s->q, p->tid, p->from);
	struct sum *one = sum_of(s, p->tid, row);

	s->count += !one->ns;
	one->tid = p->tid;
	one->row = row;
	one->ns += p->to - p->from;
	if (p->to - p->from <= one->longest_ns)
		return;
	one->longest_ns = p->to - p->from;
	one->longest_from = p->from;
}

static int write_sums(const struct source *src, const struct request *q, const struct stretch *w)
{
	struct sums s = { .q = q };

	walk(src, w, add_piece, &s);
	if (!s.err)
		write32((uint32_t)s.count);
	for (size_t i = 0; !s.err && i < s.room; i++) {
		if (!s.at[i].ns)
			continue;
		write32(s.at[i].tid);
		write64(s.at[i].ns);
		write64(s.at[i].longest_ns);
		write64(s.at[i].longest_from);
	}
	free(s.at);
	return s.err;
}

int tipme_occupancy_sums(int fd)
{
	struct source src = { .swap = false };
	struct request q = { .row_count = 0 };
	int err = read_request(&q);

	err = err ? err : open_source(&src, fd);
	for (uint32_t i = 0; !err && i < q.stretch_count; i++)
		err = write_sums(&src, &q, &q.stretches[i]);
	tipme_columns_free(&src.map);
	free_request(&q);
	return err ? err : fflush(stdout) ? -errno : 0;
}

/* ---- pixel columns ---- */

struct pixel {
	uint64_t fill;
	uint32_t rank, key; /* rank counts from 1; 0: nobody */
};

struct picture {
	const struct request *q;
	struct pixel *at;
	uint64_t from, to;
	uint32_t width;
};

static uint32_t column_of(const struct picture *p, uint64_t t)
{
	if (t <= p->from)
		return 0;
	if (t >= p->to)
		return p->width - 1;
	return (uint32_t)((unsigned __int128)(t - p->from) * p->width / (p->to - p->from));
}

/*
 * The worst of those that share a column wins; of equally bad ones the one that fills most of it,
 * then the first.
 */
static void draw_piece(void *arg, const struct piece *piece)
{
	struct picture *p = arg;
	uint64_t from = piece->from, to = piece->to;
	uint32_t row = row_at(p->q, piece->tid, from);

	if (row == p->q->row_count || to <= p->from || from >= p->to)
		return;
	uint32_t first = column_of(p, from), last = column_of(p, to - 1),
		 rank = p->q->rows[row].rank + 1;

	for (uint32_t c = first; c <= last; c++) {
		uint64_t fill = c > first && c < last ? WHOLE : to - from;
		struct pixel *best = &p->at[c];

		if (rank > best->rank || (rank == best->rank && fill > best->fill))
			*best = (struct pixel){ fill, rank, p->q->rows[row].key };
	}
}

static void write_runs(const struct picture *p)
{
	uint32_t runs = 0;

	for (int pass = 0; pass < 2; pass++) {
		if (pass)
			write32(runs);
		for (uint32_t c = 0, end; c < p->width; c = end) {
			end = c + 1;
			if (!p->at[c].rank)
				continue;
			while (end < p->width && p->at[end].rank && p->at[end].key == p->at[c].key)
				end++;
			runs += !pass;
			if (pass)
				write32(c), write32(end), write32(p->at[c].key);
		}
	}
}

int tipme_occupancy_runs(int fd, uint64_t from, uint64_t to, uint32_t width)
{
	struct source src = { .swap = false };
	struct request q = { .row_count = 0 };
	struct picture p = { .q = &q, .from = from, .to = to, .width = width };
	int err = !width || width > WIDTH_MOST || to <= from ? -EINVAL : read_request(&q);

	p.at = err ? NULL : malloc(width * sizeof(*p.at));
	err = !err && !p.at ? -ENOMEM : err;
	err = err ? err : open_source(&src, fd);
	for (uint32_t i = 0; !err && i < q.stretch_count; i++) {
		memset(p.at, 0, width * sizeof(*p.at));
		walk(&src, &q.stretches[i], draw_piece, &p);
		write_runs(&p);
	}
	free(p.at);
	tipme_columns_free(&src.map);
	free_request(&q);
	return err ? err : fflush(stdout) ? -errno : 0;
}

/* ---- turns ---- */

#define TURNS_MOST (4U << 20)
/* Priorities of the kernel: below are real-time, and so is that of SCHED_DEADLINE in a record. */
#define RT_BELOW 100
#define DEADLINE 255

/* Who had a CPU in a run, from its first turn on; run 0: that turn alone. */
struct turn {
	uint64_t from, to, ns;
	uint32_t run, tid, index, prio;
	uint32_t settled; /* it came with that priority, and left with it */
};

struct run {
	uint64_t to;
	uint32_t last; /* its last switch */
};

struct seat { /* where a thread's turn of a run is; run 0: the seat is free */
	uint32_t tid, run, turn;
};

struct turns {
	const struct source *src;
	const struct request *q;
	struct tipme_turns_kind kind;
	struct turn *at;
	struct run *runs; /* from 1 on */
	struct seat *seats; /* open addressing, by thread */
	uint32_t count, room, run, run_room, seated, seat_room;
	double until;
	bool real_time; /* the run that goes on is of such */
	int err;
};

static struct seat *seat_of(const struct turns *t, uint32_t tid)
{
	size_t i = (size_t)((uint64_t)tid * 0x9e3779b97f4a7c15ULL >> 32) & (t->seat_room - 1);

	while (t->seats[i].run && t->seats[i].tid != tid)
		i = (i + 1) & (t->seat_room - 1);
	return &t->seats[i];
}

static void more_seats(struct turns *t)
{
	struct turns old = *t;

	t->seat_room = old.seat_room ? 2 * old.seat_room : 256;
	t->seats = calloc(t->seat_room, sizeof(*t->seats));
	if (!t->seats) {
		*t = old;
		t->err = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < old.seat_room; i++)
		if (old.seats[i].run)
			*seat_of(t, old.seats[i].tid) = old.seats[i];
	free(old.seats);
}

/* Makes room for one more of an array. */
static void *wider(void *at, uint32_t count, uint32_t *room, size_t size, int *err)
{
	uint32_t wanted = *room ? 2 * *room : 256;
	void *more;

	if (count < *room)
		return at;
	more = wanted > TURNS_MOST ? NULL : realloc(at, wanted * size);
	*err = more ? *err : -ENOMEM;
	*room = more ? wanted : *room;
	return more ? more : at;
}

static uint32_t priority_of(const struct turns *t, uint32_t index, bool came)
{
	return get32(t->src, t->src->bits, index) >>
		       (came ? t->kind.next_shift : t->kind.prev_shift) &
	       255;
}

static bool is_settled(const struct turns *t, const struct piece *p, uint32_t prio)
{
	return p->came && p->leaves && get32(t->src, t->src->tid, p->index) != p->tid &&
	       priority_of(t, p->left, false) == prio;
}

static struct turn *new_turn(struct turns *t, const struct piece *p, uint32_t prio)
{
	t->at = wider(t->at, t->count, &t->room, sizeof(*t->at), &t->err);
	if (t->err)
		return NULL;
	t->at[t->count] =
		(struct turn){ p->from, p->to, p->to - p->from, 0, p->tid, p->index, prio, 0 };
	return &t->at[t->count++];
}

/* A run begins anew with another kind of wait, or after a length of time. */
static void run_for(struct turns *t, const struct piece *p, uint32_t prio)
{
	bool real_time = !t->kind.waits_real_time && (prio < RT_BELOW || prio == DEADLINE);

	if (t->until > 0 && t->real_time == real_time && (double)p->to <= t->until)
		return;
	t->runs = wider(t->runs, t->run + 1, &t->run_room, sizeof(*t->runs), &t->err);
	if (t->err)
		return;
	t->run++;
	t->real_time = real_time;
	t->until = (double)p->from + t->kind.length_ns;
}

static void take_turn(void *arg, const struct piece *p)
{
	struct turns *t = arg;
	uint32_t prio;
	struct seat *seat;
	struct turn *turn;

	if (t->err)
		return;
	prio = priority_of(t, p->index, p->came);
	if (!p->tid || p->tid == t->kind.tid) {
		t->until = 0;
		new_turn(t, p, prio);
		return;
	}
	run_for(t, p, prio);
	if (!t->err && 2 * (t->seated + 1) > t->seat_room)
		more_seats(t);
	if (t->err)
		return;
	seat = seat_of(t, p->tid);
	/* Those of rows are wanted turn by turn. */
	if (seat->run == t->run && row_at(t->q, p->tid, UINT64_MAX) == t->q->row_count) {
		t->at[seat->turn].ns += p->to - p->from;
	} else {
		t->seated += !seat->run;
		*seat = (struct seat){ p->tid, t->run, t->count };
		turn = new_turn(t, p, prio);
		if (!turn)
			return;
		turn->run = t->run;
		turn->settled = is_settled(t, p, prio);
	}
	t->runs[t->run] = (struct run){ p->to, p->index };
}

static void write_turns(const struct turns *t)
{
	write32(t->run);
	write32(t->count);
	for (uint32_t i = 1; i <= t->run; i++) {
		write64(t->runs[i].to);
		write32(t->runs[i].last);
	}
	for (uint32_t i = 0; i < t->count; i++) {
		const struct turn *one = &t->at[i];

		write64(one->from);
		write64(one->to);
		write64(one->ns);
		write32(one->run);
		write32(one->tid);
		write32(one->index);
		write32(one->prio);
		write32(one->settled);
	}
}

int tipme_occupancy_turns(int fd, const struct tipme_turns_kind *kind)
{
	struct source src = { .swap = false };
	struct request q = { .row_count = 0 };
	struct turns t = { .src = &src, .q = &q, .kind = *kind };
	int err = kind->next_shift > 24 || kind->prev_shift > 24 ? -EINVAL : read_request(&q);

	err = err ? err : open_source(&src, fd);
	for (uint32_t i = 0; !err && i < q.stretch_count; i++) {
		t.count = t.run = t.seated = 0;
		t.until = 0;
		if (t.seats)
			memset(t.seats, 0, t.seat_room * sizeof(*t.seats));
		walk(&src, &q.stretches[i], take_turn, &t);
		err = t.err;
		if (!err)
			write_turns(&t);
	}
	free(t.at);
	free(t.runs);
	free(t.seats);
	tipme_columns_free(&src.map);
	free_request(&q);
	return err ? err : fflush(stdout) ? -errno : 0;
}
