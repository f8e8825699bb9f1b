// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who a thread was at a moment: pictures of all threads, and what forks, renames and ended
 * processes say between them.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "episode/private.h"

#define KERNEL_THREAD 1U /* bit 0 of a picture's flags */
/* start times are rounded to the kernel's clock tick; the longest is 10 ms */
#define TICK_NS 10000000ULL
#define DEPTH_MOST 8 /* of a name that comes from the parent, and its parent, ... */
#define NAME_MOST 15 /* characters of a thread's name */

struct change {
	uint32_t tid, parent, pid; /* parent 0: a rename */
	uint64_t ts_ns, start_ns;
	uint32_t order;
	char comm[17];
};

struct process {
	uint32_t pid, ppid;
	uint64_t ts_ns, start_ns, exit_ns;
	char exe[NAME_MOST + 1]; /* the file's name without folders */
};

struct text {
	uint32_t id, order;
	char *text;
};

struct tipme_threads {
	struct tipme_thread_picture *pictures; /* by tid, then time */
	size_t picture_count, picture_room;
	struct change *changes; /* by tid, then time */
	size_t change_count, change_room;
	struct process *processes; /* by pid, then time */
	size_t process_count, process_room;
	struct text *stacks; /* by id; of several with one id the last counts */
	size_t stack_count, stack_room;
	uint32_t *tids;
	size_t tid_count;
};

/* ---- reading ---- */

static int add_picture(struct tipme_threads *th, const struct tipme_rec *r)
{
	int err = tipme_grow(&th->pictures, &th->picture_room, th->picture_count + 1,
			     sizeof(*th->pictures));

	if (err)
		return err;
	struct tipme_thread_picture *p = &th->pictures[th->picture_count++];

	*p = (struct tipme_thread_picture){
		.ts_ns = r->ts_ns,
		.tid = r->tid,
		.pid = (uint32_t)TIPME_FIELD(r, thread, pid),
		.ppid = (uint32_t)TIPME_FIELD(r, thread, ppid),
		.start_ns = TIPME_FIELD(r, thread, start_ns),
		.since_ns = TIPME_FIELD(r, thread, since_ns),
		.stack_id = (uint32_t)TIPME_FIELD(r, thread, stack_id),
		.uid = (uint32_t)TIPME_FIELD(r, thread, uid),
		.state = (uint8_t)TIPME_FIELD(r, thread, state),
		.prio = (uint8_t)TIPME_FIELD(r, thread, prio),
		.cpu = (uint16_t)TIPME_FIELD(r, thread, cpu),
		.flags = (uint32_t)TIPME_FIELD(r, thread, flags),
		.cgroup = TIPME_FIELD(r, thread, cgroup),
		.cpus_allowed = TIPME_FIELD(r, thread, cpus_allowed),
		.rss_kib = (uint32_t)TIPME_FIELD(r, thread, rss_kib),
	};
	tipme_record_text(r, offsetof(struct tipme_thread, comm), 16, p->comm, sizeof(p->comm));
	return 0;
}

static int add_process(struct tipme_threads *th, const struct tipme_rec *r)
{
	char exe[2048];
	int err = tipme_grow(&th->processes, &th->process_room, th->process_count + 1,
			     sizeof(*th->processes));

	if (err)
		return err;
	struct process *p = &th->processes[th->process_count++];

	*p = (struct process){ .pid = (uint32_t)TIPME_FIELD(r, process, pid),
			       .ppid = (uint32_t)TIPME_FIELD(r, process, ppid),
			       .ts_ns = r->ts_ns,
			       .start_ns = TIPME_FIELD(r, process, start_ns),
			       .exit_ns = TIPME_FIELD(r, process, exit_ns) };
	tipme_record_text(r, offsetof(struct tipme_process, exe), 0, exe, sizeof(exe));
	const char *name = strrchr(exe, '/');

	/* Only a path has a last part to take the name from. */
	if (name)
		memcpy(p->exe, name + 1, strnlen(name + 1, NAME_MOST));
	return 0;
}

static int add_stack(struct tipme_threads *th, const struct tipme_rec *r)
{
	char text[2048];
	int err =
		tipme_grow(&th->stacks, &th->stack_room, th->stack_count + 1, sizeof(*th->stacks));

	if (err)
		return err;
	tipme_record_text(r, offsetof(struct tipme_stack, text), 0, text, sizeof(text));
	struct text *s = &th->stacks[th->stack_count];

	*s = (struct text){ .id = (uint32_t)TIPME_FIELD(r, stack, stack_id),
			    .order = (uint32_t)th->stack_count,
			    .text = strdup(text) };
	th->stack_count += s->text != NULL;
	return s->text ? 0 : -ENOMEM;
}

