// SPDX-License-Identifier: GPL-2.0-only
/*
 * What lasted beside threads: requests in disks, waits for kernel locks, interrupts. The rules are
 * those of postmortem/lib/Tipme/Resources.pm; docs/method.md tells them.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "episode/private.h"
#include "episode/table.h"

#define SECTORS_MOST 65535U /* of a request: that or more */
#define SECTORS_HUGE (1U << 20) /* taken where there are more than a record can tell */
#define NOBODY UINT32_MAX
#define REPLACED 2U /* `open`: one of the same name has begun since */
#define CHAIN_MOST 4096 /* steps: a stranger's episode must not take hours */

struct wait {
	uint64_t from, to, asked;
	uint32_t tid, number, order;
	uint16_t cpu;
	uint8_t type, kind, open;
};

/* A bio that waits for its request, in a chain of those of one hash. */
struct bio {
	uint64_t sector, ts;
	uint32_t dev, tid, sectors, next;
};

/* A wait that has begun: of a request by device and sector, of a lock by thread and lock. */
struct begun {
	uint64_t key;
	uint32_t with, wait, next;
};

struct making {
	const struct tipme_events *ev;
	struct wait *at;
	size_t count, room;
	struct bio *bios;
	size_t bio_count, bio_room;
	struct begun *begun;
	size_t begun_count, begun_room;
	uint32_t *bio_first, *begun_first; /* heads of chains, by hash; NOBODY: empty */
	uint32_t mask;
};

static uint32_t hash(const struct making *m, uint64_t key, uint32_t with)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15ULL + with * 0xc2b2ae3d27d4eb4fULL) >> 40) &
	       m->mask;
}

static uint64_t pair(uint32_t low, uint32_t high)
{
	return low | (uint64_t)high << 32;
}

/* Number of the new wait, or NOBODY where memory ends. */
static uint32_t wait_add(struct making *m, struct wait w)
{
	if (tipme_grow(&m->at, &m->room, m->count + 1, sizeof(*m->at)))
		return NOBODY;
	w.order = (uint32_t)m->count;
	m->at[m->count] = w;
	return (uint32_t)m->count++;
}

/* The link to the one of that name; NULL: none. */
static uint32_t *begun_find(struct making *m, uint64_t key, uint32_t with)
{
	uint32_t *link = &m->begun_first[hash(m, key, with)];

	for (int steps = 0; *link != NOBODY && steps < CHAIN_MOST; steps++) {
		const struct begun *b = &m->begun[*link];

		if (b->key == key && b->with == with)
			return link;
		link = &m->begun[*link].next;
	}
	return NULL;
}

/* One of that name that was not over never will be. */
static int begun_add(struct making *m, uint64_t key, uint32_t with, struct wait w)
{
	uint32_t *old = begun_find(m, key, with);
	uint32_t nr = wait_add(m, w);

	if (old) {
		m->at[m->begun[*old].wait].open = REPLACED;
		*old = m->begun[*old].next;
	}
	if (nr == NOBODY ||
	    tipme_grow(&m->begun, &m->begun_room, m->begun_count + 1, sizeof(*m->begun)))
		return -ENOMEM;
	uint32_t *head = &m->begun_first[hash(m, key, with)];

	m->begun[m->begun_count] = (struct begun){ key, with, nr, *head };
	*head = (uint32_t)m->begun_count++;
	return 0;
}

/* The one of that name, which now is over; NULL: none. */
static struct wait *begun_end(struct making *m, uint64_t key, uint32_t with, uint64_t ts)
{
	uint32_t *link = begun_find(m, key, with);

	if (!link)
		return NULL;
	struct begun *b = &m->begun[*link];
	struct wait *w = &m->at[b->wait];

	*link = b->next; /* so that chains stay short */
	w->to = ts;
	w->open = 0;
	return w;
}

/* ---- disks ---- */

