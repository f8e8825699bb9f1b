// SPDX-License-Identifier: GPL-2.0-only
/* Intervals of threads and of CPUs, as columns. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "episode/states.h"
#include "episode/table.h"

#define CPUS 65536U
/* samples: inside so long a piece the order of those who ran is not known */
#define SLICE_NS 100000000ULL

/* ---- threads ---- */

static int find_execs(struct tipme_states_maker *m)
{
	uint32_t n;
	const uint32_t *index = tipme_group(&m->ev->by_kind, TIPME_EXEC, &n);

	m->execs = malloc((n + 1UL) * sizeof(*m->execs));
	for (uint32_t k = 0; m->execs && k < n; k++) {
		uint32_t old = m->ev->b[index[k]];

		if (old && old != m->ev->tid[index[k]])
			m->execs[m->exec_count++] = index[k];
	}
	m->placed = calloc(CPUS, sizeof(*m->placed));
	return m->execs && m->placed ? 0 : -ENOMEM;
}

static int make_list(struct tipme_states_maker *m, const uint32_t *tids, size_t n,
		     struct tipme_interval_list *l)
{
	int err = find_execs(m);

	for (size_t i = 0; !err && i < n; i++) {
		if (m->ev->sampled)
			tipme_states_sampled(m, tids[i], l);
		else
			tipme_states_traced(m, tids[i], l);
		err = l->count >= UINT32_MAX ? -E2BIG : l->err;
	}
	free(m->execs);
	free(m->placed);
	free(m->samples);
	return err;
}

struct state_columns {
	uint64_t *from, *to;
	uint32_t *tid, *irq, *softirq, *wake, *waker, *stack, *by;
	uint16_t *cpu;
	uint8_t *kind, *state, *how, *flags, *prio;
};

static void fill_states(const struct state_columns *c, const struct tipme_interval_list *l,
			const struct tipme_events *ev)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct tipme_interval *v = &l->at[i];

		c->from[i] = v->from;
		c->to[i] = v->to;
		c->tid[i] = v->tid;
		c->kind[i] = v->kind;
		c->state[i] = v->state;
		c->how[i] = v->how;
		c->flags[i] = v->flags;
		c->prio[i] = v->prio;
		c->cpu[i] = v->cpu;
		c->irq[i] = v->irq_ns;
		c->softirq[i] = v->softirq_ns;
		c->wake[i] = v->wake;
		c->stack[i] = v->stack_id;
		c->by[i] = v->by;
		/* Byte 2 of the last number is the context: only a task is somebody who woke. */
		c->waker[i] =
			v->wake == TIPME_NONE || (ev->d[v->wake] >> 16 & 255) != TIPME_CONTEXT_TASK
				? 0
				: ev->a[v->wake];
	}
}

static void *keep_map(struct tipme_columns_map map)
{
	struct tipme_columns_map *kept = malloc(sizeof(*kept));

	if (kept)
		*kept = map;
	return kept;
}

static void drop_map(void *memory)
{
	if (memory)
		tipme_columns_free(memory);
	free(memory);
}

static int states_columns(struct tipme_states *st, const struct tipme_interval_list *l,
			  const struct tipme_events *ev)
{
	struct state_columns c;
	struct tipme_columns_map map = { 0 };
	uint64_t n = l->count;
#define COLUMN(name, width, at)                          \
	{                                                \
		"states", name, width, n, (void **)&c.at \
	}
	const struct tipme_columns_want want[] = {
		COLUMN("from", 8, from),
		COLUMN("to", 8, to),
		COLUMN("tid", 4, tid),
		COLUMN("kind", 1, kind),
		COLUMN("state", 1, state),
		COLUMN("how", 1, how),
		COLUMN("flags", 1, flags),
		COLUMN("prio", 1, prio),
		COLUMN("cpu", 2, cpu),
		COLUMN("irq_ns", 4, irq),
		COLUMN("softirq_ns", 4, softirq),
		COLUMN("wake", 4, wake),
		COLUMN("waker_tid", 4, waker),
		COLUMN("stack_id", 4, stack),
		COLUMN("by", 4, by),
	};
#undef COLUMN
	int err = tipme_columns_make(&map, -1, false, want, sizeof(want) / sizeof(want[0]));

	if (err)
		return err;
	fill_states(&c, l, ev);
	*st = (struct tipme_states){ (uint32_t)n, c.from,  c.to,    c.tid,  c.kind,	  c.state,
				     c.how,	  c.flags, c.cpu,   c.prio, c.irq,	  c.softirq,
				     c.wake,	  c.waker, c.stack, c.by,   keep_map(map) };
	if (st->memory)
		return 0;
	tipme_columns_free(&map);
	return -ENOMEM;
}

