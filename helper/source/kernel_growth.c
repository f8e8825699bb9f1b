// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a pool larger before it overwrites what is to be kept, and smaller when that much is not
 * needed any more.
 */
#include "config.h"

#include <errno.h>

#include "kernel_growth.h"

#define LOAD(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)

/* --- sub-buffers, out of a queue and into the other --- */

/* As tipme_pool_take(), but for what is not this old; and only if it is there at once. */
static uint32_t take_from(struct tipme_pool_queue *q, const uint64_t *cells, uint64_t mask,
			  const struct tipme_pool_view *v, uint64_t before_ns)
{
	for (int i = 0; i < TIPME_POOL_TAKE_ATTEMPTS; i++) {
		__u64 head = LOAD(&q->head), cell = LOAD(&cells[head & mask]);
		uint32_t sub = cell & 0xffffff;

		if (cell >> TIPME_POOL_CELL_SHIFT != head + 1)
			return TIPME_POOL_NO_SUB;
		if (LOAD(&tipme_pool_at(v, sub)->retired_ns) >= before_ns)
			return TIPME_POOL_NO_SUB;
		/* It was the first when we looked at it, if it is the first still. */
		if (__atomic_compare_exchange_n(&q->head, &head, head + 1, 0, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return sub;
	}
	return TIPME_POOL_NO_SUB;
}

/* We alone put in; takers find it by its cell. */
static void spare_put(struct tipme_growth *g, uint32_t sub)
{
	uint64_t pos = g->spare->tail++;

	__atomic_store_n(&g->spare_cells[pos & g->cell_mask], TIPME_POOL_CELL(pos, (uint64_t)sub),
			 __ATOMIC_RELEASE);
}

/* --- segments --- */

static void *segment_at(const struct tipme_pool_view *v, unsigned int segment)
{
	return (void *)tipme_pool_at(v, v->subs_first + segment * v->segment_subs);
}

static size_t segment_bytes(const struct tipme_pool_view *v)
{
	return (size_t)v->segment_subs * v->subbuf_bytes;
}

/* Readers know of it before writers do. */
static int segment_add(struct tipme_growth *g)
{
	struct tipme_pool_view *v = g->view;
	unsigned int first = v->subs, segment = (first - v->subs_first) / v->segment_subs;

	if (first + v->segment_subs > v->subs_most)
		return -ENOSPC;
	int err = g->add(g->arg, segment, segment_at(v, segment), segment_bytes(v));

	if (err)
		return err;
	__atomic_store_n(&v->subs, first + v->segment_subs, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < v->segment_subs; i++)
		spare_put(g, first + i);
	return 0;
}

/* What was collected can be used again. */
static unsigned int withdrawal_end(struct tipme_growth *g)
{
	unsigned int n = g->withdrawn;

	for (unsigned int i = 0; i < n; i++)
		spare_put(g, g->held_back[i]);
	g->withdrawn = 0;
	g->withdraw_from = 0;
	return n;
}

/* The oldest go: those that are withdrawn are kept back, the others are used next. */
static void collect(struct tipme_growth *g, uint64_t before_ns)
{
	struct tipme_pool_view *v = g->view;
	uint64_t spare_end = g->spare->tail;

	for (uint32_t n = 0; n < v->subs; n++) {
		int spare = LOAD(&g->spare->head) < spare_end;
		uint32_t sub =
			spare ? take_from(g->spare, g->spare_cells, g->cell_mask, v, UINT64_MAX)
			      : take_from(g->queue, g->cells, g->cell_mask, v, before_ns);

		if (sub == TIPME_POOL_NO_SUB)
			return;
		if (sub < g->withdraw_from)
			spare_put(g, sub);
		else
			g->held_back[g->withdrawn++] = sub;
	}
}

/* Of what was collected: how many are of the last segment, which only then is whole. */
static unsigned int of_last(const struct tipme_growth *g)
{
	uint32_t limit = g->view->subs - g->view->segment_subs;
	unsigned int count = 0;

	for (unsigned int i = 0; i < g->withdrawn; i++)
		count += g->held_back[i] >= limit;
	return count;
}

/* What was collected of it is forgotten. */
static void last_forget(struct tipme_growth *g)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < g->withdrawn; i++)
		if (g->held_back[i] < g->view->subs)
			g->held_back[left++] = g->held_back[i];
	g->withdrawn = left;
	if (g->view->subs > g->withdraw_from)
		return;
	g->withdraw_from = 0;
	g->calm = 0;
}