/* At the end of its chain: of several for one sector the oldest goes first. */
static int bio_add(struct making *m, struct bio b)
{
	uint32_t *link = &m->bio_first[hash(m, b.sector, 0)];

	if (tipme_grow(&m->bios, &m->bio_room, m->bio_count + 1, sizeof(*m->bios)))
		return -ENOMEM;
	for (int steps = 0; *link != NOBODY; link = &m->bios[*link].next)
		if (steps++ == CHAIN_MOST)
			return 0;
	b.next = NOBODY;
	m->bios[m->bio_count] = b;
	*link = (uint32_t)m->bio_count++;
	return 0;
}

/* Takes the oldest bio of a sector, of that device rather than of a partition with its major. */
static const struct bio *bio_take(struct making *m, uint64_t sector, uint32_t dev)
{
	uint32_t *best = NULL;
	int steps = 0;

	for (uint32_t *link = &m->bio_first[hash(m, sector, 0)];
	     *link != NOBODY && steps++ < CHAIN_MOST; link = &m->bios[*link].next) {
		const struct bio *b = &m->bios[*link];

		if (b->sector != sector || b->dev >> 20 != dev >> 20)
			continue;
		if (!best || (b->dev == dev && m->bios[*best].dev != dev))
			best = link;
	}
	if (!best)
		return NULL;
	const struct bio *taken = &m->bios[*best];

	*best = taken->next;
	return taken;
}

/* Who asked first for these sectors; the rest of a bio that is too large for one request waits. */
static int bios_take(struct making *m, uint64_t sector, uint32_t sectors, struct wait *w)
{
	uint64_t end = sector + (sectors == SECTORS_MOST ? SECTORS_HUGE : sectors ? sectors : 1);
	struct bio last = { .sectors = 0 };
	bool first = true;

	for (uint64_t at = sector; at < end;) {
		const struct bio *b = bio_take(m, at, w->number);

		if (!b)
			break;
		if (first)
			w->tid = b->tid, w->asked = b->ts;
		first = false;
		last = *b;
		if (!b->sectors)
			break;
		at += b->sectors;
	}
	uint64_t over = last.sector + last.sectors - sector - sectors;

	if (first || sectors == SECTORS_MOST || last.sectors == SECTORS_MOST || !over ||
	    over >= last.sectors)
		return 0;
	last.sector = sector + sectors;
	last.sectors = (uint32_t)over;
	return bio_add(m, last);
}

/* A request without data has no sector: it is known by what it does. */
static uint64_t disk_key(uint64_t sector, uint32_t sectors, uint8_t op)
{
	return sectors ? sector : UINT64_MAX - op;
}

static int add_io(struct making *m, uint32_t i)
{
	const struct tipme_events *ev = m->ev;
	uint64_t sector = pair(ev->a[i], ev->b[i]), ts = ev->ts_ns[i];
	uint32_t dev = ev->c[i], sectors = ev->d[i] & 65535;
	uint8_t op = ev->d[i] >> 16 & 255, phase = (uint8_t)(ev->d[i] >> 24);
	struct wait w = { ts, UINT64_MAX, ts, 0, dev, 0, ev->cpu[i], TIPME_IO, op, 1 };
	const struct wait *over;
	int err;

	switch (phase) {
	case TIPME_IO_PHASE_QUEUED:
		return bio_add(m, (struct bio){ sector, ts, dev, ev->tid[i], sectors, NOBODY });
	case TIPME_IO_PHASE_ISSUED:
		err = bios_take(m, sector, sectors, &w);
		return err ? err : begun_add(m, disk_key(sector, sectors, op), dev, w);
	case TIPME_IO_PHASE_COMPLETED:
	case TIPME_IO_PHASE_FAILED:
		if (!begun_end(m, disk_key(sector, sectors, op), dev, ts) &&
		    op == TIPME_IO_OP_FLUSH)
			begun_end(m, disk_key(0, 0, op), dev, ts);
		return 0;
	case TIPME_IO_PHASE_REQUEUED:
		over = begun_end(m, disk_key(sector, sectors, op), dev, ts);
		return over ? bio_add(m, (struct bio){ sector, over->asked, dev, over->tid, sectors,
						       NOBODY })
			    : 0;
	}
	return 0;
}