int tipme_states_make(struct tipme_states *st, const struct tipme_events *ev,
		      const struct tipme_threads *th, const uint32_t *tids, size_t tid_count,
		      uint64_t from_ns, uint64_t to_ns)
{
	struct tipme_states_maker m = { .ev = ev, .th = th, .from = from_ns, .to = to_ns };
	struct tipme_interval_list l = { 0 };

	*st = (struct tipme_states){ 0 };
	if (to_ns < from_ns)
		return -EINVAL;
	int err = make_list(&m, tids, tid_count, &l);

	if (!err)
		err = states_columns(st, &l, ev);
	free(l.at);
	return err;
}

void tipme_states_free(struct tipme_states *st)
{
	drop_map(st->memory);
	*st = (struct tipme_states){ 0 };
}

/* ---- CPUs ---- */

static void add_occupant(struct tipme_interval_list *l, uint32_t cpu, uint64_t from, uint64_t to,
			 uint32_t tid, uint32_t prio, uint32_t by)
{
	struct tipme_interval i = tipme_interval_new(from, 0);

	i.to = to;
	i.tid = tid;
	i.cpu = (uint16_t)cpu;
	i.prio = (uint8_t)prio;
	i.by = by;
	if (to > from)
		tipme_interval_add(l, i);
}

/*
 * Where a switch was lost, who leaves is known to have been there; who came before that is not
 * known to have stayed.
 */
static void occupants(const struct tipme_states_maker *m, uint32_t cpu,
		      struct tipme_interval_list *l)
{
	const struct tipme_events *ev = m->ev;
	uint32_t n, k = 0;
	const uint32_t *list = tipme_group(&ev->by_cpu, cpu, &n);
	uint64_t t = m->from;

	while (k < n && ev->ts_ns[list[k]] <= t)
		k++;
	for (; t < m->to && n; k++) {
		uint64_t end = k < n && ev->ts_ns[list[k]] < m->to ? ev->ts_ns[list[k]] : m->to;

		if (k && (k == n || ev->tid[list[k]] == ev->a[list[k - 1]]))
			add_occupant(l, cpu, t, end, ev->a[list[k - 1]],
				     ev->d[list[k - 1]] >> 16 & 255, list[k - 1]);
		else
			add_occupant(l, cpu, t, end, ev->tid[list[k]], ev->d[list[k]] >> 8 & 255,
				     list[k]);
		t = end;
	}
}

struct share {
	uint32_t tid, prio;
	uint64_t ns;
};