static int add_record(void *arg, const struct tipme_rec *r)
{
	switch (r->type) {
	case TIPME_THREAD: return add_picture(arg, r);
	case TIPME_PROCESS: return add_process(arg, r);
	case TIPME_STACK: return add_stack(arg, r);
	}
	return 0;
}

static int add_change(struct tipme_threads *th, const struct tipme_events *ev, uint32_t i)
{
	int err = tipme_grow(&th->changes, &th->change_room, th->change_count + 1,
			     sizeof(*th->changes));

	if (err)
		return err;
	struct change *c = &th->changes[th->change_count];

	*c = (struct change){ .ts_ns = ev->ts_ns[i], .order = (uint32_t)th->change_count };
	th->change_count++;
	if (ev->type[i] == TIPME_FORK) {
		c->tid = ev->a[i];
		c->parent = ev->tid[i];
		c->pid = ev->b[i];
		c->start_ns = ev->c[i] | (uint64_t)ev->d[i] << 32;
		return 0;
	}
	const uint32_t text[4] = { ev->a[i], ev->b[i], ev->c[i], ev->d[i] };

	c->tid = ev->tid[i];
	memcpy(c->comm, text, sizeof(text));
	return 0;
}

static int add_changes(struct tipme_threads *th, const struct tipme_events *ev, uint32_t type)
{
	uint32_t n;
	const uint32_t *index = tipme_group(&ev->by_kind, type, &n);
	int err = 0;

	for (uint32_t i = 0; !err && i < n; i++)
		err = add_change(th, ev, index[i]);
	return err;
}

/* ---- order ---- */

#define LESS(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_picture(const void *one, const void *other)
{
	const struct tipme_thread_picture *a = one, *b = other;
	int c = LESS(a->tid, b->tid);

	return c ? c : LESS(a->ts_ns, b->ts_ns);
}

static int by_change(const void *one, const void *other)
{
	const struct change *a = one, *b = other;
	int c = LESS(a->tid, b->tid);

	c = c ? c : LESS(a->ts_ns, b->ts_ns);
	return c ? c : LESS(a->order, b->order);
}

static int by_process(const void *one, const void *other)
{
	const struct process *a = one, *b = other;
	int c = LESS(a->pid, b->pid);

	return c ? c : LESS(a->ts_ns, b->ts_ns);
}

static int by_text(const void *one, const void *other)
{
	const struct text *a = one, *b = other;
	int c = LESS(a->id, b->id);

	return c ? c : LESS(a->order, b->order);
}

static void sort(void *all, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	if (n)
		qsort(all, n, size, compare);
}

/* Of several forks (renames) of a thread at one time the first counts. */
static void drop_repeated(struct tipme_threads *th)
{
	size_t kept = 0;

	for (size_t i = 0; i < th->change_count; i++) {
		const struct change *c = &th->changes[i];
		bool repeated = false;

		for (size_t k = kept; k && !repeated && th->changes[k - 1].tid == c->tid &&
				      th->changes[k - 1].ts_ns == c->ts_ns && kept - k < 2;
		     k--)
			repeated = !th->changes[k - 1].parent == !c->parent;
		if (!repeated)
			th->changes[kept++] = *c;
	}
	th->change_count = kept;
}

static int list_tids(struct tipme_threads *th)
{
	th->tids = malloc((th->picture_count + 1) * sizeof(*th->tids));
	if (!th->tids)
		return -ENOMEM;
	for (size_t i = 0; i < th->picture_count; i++) {
		if (!i || th->pictures[i].tid != th->pictures[i - 1].tid)
			th->tids[th->tid_count++] = th->pictures[i].tid;
	}
	return 0;
}

int tipme_threads_load(struct tipme_threads **to, struct tipme_episode *ep,
		       const struct tipme_events *ev)
{
	struct tipme_threads *th = calloc(1, sizeof(*th));
	int err = th ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < ep->section_count; i++) {
		if (ep->sections[i].source == TIPME_SOURCE_TIPMED)
			err = tipme_section_each(ep, &ep->sections[i], add_record, th);
	}
	if (!err && ev)
		err = add_changes(th, ev, TIPME_FORK);
	if (!err && ev)
		err = add_changes(th, ev, TIPME_RENAME);
	if (err) {
		tipme_threads_free(th);
		return err;
	}
	sort(th->pictures, th->picture_count, sizeof(*th->pictures), by_picture);
	sort(th->changes, th->change_count, sizeof(*th->changes), by_change);
	drop_repeated(th);
	sort(th->processes, th->process_count, sizeof(*th->processes), by_process);
	sort(th->stacks, th->stack_count, sizeof(*th->stacks), by_text);
	err = list_tids(th);
	if (err)
		tipme_threads_free(th);
	else
		*to = th;
	return err;
}