/* ---- locks and interrupts ---- */

static int add_lock(struct making *m, uint32_t i)
{
	const struct tipme_events *ev = m->ev;
	uint64_t lock = pair(ev->a[i], ev->b[i]), ts = ev->ts_ns[i];
	uint8_t kind = ev->d[i] >> 16 & 255, phase = (uint8_t)(ev->d[i] >> 24);
	struct wait w = { ts,	    UINT64_MAX, ts,	    ev->tid[i],
			  ev->c[i], 0,		ev->cpu[i], TIPME_LOCK_CONTENTION,
			  kind,	    1 };

	if (phase != TIPME_PHASE_BEGIN) {
		begun_end(m, lock, ev->tid[i], ts);
		return 0;
	}
	uint32_t *spun = kind == TIPME_LOCK_KIND_FILE || kind == TIPME_LOCK_KIND_SPIN
				 ? NULL
				 : begun_find(m, lock, ev->tid[i]);

	if (!spun)
		return begun_add(m, lock, ev->tid[i], w);
	/* It has spun for the lock, and goes to sleep for it now: one wait. */
	if (ev->c[i])
		m->at[m->begun[*spun].wait].number = ev->c[i];
	return 0;
}

/* When a thread is woken after a time; 0: not that one knows. */
static uint64_t next_waking(const struct tipme_events *ev, uint32_t tid, uint64_t ts)
{
	uint32_t n, lo = 0, hi;
	const uint32_t *of = tipme_group(&ev->by_tid, tid, &n);

	for (hi = n; lo < hi;) {
		uint32_t middle = lo + (hi - lo) / 2;

		if (ev->ts_ns[of[middle]] <= ts)
			lo = middle + 1;
		else
			hi = middle;
	}
	for (uint32_t k = lo; k < n && k - lo < CHAIN_MOST; k++)
		if (ev->type[of[k]] == TIPME_SCHED_WAKING && ev->tid[of[k]] == tid)
			return ev->ts_ns[of[k]];
	return 0;
}

/* Who waits for a lock of a file sleeps until it has it. */
static void end_file_locks(struct making *m)
{
	for (size_t i = 0; i < m->count; i++) {
		struct wait *w = &m->at[i];

		if (w->type != TIPME_LOCK_CONTENTION || w->kind != TIPME_LOCK_KIND_FILE ||
		    w->open != 1)
			continue;
		uint64_t woken = next_waking(m->ev, w->tid, w->from);

		if (woken)
			w->to = woken, w->open = 0;
	}
}

static int add_irq(struct making *m, uint32_t i)
{
	const struct tipme_events *ev = m->ev;
	struct wait w = { ev->ts_ns[i],
			  ev->ts_ns[i] + ev->a[i],
			  ev->ts_ns[i],
			  ev->tid[i],
			  ev->b[i],
			  0,
			  ev->cpu[i],
			  TIPME_IRQ,
			  ev->d[i] >> 16 & 255,
			  0 };

	return wait_add(m, w) == NOBODY ? -ENOMEM : 0;
}

/* ---- all ---- */

