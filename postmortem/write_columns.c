// SPDX-License-Identifier: GPL-2.0-only
/*
 * All that the reader makes of an episode as one file of columns, for programs that map it:
 * docs/formats.md.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "episode/table.h"

struct made {
	struct tipme_events ev;
	struct tipme_threads *th;
	struct tipme_states st;
	struct tipme_cpu_intervals ci;
	struct tipme_stages sg;
};

struct part {
	const char *table, *name;
	uint32_t width;
	uint64_t rows;
	const void *from;
};

static int make_all(struct made *m, struct tipme_episode *ep, uint64_t from, uint64_t to)
{
	int err = tipme_events_load(&m->ev, ep, from, to);

	err = err ? err : tipme_threads_load(&m->th, ep, &m->ev);
	err = err ? err
		  : tipme_states_make(&m->st, &m->ev, m->th, m->ev.by_tid.key, m->ev.by_tid.count,
				      from, to);
	err = err ? err : tipme_cpu_intervals_make(&m->ci, &m->ev, m->th, from, to);
	return err ? err : tipme_stages_load(&m->sg, ep, from, to);
}

static void free_all(struct made *m)
{
	tipme_stages_free(&m->sg);
	tipme_cpu_intervals_free(&m->ci);
	tipme_states_free(&m->st);
	tipme_threads_free(m->th);
	tipme_events_free(&m->ev);
}

static int write_parts(const struct part *parts, uint32_t count, int fd, uint64_t from, uint64_t to,
		       uint64_t exact)
{
	struct tipme_columns_want *want = calloc(count, sizeof(*want));
	void **data = calloc(count, sizeof(*data));
	struct tipme_columns_map map = { 0 };
	int err = want && data ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < count; i++)
		want[i] = (struct tipme_columns_want){ parts[i].table, parts[i].name,
						       parts[i].width, parts[i].rows, &data[i] };
	err = err ? err : tipme_columns_make(&map, fd, false, want, count);
	for (uint32_t i = 0; !err && i < count; i++) {
		if (parts[i].rows)
			memcpy(data[i], parts[i].from, parts[i].rows * parts[i].width);
	}
	if (!err) {
		struct tipme_columns_header *h = (void *)map.at;

		h->from_ns = from;
		h->to_ns = to;
		h->exact_ns = exact;
	}
	tipme_columns_free(&map);
	free(want);
	free(data);
	return err;
}

#define PART(table, name, object, column)                                              \
	{                                                                              \
		table, name, sizeof(*(object).column), (object).count, (object).column \
	}

static int write_made(const struct made *m, int fd, uint64_t from, uint64_t to)
{
	const struct part parts[] = {
		PART("events", "ts", m->ev, ts_ns),
		PART("events", "type", m->ev, type),
		PART("events", "cpu", m->ev, cpu),
		PART("events", "tid", m->ev, tid),
		PART("events", "a", m->ev, a),
		PART("events", "b", m->ev, b),
		PART("events", "c", m->ev, c),
		PART("events", "d", m->ev, d),
		PART("states", "from", m->st, from_ns),
		PART("states", "to", m->st, to_ns),
		PART("states", "tid", m->st, tid),
		PART("states", "kind", m->st, kind),
		PART("states", "state", m->st, state),
		PART("states", "how", m->st, how),
		PART("states", "flags", m->st, flags),
		PART("states", "cpu", m->st, cpu),
		PART("states", "prio", m->st, prio),
		PART("states", "irq_ns", m->st, irq_ns),
		PART("states", "softirq_ns", m->st, softirq_ns),
		PART("states", "wake", m->st, wake),
		PART("states", "waker_tid", m->st, waker_tid),
		PART("states", "stack_id", m->st, stack_id),
		PART("states", "by", m->st, by),
		PART("cpus", "from", m->ci, from_ns),
		PART("cpus", "to", m->ci, to_ns),
		PART("cpus", "cpu", m->ci, cpu),
		PART("cpus", "tid", m->ci, tid),
		PART("cpus", "prio", m->ci, prio),
		PART("cpus", "by", m->ci, by),
		PART("stages", "ts", m->sg, ts_ns),
		PART("stages", "duration_ns", m->sg, duration_ns),
		PART("stages", "type", m->sg, type),
		PART("stages", "kind", m->sg, kind),
		PART("stages", "tid", m->sg, tid),
		PART("stages", "server", m->sg, server),
		PART("stages", "pid", m->sg, pid),
		PART("stages", "client", m->sg, client),
		PART("stages", "window", m->sg, window),
		PART("stages", "input_seq", m->sg, input_seq),
		PART("stages", "request", m->sg, request),
	};

	return write_parts(parts, sizeof(parts) / sizeof(parts[0]), fd, from, to, m->ev.exact_ns);
}

int tipme_write_columns(const char *dir, int fd, uint64_t from, uint64_t to)
{
	struct tipme_episode *ep = NULL;
	struct made m = { .th = NULL };
	char why[512];
	int err = tipme_episode_open(&ep, dir, why, sizeof(why));

	if (err) {
		fprintf(stderr, "tipme-columns: %s\n", why);
		return err;
	}
	err = make_all(&m, ep, from, to);
	err = err ? err : write_made(&m, fd, from, to);
	for (size_t i = 0; i < tipme_episode_damage_count(ep); i++)
		fprintf(stderr, "tipme-columns: %s\n", tipme_episode_damage(ep, i));
	free_all(&m);
	tipme_episode_close(ep);
	return err;
}
