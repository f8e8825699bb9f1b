// SPDX-License-Identifier: GPL-2.0-only
/*
 * What each thread did when, from the kernel's records: the rules of docs/method.md, as
 * postmortem/lib/Tipme/TaskStates.pm has them, which a test compares with these.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "episode/states.h"

#define SATURATED UINT32_MAX

struct machine {
	struct tipme_states_maker *m;
	const struct tipme_events *ev;
	struct tipme_interval_list *list;
	struct tipme_interval cur;
	bool has_cur, has_since;
	uint32_t tid, pending;
	uint64_t t, since;
	const uint32_t *execs; /* of this thread, in order */
	size_t exec_count;
};

struct tipme_interval tipme_interval_new(uint64_t from, uint8_t kind)
{
	return (struct tipme_interval){ .from = from,
					.kind = kind,
					.state = TIPME_TASK_STATE_UNKNOWN,
					.wake = TIPME_NONE,
					.by = TIPME_NONE,
					.flags = TIPME_INTERVAL_NO_CPU };
}

static struct tipme_interval on_cpu(uint64_t from, uint8_t kind, uint16_t cpu)
{
	struct tipme_interval i = tipme_interval_new(from, kind);

	i.cpu = cpu;
	i.flags = 0;
	return i;
}

void tipme_interval_add(struct tipme_interval_list *l, struct tipme_interval i)
{
	if (!l->err)
		l->err = tipme_grow(&l->at, &l->room, l->count + 1, sizeof(*l->at));
	if (!l->err)
		l->at[l->count++] = i;
}

uint8_t tipme_state_known(uint8_t state)
{
	return state <= TIPME_TASK_STATE_UNKNOWN ? state : TIPME_TASK_STATE_UNKNOWN;
}

const struct tipme_thread_picture *tipme_picture_at(const struct tipme_threads *th, uint32_t tid,
						    uint64_t ts)
{
	size_t n = 0, lo = 0;
	const struct tipme_thread_picture *p = tipme_threads_pictures(th, tid, &n);

	for (size_t hi = n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (p[mid].ts_ns <= ts)
			lo = mid + 1;
		else
			hi = mid;
	}
	return !n ? NULL : lo ? &p[lo - 1] : p;
}

uint64_t tipme_states_beginning(const struct tipme_states_maker *m)
{
	return m->ev->count && m->ev->ts_ns[0] < m->from ? m->ev->ts_ns[0] : m->from;
}

static bool awake(const struct tipme_thread_picture *p)
{
	return p->state == TIPME_TASK_STATE_RUNNABLE || p->state == TIPME_TASK_STATE_RUNNING;
}

static uint8_t blocked_in(const struct tipme_thread_picture *p)
{
	return !p || awake(p) ? TIPME_TASK_STATE_UNKNOWN : tipme_state_known(p->state);
}

/* From t on it does something else. */
static void turn(struct machine *m, uint64_t t, struct tipme_interval next)
{
	m->cur.to = t;
	if (t > m->cur.from)
		tipme_interval_add(m->list, m->cur);
	m->cur = next;
}

/* ---- switches of a CPU ---- */

static uint32_t place(struct machine *m, uint32_t i, const uint32_t **list, uint32_t *n)
{
	uint32_t cpu = m->ev->cpu[i], lo = 0;

	*list = tipme_group(&m->ev->by_cpu, cpu, n);
	uint32_t hi = *n, near = m->m->placed[cpu];

	if (near < *n && (*list)[near] == i)
		lo = near;
	else
		while (lo < hi) {
			uint32_t mid = lo + (hi - lo) / 2;

			if ((*list)[mid] < i)
				lo = mid + 1;
			else
				hi = mid;
		}
	m->m->placed[cpu] = lo + 1;
	return lo;
}