void tipme_threads_free(struct tipme_threads *th)
{
	if (!th)
		return;
	for (size_t i = 0; i < th->stack_count; i++)
		free(th->stacks[i].text);
	free(th->stacks);
	free(th->pictures);
	free(th->changes);
	free(th->processes);
	free(th->tids);
	free(th);
}

/* ---- asking ---- */

/* The part of a sorted array whose elements begin with this number. */
static const void *part_of(const void *all, size_t n, size_t size, size_t key_at, uint32_t key,
			   size_t *count)
{
	const char *base = all;
	size_t lo = 0, hi = n, first;
	uint32_t k;

#define KEY(i) (memcpy(&k, base + (i)*size + key_at, sizeof(k)), k)
	while (lo < hi) {
		size_t m = lo + (hi - lo) / 2;

		if (KEY(m) < key)
			lo = m + 1;
		else
			hi = m;
	}
	first = lo;
	for (hi = n; lo < hi;) {
		size_t m = lo + (hi - lo) / 2;

		if (KEY(m) <= key)
			lo = m + 1;
		else
			hi = m;
	}
#undef KEY
	*count = lo - first;
	return base ? base + first * size : NULL;
}

const struct tipme_thread_picture *tipme_threads_pictures(const struct tipme_threads *th,
							  uint32_t tid, size_t *count)
{
	return part_of(th->pictures, th->picture_count, sizeof(*th->pictures),
		       offsetof(struct tipme_thread_picture, tid), tid, count);
}

const uint32_t *tipme_threads_tids(const struct tipme_threads *th, size_t *count)
{
	*count = th->tid_count;
	return th->tids;
}

const char *tipme_threads_stack(const struct tipme_threads *th, uint32_t stack_id)
{
	size_t n;
	const struct text *s = part_of(th->stacks, th->stack_count, sizeof(*s),
				       offsetof(struct text, id), stack_id, &n);

	return stack_id && n ? s[n - 1].text : NULL;
}

static const struct change *changes_of(const struct tipme_threads *th, uint32_t tid, size_t *count)
{
	return part_of(th->changes, th->change_count, sizeof(*th->changes),
		       offsetof(struct change, tid), tid, count);
}

/* The ended process of a number that lived at a time. */
static const struct process *process_at(const struct tipme_threads *th, uint32_t pid, uint64_t ts)
{
	size_t n;
	const struct process *p = part_of(th->processes, th->process_count, sizeof(*p),
					  offsetof(struct process, pid), pid, &n);

	while (n--) {
		if (p[n].start_ns <= ts + TICK_NS &&
		    (!p[n].exit_ns || p[n].exit_ns + TICK_NS >= ts))
			return &p[n];
	}
	return NULL;
}

static bool same_start(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= TICK_NS;
}

struct life {
	const struct change *fork, *name; /* the last ones up to the time */
	const struct tipme_thread_picture *pic, *later;
};

static const struct change *last_change(const struct tipme_threads *th, uint32_t tid, uint64_t ts,
					bool fork)
{
	size_t n;
	const struct change *c = changes_of(th, tid, &n);

	while (n--) {
		if (c[n].ts_ns <= ts && (c[n].parent != 0) == fork)
			return &c[n];
	}
	return NULL;
}

/* How many pictures of a thread come up to a time. */
static size_t pictures_until(const struct tipme_thread_picture *p, size_t n, uint64_t ts)
{
	size_t lo = 0;

	while (lo < n) {
		size_t m = lo + (n - lo) / 2;

		if (p[m].ts_ns <= ts)
			lo = m + 1;
		else
			n = m;
	}
	return lo;
}

static struct life life_at(const struct tipme_threads *th, uint32_t tid, uint64_t ts)
{
	struct life l = { .fork = last_change(th, tid, ts, true) };
	size_t n;
	const struct tipme_thread_picture *p = tipme_threads_pictures(th, tid, &n);
	size_t until = pictures_until(p, n, ts);

	l.pic = until ? &p[until - 1] : NULL;
	if (l.pic && l.fork && l.fork->start_ns != l.pic->start_ns && l.pic->ts_ns < l.fork->ts_ns)
		l.pic = NULL;
	for (size_t i = until; p && i < n && !l.later; i++) {
		bool same = l.pic    ? same_start(p[i].start_ns, l.pic->start_ns)
			    : l.fork ? same_start(p[i].start_ns, l.fork->start_ns)
				     : p[i].start_ns <= ts;

		l.later = same ? &p[i] : NULL;
	}
	uint64_t since = l.pic ? l.pic->ts_ns : l.fork ? l.fork->ts_ns : 0;