static int by_share(const void *one, const void *other)
{
	const struct share *a = one, *b = other;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static int add_share(struct share **all, size_t *room, size_t *n, const struct tipme_interval *r,
		     uint64_t ns)
{
	for (size_t i = 0; i < *n; i++) {
		if ((*all)[i].tid == r->tid) {
			(*all)[i].ns += ns;
			(*all)[i].prio = r->prio;
			return 0;
		}
	}
	int err = tipme_grow(all, room, *n + 1, sizeof(**all));

	if (!err)
		(*all)[(*n)++] = (struct share){ r->tid, r->prio, ns };
	return err;
}

/*
 * Of a piece of time: those who ran on a CPU, each in one stretch of it. `runs` are that CPU's, by
 * their beginning.
 */
static int shares(const struct tipme_interval *runs, size_t count, uint32_t cpu, uint64_t from,
		  uint64_t to, struct tipme_interval_list *l)
{
	struct share *all = NULL;
	size_t n = 0, room = 0;
	uint64_t sum = 0, t = from, length = to - from;
	int err = 0;

	for (size_t i = 0; !err && i < count && runs[i].from < to; i++) {
		uint64_t a = runs[i].from > from ? runs[i].from : from,
			 b = runs[i].to < to ? runs[i].to : to;

		if (b <= a)
			continue;
		sum += b - a;
		err = add_share(&all, &room, &n, &runs[i], b - a);
	}
	if (n)
		qsort(all, n, sizeof(*all), by_share);
	for (size_t i = 0; !err && i < n; i++) {
		uint64_t part =
			sum > length ? (uint64_t)((double)all[i].ns * (double)length / (double)sum)
				     : all[i].ns;

		part = part > to - t ? to - t : part;
		add_occupant(l, cpu, t, t + part, all[i].tid, all[i].prio, TIPME_NONE);
		t += part;
	}
	add_occupant(l, cpu, t, to, TIPME_NONE, 120, TIPME_NONE);
	free(all);
	return err;
}

static int by_run(const void *one, const void *other)
{
	const struct tipme_interval *a = one, *b = other;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static int sampled_cpu(const struct tipme_states_maker *m, const struct tipme_interval *runs,
		       size_t n, uint32_t cpu, struct tipme_interval_list *l)
{
	int err = 0;

	for (uint64_t t = m->from; !err && t < m->to;) {
		uint64_t end = m->to - t > SLICE_NS ? t + SLICE_NS : m->to;

		/* What is over need not be looked at again. */
		while (n && runs->to <= t) {
			runs++;
			n--;
		}
		err = shares(runs, n, cpu, t, end, l);
		t = end;
	}
	return err;
}

static int by_number(const void *one, const void *other)
{
	const uint32_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

/* All threads with a sample, each once. */
static uint32_t *sampled_tids(const struct tipme_events *ev, size_t *count)
{
	uint32_t n;
	const uint32_t *index = tipme_group(&ev->by_kind, TIPME_PROC_STATE, &n);
	uint32_t *tids = malloc((n + 1UL) * sizeof(*tids));
	size_t kept = 0;

	for (uint32_t i = 0; tids && i < n; i++)
		tids[i] = ev->tid[index[i]];
	if (tids && n)
		qsort(tids, n, sizeof(*tids), by_number);
	for (uint32_t i = 0; tids && i < n; i++) {
		if (!i || tids[i] != tids[i - 1])
			tids[kept++] = tids[i];
	}
	*count = kept;
	return tids;
}

static int sampled_cpus(struct tipme_states_maker *m, struct tipme_interval_list *l)
{
	struct tipme_interval_list all = { 0 };
	size_t tid_count, runs = 0;
	uint32_t *tids = sampled_tids(m->ev, &tid_count);
	int err = tids ? make_list(m, tids, tid_count, &all) : -ENOMEM;

	for (size_t i = 0; !err && i < all.count; i++) {
		if (all.at[i].kind == TIPME_INTERVAL_RUNNING)
			all.at[runs++] = all.at[i];
	}
	if (!err && runs)
		qsort(all.at, runs, sizeof(*all.at), by_run);
	for (size_t i = 0, end; !err && i < runs; i = end) {
		for (end = i + 1; end < runs && all.at[end].cpu == all.at[i].cpu;)
			end++;
		err = sampled_cpu(m, &all.at[i], end - i, all.at[i].cpu, l);
	}
	free(tids);
	free(all.at);
	return err;
}

static int cpu_columns(struct tipme_cpu_intervals *ci, const struct tipme_interval_list *l)
{
	uint64_t n = l->count, *from, *to;
	uint32_t *tid, *by;
	uint16_t *cpu;
	uint8_t *prio;
	struct tipme_columns_map map = { 0 };
	const struct tipme_columns_want want[] = {
		{ "cpus", "from", 8, n, (void **)&from }, { "cpus", "to", 8, n, (void **)&to },
		{ "cpus", "cpu", 2, n, (void **)&cpu },	  { "cpus", "tid", 4, n, (void **)&tid },
		{ "cpus", "prio", 1, n, (void **)&prio }, { "cpus", "by", 4, n, (void **)&by },
	};
	int err = n >= UINT32_MAX ? -E2BIG
				  : tipme_columns_make(&map, -1, false, want,
						       sizeof(want) / sizeof(want[0]));

	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		from[i] = l->at[i].from;
		to[i] = l->at[i].to;
		cpu[i] = l->at[i].cpu;
		tid[i] = l->at[i].tid;
		prio[i] = l->at[i].prio;
		by[i] = l->at[i].by;
	}
	*ci =
		(struct tipme_cpu_intervals){ (uint32_t)n, from, to, cpu,
					      tid,	   prio, by, keep_map(map) };
	if (ci->memory)
		return 0;
	tipme_columns_free(&map);
	return -ENOMEM;
}

int tipme_cpu_intervals_make(struct tipme_cpu_intervals *ci, const struct tipme_events *ev,
			     const struct tipme_threads *th, uint64_t from_ns, uint64_t to_ns)
{
	struct tipme_states_maker m = { .ev = ev, .th = th, .from = from_ns, .to = to_ns };
	struct tipme_interval_list l = { 0 };
	int err = 0;

	*ci = (struct tipme_cpu_intervals){ 0 };
	if (to_ns < from_ns)
		return -EINVAL;
	if (ev->sampled)
		err = sampled_cpus(&m, &l);
	for (uint32_t i = 0; !ev->sampled && i < ev->by_cpu.count; i++)
		occupants(&m, ev->by_cpu.key[i], &l);
	err = err ? err : l.err;
	if (!err)
		err = cpu_columns(ci, &l);
	free(l.at);
	return err;
}

void tipme_cpu_intervals_free(struct tipme_cpu_intervals *ci)
{
	drop_map(ci->memory);
	*ci = (struct tipme_cpu_intervals){ 0 };
}