/* The switch of the same CPU before (after) that of an index; TIPME_NONE. */
static uint32_t switch_before(struct machine *m, uint32_t i)
{
	const uint32_t *list;
	uint32_t n, k = place(m, i, &list, &n);

	return k && k <= n ? list[k - 1] : TIPME_NONE;
}

static uint32_t switch_after(struct machine *m, uint32_t i)
{
	const uint32_t *list;
	uint32_t n, k = place(m, i, &list, &n);

	return k + 1 < n ? list[k + 1] : TIPME_NONE;
}

/* The thread that had a CPU at a time, by its switches: TIPME_NONE where it is not known. */
static uint32_t occupant(const struct tipme_events *ev, uint32_t cpu, uint64_t t)
{
	uint32_t n, lo = 0;
	const uint32_t *list = tipme_group(&ev->by_cpu, cpu, &n);

	for (uint32_t hi = n; lo < hi;) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (ev->ts_ns[list[mid]] <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo && (lo == n || ev->tid[list[lo]] == ev->a[list[lo - 1]]))
		return ev->a[list[lo - 1]];
	return lo < n ? ev->tid[list[lo]] : TIPME_NONE;
}

/* ---- execs ---- */

/*
 * The first exec to come, if by it the thread becomes the first of its process (true), or its
 * number goes (false).
 */
static uint32_t next_exec(const struct machine *m, bool becomes)
{
	if (!m->exec_count)
		return TIPME_NONE;
	uint32_t e = m->execs[0];

	return (m->ev->tid[e] == m->tid) == becomes ? e : TIPME_NONE;
}

/* ---- one record after the other ---- */

static bool agrees(struct machine *m, uint32_t i)
{
	const struct tipme_events *ev = m->ev;
	uint8_t kind = m->cur.kind;

	switch (ev->type[i]) {
	case TIPME_FORK: return kind == TIPME_INTERVAL_ABSENT;
	case TIPME_EXEC: return kind == TIPME_INTERVAL_RUNNING;
	case TIPME_SCHED_WAKING:
		/* Who is woken sleeps; or else it is on a CPU, which its switches then tell. */
		return kind == TIPME_INTERVAL_BLOCKED ||
		       (kind == TIPME_INTERVAL_RUNNING &&
			occupant(ev, m->cur.cpu, ev->exact_ns) == m->tid);
	}
	return ev->tid[i] == m->tid ? kind == TIPME_INTERVAL_RUNNING
				    : kind == TIPME_INTERVAL_RUNNABLE;
}

static void restart(struct machine *m, uint64_t t)
{
	m->cur.to = t;
	tipme_interval_add(m->list, m->cur);
	m->has_cur = false;
	m->pending = TIPME_NONE;
	m->since = t;
	m->has_since = true;
}

/* The first event of a thread tells what it did before; a picture may know more. */
static void start(struct machine *m, uint32_t i)
{
	const struct tipme_events *ev = m->ev;
	uint64_t from = m->has_since ? m->since : tipme_states_beginning(m->m), ts = ev->ts_ns[i];
	const struct tipme_thread_picture *p = tipme_picture_at(m->m->th, m->tid, ts);
	bool own = ev->tid[i] == m->tid;

	if (p && p->ts_ns > ts && p->since_ns > ts)
		p = NULL;
	if (ev->type[i] == TIPME_FORK || (ev->type[i] == TIPME_EXEC && own))
		m->cur = tipme_interval_new(from, TIPME_INTERVAL_ABSENT);
	else if (ev->type[i] == TIPME_SCHED_WAKING) {
		m->cur = tipme_interval_new(from, TIPME_INTERVAL_BLOCKED);
		m->cur.state = blocked_in(p);
	} else if (ev->type[i] == TIPME_EXEC || own)
		m->cur = on_cpu(from, TIPME_INTERVAL_RUNNING, ev->cpu[i]);
	/* Since an older picture it may have been woken. */
	else if (p && !awake(p) && p->ts_ns >= ev->exact_ns && p->ts_ns <= ts) {
		m->cur = tipme_interval_new(from, TIPME_INTERVAL_BLOCKED);
		m->cur.state = blocked_in(p);
	} else
		m->cur = on_cpu(from, TIPME_INTERVAL_RUNNABLE, ev->cpu[i]);
	m->cur.flags |= TIPME_INTERVAL_GUESSED;
	m->has_cur = true;
}

