// SPDX-License-Identifier: GPL-2.0-only
/*
 * What each thread did, from samples of /proc: how long it ran and waited between two samples is
 * the kernel's own count; when, is put together. Rules as in postmortem/lib/Tipme/Sampled.pm.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "episode/states.h"

#define SATURATED UINT32_MAX
#define SURE_NS 100000000ULL /* what is shorter is guessed: samples are 20 ms apart */

struct sample {
	uint64_t ts;
	uint32_t run, wait, stack_id;
	uint16_t cpu;
	uint8_t state, prio;
};

/*
 * What a thread does in a state; one that can run is taken to wait, as no count says that it ran.
 */
static struct tipme_interval in_state(const struct sample *s, uint64_t from, uint64_t to)
{
	struct tipme_interval i = tipme_interval_new(from, TIPME_INTERVAL_BLOCKED);

	i.to = to;
	if (s->state == TIPME_TASK_STATE_DEAD) {
		i.kind = TIPME_INTERVAL_ABSENT;
	} else if (s->state == TIPME_TASK_STATE_RUNNING || s->state == TIPME_TASK_STATE_RUNNABLE) {
		i.kind = s->state == TIPME_TASK_STATE_RUNNING ? TIPME_INTERVAL_RUNNING
							      : TIPME_INTERVAL_RUNNABLE;
		i.cpu = s->cpu;
		i.flags = 0;
		i.prio = i.kind == TIPME_INTERVAL_RUNNING ? s->prio : 0;
	} else {
		i.state = s->state;
		i.stack_id = s->stack_id;
	}
	return i;
}

static struct tipme_interval piece(const struct sample *s, uint8_t kind, uint8_t how)
{
	struct tipme_interval i = tipme_interval_new(0, kind);

	i.cpu = s->cpu;
	i.flags = 0;
	i.how = how;
	i.prio = kind == TIPME_INTERVAL_RUNNING ? s->prio : 0;
	return i;
}

static uint64_t add_piece(struct tipme_interval_list *l, struct tipme_interval i, uint64_t t,
			  uint64_t ns)
{
	i.from = t;
	i.to = t + ns;
	if (ns)
		tipme_interval_add(l, i);
	return t + ns;
}

/* A wait that began before the sample that did not see it: the sleep before it ended earlier. */
static void wait_earlier(struct tipme_interval_list *l, size_t first, uint64_t ns,
			 const struct sample *s)
{
	if (l->count <= first || l->at[l->count - 1].kind != TIPME_INTERVAL_BLOCKED)
		return;
	struct tipme_interval *last = &l->at[l->count - 1];
	uint64_t length = last->to - last->from, end = last->to;
	struct tipme_interval wait = piece(s, TIPME_INTERVAL_RUNNABLE, TIPME_HOW_WOKEN);

	ns = ns < length ? ns : length;
	last->to -= ns;
	if (last->to <= last->from)
		l->count--;
	add_piece(l, wait, end - ns, ns);
}

static void between(struct tipme_interval_list *l, size_t first, const struct sample *a,
		    const struct sample *b)
{
	if (b->ts <= a->ts)
		return;
	uint64_t gap = b->ts - a->ts, run = b->run == SATURATED || b->run > gap ? gap : b->run,
		 free_ns = gap - run;
	uint64_t wait = b->wait == SATURATED ? free_ns : b->wait;

	if (wait > free_ns) {
		wait_earlier(l, first, wait - free_ns, a);
		wait = free_ns;
	}
	struct tipme_interval was = in_state(a, 0, 0), is = in_state(b, 0, 0), rest = was;
	bool asleep = was.kind == TIPME_INTERVAL_BLOCKED;
	struct tipme_interval running = piece(b, TIPME_INTERVAL_RUNNING, 0);
	struct tipme_interval waiting =
		piece(b, TIPME_INTERVAL_RUNNABLE, asleep ? TIPME_HOW_WOKEN : TIPME_HOW_PREEMPTED);
	uint64_t t = a->ts, rest_ns = free_ns - wait;

	if (!asleep && !run && !wait) {
		waiting.how = TIPME_HOW_UNKNOWN;
		add_piece(l, waiting, t, gap);
		return;
	}
	if (!asleep)
		rest = b->state != TIPME_TASK_STATE_RUNNABLE && b->state != TIPME_TASK_STATE_DEAD
			       ? is
			       : tipme_interval_new(0, TIPME_INTERVAL_BLOCKED);
	if (asleep) {
		t = add_piece(l, rest, t, rest_ns);
		t = add_piece(l, waiting, t, wait);
		add_piece(l, running, t, run);
	} else if (b->state == TIPME_TASK_STATE_RUNNABLE) {
		t = add_piece(l, running, t, run);
		t = add_piece(l, rest, t, rest_ns);
		add_piece(l, waiting, t, wait);
	} else {
		t = add_piece(l, waiting, t, wait);
		t = add_piece(l, running, t, run);
		add_piece(l, rest, t, rest_ns);
	}
}

/* Neighbours of one kind become one, so that what lasts is seen to last. */
static void join(struct tipme_interval_list *l, size_t first)
{
	size_t kept = first;

	for (size_t k = first; k < l->count; k++) {
		struct tipme_interval i = l->at[k], *last = kept > first ? &l->at[kept - 1] : NULL;

		if (i.to <= i.from)
			continue;
		if (i.to - i.from < SURE_NS)
			i.flags |= TIPME_INTERVAL_GUESSED;
		if (last && last->kind == i.kind && last->state == i.state &&
		    last->stack_id == i.stack_id && last->cpu == i.cpu &&
		    ((last->flags ^ i.flags) & TIPME_INTERVAL_NO_CPU) == 0) {
			last->to = i.to;
			if (last->to - last->from >= SURE_NS)
				last->flags &= (uint8_t)~TIPME_INTERVAL_GUESSED;
			continue;
		}
		l->at[kept++] = i;
	}
	l->count = kept;
}