/* All of it is nobody's. First no copy may begin with it, then none may be reading it. */
static int segment_remove(struct tipme_growth *g)
{
	struct tipme_pool_view *v = g->view;
	unsigned int limit = v->subs - v->segment_subs,
		     segment = (limit - v->subs_first) / v->segment_subs;

	__atomic_store_n(&v->subs, limit, __ATOMIC_SEQ_CST);
	/* partner: tipme_growth_hold() */
	if (__atomic_load_n(&g->held, __ATOMIC_SEQ_CST)) {
		__atomic_store_n(&v->subs, limit + v->segment_subs, __ATOMIC_SEQ_CST);
		return 0;
	}
	g->remove(g->arg, segment, segment_at(v, segment), segment_bytes(v));
	last_forget(g);
	return -(int)v->segment_subs;
}

/* --- when --- */

struct look {
	unsigned int idle; /* never written, or older than the window: they may be overwritten */
	unsigned int recent; /* in use, or full within the last two windows */
};

static struct look pool_look(const struct tipme_growth *g, uint64_t now_ns)
{
	const struct tipme_pool_view *v = g->view;
	unsigned int subs = g->withdraw_from ? g->withdraw_from : v->subs;
	struct look l = { 0, 0 };

	for (uint32_t sub = 0; sub < subs; sub++) {
		const struct tipme_pool_header *h = tipme_pool_at(v, sub);
		uint64_t retired = LOAD(&h->retired_ns);
		int used = LOAD(&h->owner) != 0;

		l.idle += !used && (!retired || retired + g->window_ns <= now_ns);
		l.recent += used || (retired && retired + 2 * g->window_ns > now_ns);
	}
	return l;
}

/*
 * There must be enough to write to until the next look but one. Returns how many segments are
 * missing for that.
 */
static unsigned int missing(const struct tipme_growth *g, const struct look *l, unsigned int ahead)
{
	unsigned int segment = g->view->segment_subs;

	return l->idle >= ahead ? 0 : (ahead - l->idle + segment - 1) / segment;
}

static int grow(struct tipme_growth *g, unsigned int segments)
{
	unsigned int before = g->view->subs;

	g->refused = 0;
	while (segments-- && !g->refused)
		g->refused = segment_add(g);
	if (g->refused ==
	    -ENOSPC) /* the share of memory that it may take: not refused by anybody */
		g->refused = 0;
	return (int)(g->view->subs - before);
}

/* How many segments could go, as far as they can be listed. */
static unsigned int excess(const struct tipme_growth *g, const struct look *l, unsigned int ahead)
{
	const struct tipme_pool_view *v = g->view;
	unsigned int need = l->recent + ahead + v->segment_subs / 2, subs;

	need = need > v->subs_first ? need : v->subs_first;
	subs = v->subs > need ? v->subs - need : 0;
	subs = subs < TIPME_SEGMENT_SUBS_MAX ? subs : TIPME_SEGMENT_SUBS_MAX;
	return subs / v->segment_subs;
}

/* All that was not needed for a while goes together: what is at its end may be in use for long. */
static int shrink(struct tipme_growth *g, const struct look *l, unsigned int ahead, uint64_t now_ns)
{
	const struct tipme_pool_view *v = g->view;
	unsigned int before = v->subs;

	if (!g->withdraw_from) {
		unsigned int segments = excess(g, l, ahead);

		g->calm = segments ? g->calm + 1 : 0;
		if (g->calm < TIPME_GROWTH_CALM)
			return 0;
		g->withdraw_from = v->subs - segments * v->segment_subs;
	}
	collect(g, now_ns - 2 * g->window_ns);
	while (g->withdraw_from && of_last(g) == v->segment_subs && segment_remove(g))
		continue;
	return (int)(v->subs - before);
}

int tipme_growth_look(struct tipme_growth *g, uint64_t taken, uint64_t now_ns)
{
	unsigned int ahead = 2 * (unsigned int)(taken - g->taken) + 2;
	int first = !g->looked_ns;
	struct look l;

	g->taken = taken;
	g->looked_ns = now_ns;
	if (first || !g->view->subs_most)
		return 0;
	l = pool_look(g, now_ns);
	unsigned int segments = missing(g, &l, ahead);

	g->refused = segments ? g->refused : 0;
	if (!segments)
		return now_ns > 2 * g->window_ns ? shrink(g, &l, ahead, now_ns) : 0;
	g->calm = 0;
	if (g->withdraw_from) {
		unsigned int back = withdrawal_end(g) / g->view->segment_subs;

		segments = segments > back ? segments - back : 0;
	}
	return grow(g, segments);
}

void tipme_growth_hold(struct tipme_growth *g)
{
	__atomic_store_n(&g->held, 1, __ATOMIC_SEQ_CST);
	/* partner: segment_remove(), which says what is left before it looks for us */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void tipme_growth_let_go(struct tipme_growth *g)
{
	__atomic_store_n(&g->held, 0, __ATOMIC_SEQ_CST);
}