/*
 * A sleep without a waking (it lasts, or the record was lost): a picture taken meanwhile knows its
 * stack, and may know its state better.
 */
static void picture_of_sleep(struct machine *m, struct tipme_interval *sleep, bool ends,
			     uint64_t to)
{
	size_t n = 0;
	const struct tipme_thread_picture *p = tipme_threads_pictures(m->m->th, m->tid, &n);

	for (size_t i = 0; i < n; i++) {
		if (p[i].ts_ns < sleep->from || (ends && p[i].ts_ns > to) || awake(&p[i]) ||
		    p[i].since_ns >= m->m->to)
			continue;
		if (p[i].stack_id)
			sleep->stack_id = p[i].stack_id;
		uint8_t state = tipme_state_known(p[i].state);

		if (sleep->state == state || (ends && sleep->state != TIPME_TASK_STATE_UNKNOWN))
			continue;
		if (sleep->state != TIPME_TASK_STATE_UNKNOWN)
			sleep->flags |= TIPME_INTERVAL_GUESSED;
		sleep->state = state;
	}
}

/* Its coming was lost. It cannot have come before the last switch of this CPU that is known. */
static void comes_late(struct machine *m, uint32_t i)
{
	uint32_t before = switch_before(m, i);
	uint64_t came = before == TIPME_NONE || m->ev->ts_ns[before] < m->cur.from
				? m->cur.from
				: m->ev->ts_ns[before];

	turn(m, came, on_cpu(came, TIPME_INTERVAL_RUNNING, m->ev->cpu[i]));
	m->cur.flags |= TIPME_INTERVAL_GUESSED;
}

static void leaves(struct machine *m, uint32_t i)
{
	const struct tipme_events *ev = m->ev;
	uint64_t t = ev->ts_ns[i];
	uint8_t state = ev->d[i] & 255, preempted = ev->d[i] >> 24;
	struct tipme_interval next;

	if (m->cur.kind != TIPME_INTERVAL_RUNNING)
		comes_late(m, i);
	m->cur.irq_ns = ev->b[i];
	m->cur.softirq_ns = ev->c[i];
	if (ev->b[i] == SATURATED || ev->c[i] == SATURATED)
		m->cur.flags |= TIPME_INTERVAL_SATURATED;
	if (preempted || state == TIPME_TASK_STATE_RUNNABLE) {
		next = on_cpu(t, TIPME_INTERVAL_RUNNABLE, ev->cpu[i]);
		next.how = TIPME_HOW_PREEMPTED;
	} else {
		next = tipme_interval_new(t, state == TIPME_TASK_STATE_DEAD
						     ? TIPME_INTERVAL_ABSENT
						     : TIPME_INTERVAL_BLOCKED);
		if (next.kind == TIPME_INTERVAL_BLOCKED)
			next.state = tipme_state_known(state);
	}
	next.by = i;
	turn(m, t, next);
	if (next.kind != TIPME_INTERVAL_BLOCKED)
		m->pending = TIPME_NONE;
}

/* The waking came while the thread was still on its way to sleep: it never slept. */
static void raced(struct machine *m)
{
	uint32_t w = m->pending, by = m->cur.by;

	m->cur = on_cpu(m->cur.from, TIPME_INTERVAL_RUNNABLE, (uint16_t)m->ev->d[w]);
	m->cur.how = TIPME_HOW_RACED;
	m->cur.wake = w;
	m->cur.by = by;
}