	l.name = last_change(th, tid, ts, false);
	if (l.name && l.name->ts_ns < since)
		l.name = NULL;
	return l;
}

static void who_at(const struct tipme_threads *th, uint32_t tid, uint64_t ts, int depth,
		   struct tipme_who *who);

static bool take_name(const char *name, struct tipme_who *who)
{
	snprintf(who->comm, sizeof(who->comm), "%s", name);
	return true;
}

/*
 * The newest of: a rename, what a picture saw, the parent's name at the fork; else what a later
 * picture of the same thread saw.
 */
static void name_at(const struct tipme_threads *th, const struct life *l, uint64_t ts, int depth,
		    struct tipme_who *who)
{
	struct tipme_who parent = { .comm = "?" };

	if (l->name && take_name(l->name->comm, who))
		return;
	if (l->pic && take_name(l->pic->comm, who))
		return;
	if (l->later && l->later->flags & KERNEL_THREAD && take_name(l->later->comm, who))
		return;
	if (l->fork && depth < DEPTH_MOST)
		who_at(th, l->fork->parent, l->fork->ts_ns, depth + 1, &parent);
	if (strcmp(parent.comm, "?") && take_name(parent.comm, who))
		return;
	if (l->later && take_name(l->later->comm, who))
		return;
	const struct process *p = process_at(th, who->tid, ts);

	take_name(p && p->exe[0] ? p->exe : "?", who);
}

/*
 * A new thread of a process that was there has its process's parent; a new process has the one that
 * made it.
 */
static uint32_t parent_at(const struct tipme_threads *th, const struct life *l, uint64_t ts,
			  int depth, uint32_t tid)
{
	struct tipme_who by;

	if (l->fork && depth < DEPTH_MOST) {
		who_at(th, l->fork->parent, l->fork->ts_ns, depth + 1, &by);
		return l->fork->pid == by.pid ? by.ppid : by.pid;
	}
	const struct process *p = process_at(th, tid, ts);

	return p ? p->ppid : 0;
}

static void who_at(const struct tipme_threads *th, uint32_t tid, uint64_t ts, int depth,
		   struct tipme_who *who)
{
	*who = (struct tipme_who){ .tid = tid, .prio = 120, .known = true };
	if (!tid) {
		who->kernel = true;
		take_name("idle", who);
		return;
	}
	struct life l = life_at(th, tid, ts);
	const struct tipme_thread_picture *any = l.pic ? l.pic : l.later;

	who->pid = any ? any->pid : l.fork ? l.fork->pid : tid;
	who->start_ns = l.pic	  ? l.pic->start_ns
			: l.fork  ? l.fork->start_ns
			: l.later ? l.later->start_ns
				  : 0;
	who->kernel = any && any->flags & KERNEL_THREAD;
	who->prio = any ? any->prio : 120;
	who->known = any || l.fork;
	name_at(th, &l, ts, depth, who);
	who->ppid = any ? any->ppid : parent_at(th, &l, ts, depth, tid);
}

void tipme_threads_at(const struct tipme_threads *th, uint32_t tid, uint64_t ts_ns,
		      struct tipme_who *who)
{
	who_at(th, tid, ts_ns, 0, who);
}

static void narrow(uint64_t at, uint64_t ts, uint64_t *from, uint64_t *to)
{
	if (at <= ts && at > *from)
		*from = at;
	if (at > ts && at < *to)
		*to = at;
}

void tipme_threads_same(const struct tipme_threads *th, uint32_t tid, uint64_t ts_ns,
			uint64_t *from_ns, uint64_t *to_ns)
{
	size_t n;
	const struct tipme_thread_picture *p = tipme_threads_pictures(th, tid, &n);

	*from_ns = 0;
	*to_ns = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		narrow(p[i].ts_ns, ts_ns, from_ns, to_ns);
		narrow(p[i].start_ns, ts_ns, from_ns, to_ns);
	}
	const struct change *c = changes_of(th, tid, &n);

	for (size_t i = 0; i < n; i++)
		narrow(c[i].ts_ns, ts_ns, from_ns, to_ns);
	const struct process *d = part_of(th->processes, th->process_count, sizeof(*d),
					  offsetof(struct process, pid), tid, &n);

	for (size_t i = 0; i < n; i++) {
		narrow(d[i].start_ns > TICK_NS ? d[i].start_ns - TICK_NS : 0, ts_ns, from_ns,
		       to_ns);
		if (d[i].exit_ns)
			narrow(d[i].exit_ns + TICK_NS + 1, ts_ns, from_ns, to_ns);
	}
}