static void pictured(struct tipme_states_maker *m, uint32_t tid, struct tipme_interval_list *l)
{
	const struct tipme_thread_picture *p = tipme_picture_at(m->th, tid, m->to);
	struct sample s = { .state = TIPME_TASK_STATE_UNKNOWN };

	if (p)
		s = (struct sample){ .state = tipme_state_known(p->state),
				     .cpu = p->cpu,
				     .stack_id = p->stack_id };
	struct tipme_interval i = in_state(&s, tipme_states_beginning(m), m->to);

	/* A picture that saw it running says nothing of all the time around it. */
	if (s.state == TIPME_TASK_STATE_RUNNING) {
		i = tipme_interval_new(i.from, TIPME_INTERVAL_BLOCKED);
		i.to = m->to;
		i.state = TIPME_TASK_STATE_RUNNING;
		i.stack_id = s.stack_id;
	}
	if (!p || !p->since_ns || p->since_ns > m->from)
		i.flags |= TIPME_INTERVAL_GUESSED;
	tipme_interval_add(l, i);
}

/* The first exit (fork) of a thread; UINT64_MAX: none. */
static uint64_t first_of(const struct tipme_events *ev, uint32_t type, const uint32_t *column,
			 uint32_t tid)
{
	uint32_t n;
	const uint32_t *index = tipme_group(&ev->by_kind, type, &n);

	for (uint32_t i = 0; i < n; i++) {
		if (column[index[i]] == tid)
			return ev->ts_ns[index[i]];
	}
	return UINT64_MAX;
}

static int by_tid(const void *one, const void *other, void *arg)
{
	const uint32_t *a = one, *b = other, *tid = arg;

	if (tid[*a] != tid[*b])
		return tid[*a] < tid[*b] ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

/* All samples by thread, then time: sorted once for all threads. */
static int sort_samples(struct tipme_states_maker *m)
{
	uint32_t n;
	const uint32_t *index = tipme_group(&m->ev->by_kind, TIPME_PROC_STATE, &n);

	if (m->samples)
		return 0;
	m->samples = malloc((n + 1UL) * sizeof(*m->samples));
	if (!m->samples)
		return -ENOMEM;
	memcpy(m->samples, index, n * sizeof(*index));
	qsort_r(m->samples, n, sizeof(*m->samples), by_tid, (void *)m->ev->tid);
	m->sample_count = n;
	return 0;
}

static struct sample sample_at(const struct tipme_events *ev, uint32_t i)
{
	return (struct sample){ .ts = ev->ts_ns[i],
				.run = ev->a[i],
				.wait = ev->b[i],
				.stack_id = ev->c[i],
				.cpu = (uint16_t)ev->d[i],
				.state = tipme_state_known(ev->d[i] >> 16 & 255),
				.prio = (uint8_t)(ev->d[i] >> 24) };
}

/* A thread's samples, allocated; *count 0: none. */
static struct sample *samples_of(const struct tipme_states_maker *m, uint32_t tid, size_t *count)
{
	size_t lo = 0, n = 0;

	for (size_t hi = m->sample_count; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->ev->tid[m->samples[mid]] < tid)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo + n < m->sample_count && m->ev->tid[m->samples[lo + n]] == tid)
		n++;
	struct sample *s = malloc((n + 1) * sizeof(*s));

	*count = s ? n : 0;
	for (size_t i = 0; i < *count; i++)
		s[i] = sample_at(m->ev, m->samples[lo + i]);
	return s;
}

/* Before the first sample it did what that says, or was not there. */
static void before_first(struct tipme_states_maker *m, uint32_t tid, const struct sample *s,
			 struct tipme_interval_list *l)
{
	uint64_t from = tipme_states_beginning(m),
		 birth = first_of(m->ev, TIPME_FORK, m->ev->a, tid);
	struct tipme_interval i = in_state(s, from, s->ts);

	if (s->ts <= from)
		return;
	if (birth <= s->ts) {
		i = tipme_interval_new(from, TIPME_INTERVAL_ABSENT);
		i.to = s->ts;
	} else {
		i.flags |= TIPME_INTERVAL_GUESSED;
	}
	tipme_interval_add(l, i);
}

/* The last sample stands until the thread's end, or for good. */
static void after_last(struct tipme_states_maker *m, uint32_t tid, const struct sample *s,
		       struct tipme_interval_list *l)
{
	uint64_t end = first_of(m->ev, TIPME_EXIT, m->ev->tid, tid);

	if (end != UINT64_MAX && end > s->ts && end < m->to) {
		struct tipme_interval gone = tipme_interval_new(end, TIPME_INTERVAL_ABSENT);

		gone.to = m->to;
		tipme_interval_add(l, in_state(s, s->ts, end));
		tipme_interval_add(l, gone);
	} else if (s->ts < m->to) {
		tipme_interval_add(l, in_state(s, s->ts, m->to));
	}
}

void tipme_states_sampled(struct tipme_states_maker *m, uint32_t tid, struct tipme_interval_list *l)
{
	size_t n, first = l->count;
	struct sample *s = sort_samples(m) ? NULL : samples_of(m, tid, &n);

	if (!s) {
		l->err = -ENOMEM;
		return;
	}
	if (!n)
		pictured(m, tid, l);
	else
		before_first(m, tid, &s[0], l);
	for (size_t i = 0; i + 1 < n; i++)
		between(l, first, &s[i], &s[i + 1]);
	if (n) {
		after_last(m, tid, &s[n - 1], l);
		join(l, first);
	}
	tipme_states_clip(m, tid, l, first);
	free(s);
}