static void comes(struct machine *m, uint32_t i)
{
	const struct tipme_events *ev = m->ev;
	uint64_t t = ev->ts_ns[i];

	if (m->cur.kind == TIPME_INTERVAL_BLOCKED && m->pending != TIPME_NONE) {
		raced(m);
	} else if (m->cur.kind == TIPME_INTERVAL_BLOCKED) {
		m->cur.flags |= TIPME_INTERVAL_GUESSED;
		picture_of_sleep(m, &m->cur, true, t);
	}
	m->pending = TIPME_NONE;
	struct tipme_interval next = on_cpu(t, TIPME_INTERVAL_RUNNING, ev->cpu[i]);

	next.prio = ev->d[i] >> 16 & 255;
	next.by = i;
	turn(m, t, next);
	/*
	 * Its leaving was lost, if somebody else leaves this CPU next: that one is taken to have
	 * run ever since, this one not at all.
	 */
	uint32_t after = switch_after(m, i), exec = next_exec(m, false);

	if (after == TIPME_NONE || ev->tid[after] == m->tid || (exec != TIPME_NONE && exec < after))
		return;
	turn(m, t, tipme_interval_new(t, TIPME_INTERVAL_BLOCKED));
	m->cur.flags |= TIPME_INTERVAL_GUESSED;
}

static void woken(struct machine *m, uint32_t i)
{
	if (m->cur.kind != TIPME_INTERVAL_BLOCKED) {
		m->pending = i;
		return;
	}
	m->cur.wake = i;
	m->cur.stack_id = m->ev->b[i];
	m->pending = TIPME_NONE;
	struct tipme_interval next =
		on_cpu(m->ev->ts_ns[i], TIPME_INTERVAL_RUNNABLE, (uint16_t)m->ev->d[i]);

	next.how = TIPME_HOW_WOKEN;
	next.wake = i;
	turn(m, m->ev->ts_ns[i], next);
}

static void forked(struct machine *m, uint32_t i)
{
	if (m->cur.flags & TIPME_INTERVAL_GUESSED)
		m->cur = tipme_interval_new(m->cur.from, TIPME_INTERVAL_ABSENT);
	m->pending = TIPME_NONE;
	struct tipme_interval next =
		on_cpu(m->ev->ts_ns[i], TIPME_INTERVAL_RUNNABLE, m->ev->cpu[i]);

	next.how = TIPME_HOW_FORKED;
	next.by = i;
	turn(m, m->ev->ts_ns[i], next);
}

/*
 * A thread that was not the first of its process calls a program and becomes the first, which has
 * ended. The number changes some time before the record: if it slept meanwhile, it left its CPU as
 * the first, and is taken to have come as that, too.
 */
static void execs(struct machine *m, uint32_t i)
{
	uint64_t t = m->ev->ts_ns[i];

	if (m->exec_count) {
		m->execs++;
		m->exec_count--;
	}
	if (m->ev->tid[i] == m->tid) {
		if (m->cur.kind != TIPME_INTERVAL_RUNNING)
			turn(m, t, on_cpu(t, TIPME_INTERVAL_RUNNING, m->ev->cpu[i]));
	} else if (m->cur.kind == TIPME_INTERVAL_BLOCKED && m->cur.flags & TIPME_INTERVAL_GUESSED) {
		m->cur = tipme_interval_new(m->cur.from, TIPME_INTERVAL_ABSENT);
	} else {
		turn(m, t, tipme_interval_new(t, TIPME_INTERVAL_ABSENT));
	}
	m->pending = TIPME_NONE;
}

static void take(struct machine *m, uint32_t i)
{
	const struct tipme_events *ev = m->ev;

	/*
	 * Before that time some CPU's records are not there: what the thread seemed to do may be
	 * out of date by now.
	 */
	if (m->has_cur && m->t < ev->exact_ns && ev->ts_ns[i] >= ev->exact_ns && !agrees(m, i))
		restart(m, ev->exact_ns);
	if (!m->has_cur)
		start(m, i);
	if (ev->type[i] == TIPME_SCHED_SWITCH && ev->tid[i] == m->tid)
		leaves(m, i);
	else if (ev->type[i] == TIPME_SCHED_SWITCH)
		comes(m, i);
	else if (ev->type[i] == TIPME_SCHED_WAKING)
		woken(m, i);
	else if (ev->type[i] == TIPME_EXEC)
		execs(m, i);
	else
		forked(m, i);
	m->t = ev->ts_ns[i];
}