static int by_place(const void *one, const void *other)
{
	const struct wait *a = one, *b = other;

	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int waits_columns(struct tipme_waits *to, const struct making *m)
{
	uint64_t n = m->count, *from, *until, *asked;
	uint32_t *tid, *number;
	uint16_t *cpu;
	uint8_t *type, *kind, *open;
	struct tipme_columns_map map = { 0 }, *kept = malloc(sizeof(*kept));
	const struct tipme_columns_want want[] = {
		{ "waits", "from", 8, n, (void **)&from },
		{ "waits", "to", 8, n, (void **)&until },
		{ "waits", "asked", 8, n, (void **)&asked },
		{ "waits", "tid", 4, n, (void **)&tid },
		{ "waits", "number", 4, n, (void **)&number },
		{ "waits", "cpu", 2, n, (void **)&cpu },
		{ "waits", "type", 1, n, (void **)&type },
		{ "waits", "kind", 1, n, (void **)&kind },
		{ "waits", "open", 1, n, (void **)&open },
	};
	int err = kept ? tipme_columns_make(&map, -1, false, want, sizeof(want) / sizeof(want[0]))
		       : -ENOMEM;

	if (err) {
		free(kept);
		return err;
	}
	for (size_t i = 0; i < n; i++) {
		const struct wait *w = &m->at[i];

		from[i] = w->from, until[i] = w->to, asked[i] = w->asked, tid[i] = w->tid;
		number[i] = w->number, cpu[i] = w->cpu, type[i] = w->type, kind[i] = w->kind;
		open[i] = w->open != 0;
	}
	*kept = map;
	*to = (struct tipme_waits){ (uint32_t)n, from, until, asked, tid, number,
				    cpu,	 type, kind,  open,  kept };
	return 0;
}

static int heads_make(struct making *m, uint32_t records)
{
	uint32_t size = 64;

	while (size < records && size < 1U << 22)
		size *= 2;
	m->mask = size - 1;
	m->bio_first = malloc(size * sizeof(*m->bio_first));
	m->begun_first = malloc(size * sizeof(*m->begun_first));
	if (!m->bio_first || !m->begun_first)
		return -ENOMEM;
	memset(m->bio_first, 0xff, size * sizeof(*m->bio_first));
	memset(m->begun_first, 0xff, size * sizeof(*m->begun_first));
	return 0;
}

static int add_all(struct making *m, uint8_t type, int (*add)(struct making *m, uint32_t i))
{
	uint32_t n;
	const uint32_t *of = tipme_group(&m->ev->by_kind, type, &n);
	int err = 0;

	for (uint32_t k = 0; !err && k < n; k++)
		err = add(m, of[k]);
	return err;
}

/* What never ended lasts to the end; begun before all CPUs are complete, its end may be missing. */
static void settle(struct making *m, uint64_t to)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++) {
		struct wait *w = &m->at[i];

		if (w->open && w->from < m->ev->exact_ns)
			continue;
		if (w->open)
			w->to = w->from < to ? to : w->from;
		m->at[kept++] = *w;
	}
	m->count = kept;
}

int tipme_waits_make(struct tipme_waits *w, const struct tipme_events *ev, uint64_t to_ns)
{
	struct making m = { .ev = ev };
	uint32_t ios, locks;

	*w = (struct tipme_waits){ 0 };
	tipme_group(&ev->by_kind, TIPME_IO, &ios);
	tipme_group(&ev->by_kind, TIPME_LOCK_CONTENTION, &locks);
	int err = heads_make(&m, ios > locks ? ios : locks);

	err = err ? err : add_all(&m, TIPME_IO, add_io);
	err = err ? err : add_all(&m, TIPME_LOCK_CONTENTION, add_lock);
	err = err ? err : add_all(&m, TIPME_IRQ, add_irq);
	if (!err) {
		end_file_locks(&m);
		settle(&m, to_ns);
		if (m.count)
			qsort(m.at, m.count, sizeof(*m.at), by_place);
		err = waits_columns(w, &m);
	}
	free(m.at);
	free(m.bios);
	free(m.begun);
	free(m.bio_first);
	free(m.begun_first);
	return err;
}

void tipme_waits_free(struct tipme_waits *w)
{
	if (w->memory)
		tipme_columns_free(w->memory);
	free(w->memory);
	*w = (struct tipme_waits){ 0 };
}