/* A thread that no record names: it did all the time what the pictures say. */
static void only_pictures(struct machine *m)
{
	const struct tipme_thread_picture *p = tipme_picture_at(m->m->th, m->tid, m->m->to);
	uint64_t from = m->has_since ? m->since : tipme_states_beginning(m->m);

	if (p && p->state == TIPME_TASK_STATE_RUNNING)
		m->cur = on_cpu(from, TIPME_INTERVAL_RUNNING, p->cpu);
	else if (p && p->state == TIPME_TASK_STATE_RUNNABLE)
		m->cur = on_cpu(from, TIPME_INTERVAL_RUNNABLE, p->cpu);
	else
		m->cur = tipme_interval_new(from, p && p->state == TIPME_TASK_STATE_DEAD
							  ? TIPME_INTERVAL_ABSENT
							  : TIPME_INTERVAL_BLOCKED);
	if (m->cur.kind == TIPME_INTERVAL_BLOCKED)
		m->cur.state = blocked_in(p);
	if (!p || !p->since_ns || p->since_ns > m->m->from)
		m->cur.flags |= TIPME_INTERVAL_GUESSED;
}

void tipme_states_clip(const struct tipme_states_maker *m, uint32_t tid,
		       struct tipme_interval_list *l, size_t first)
{
	size_t kept = first;

	for (size_t i = first; i < l->count; i++) {
		struct tipme_interval v = l->at[i];

		v.tid = tid;
		if (v.from < m->from) {
			v.from = m->from;
			v.flags |= TIPME_INTERVAL_CLIPPED;
		}
		v.to = v.to > m->to ? m->to : v.to;
		if (v.to > v.from)
			l->at[kept++] = v;
	}
	l->count = kept;
}

/*
 * The execs of one thread, as either number, are a part of all: copied, so that the machine can
 * walk them.
 */
static uint32_t *execs_of(const struct tipme_states_maker *m, uint32_t tid, size_t *count)
{
	uint32_t *own = NULL;
	size_t room = 0;

	*count = 0;
	for (size_t k = 0; k < m->exec_count; k++) {
		uint32_t i = m->execs[k];

		if (m->ev->tid[i] != tid && m->ev->b[i] != tid)
			continue;
		if (tipme_grow(&own, &room, *count + 1, sizeof(*own)))
			break;
		own[(*count)++] = i;
	}
	return own;
}

void tipme_states_traced(struct tipme_states_maker *maker, uint32_t tid,
			 struct tipme_interval_list *l)
{
	size_t exec_count, e = 0, first = l->count;
	uint32_t n, k = 0;
	uint32_t *own = execs_of(maker, tid, &exec_count);
	const uint32_t *events = tipme_group(&maker->ev->by_tid, tid, &n);
	struct machine m = { .m = maker,
			     .ev = maker->ev,
			     .list = l,
			     .tid = tid,
			     .pending = TIPME_NONE,
			     .execs = own,
			     .exec_count = exec_count };

	while (k < n || e < exec_count)
		take(&m, e >= exec_count || (k < n && events[k] < own[e]) ? events[k++] : own[e++]);
	if (!m.has_cur)
		only_pictures(&m);
	m.cur.to = maker->to;
	if (m.cur.kind == TIPME_INTERVAL_BLOCKED)
		picture_of_sleep(&m, &m.cur, false, 0);
	tipme_interval_add(l, m.cur);
	tipme_states_clip(maker, tid, l, first);
	free(own);
}
