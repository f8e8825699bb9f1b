/* SPDX-License-Identifier: GPL-2.0-only */
/* Intervals while they are made: rows, before they become columns. */
#ifndef TIPME_EPISODE_STATES_H
#define TIPME_EPISODE_STATES_H

#include "episode/private.h"

struct tipme_interval {
	uint64_t from, to;
	uint32_t tid, irq_ns, softirq_ns, wake, stack_id, by;
	uint16_t cpu;
	uint8_t kind, state, how, flags, prio;
};

struct tipme_interval_list {
	struct tipme_interval *at;
	size_t count, room;
	int err; /* the first -ENOMEM; later additions are left out */
};

/* What all threads' intervals are made from. */
struct tipme_states_maker {
	const struct tipme_events *ev;
	const struct tipme_threads *th;
	uint64_t from, to;
	uint32_t *placed; /* of each CPU: where among its switches one was found last, plus 1 */
	uint32_t *execs; /* execs by which a thread took its process's number */
	size_t exec_count;
	uint32_t *samples; /* samples of /proc, by thread, then time; NULL: not sorted yet */
	size_t sample_count;
};

struct tipme_interval tipme_interval_new(uint64_t from, uint8_t kind);
void tipme_interval_add(struct tipme_interval_list *l, struct tipme_interval i);

/* Adds the intervals of a thread, clipped to [from, to). */
void tipme_states_traced(struct tipme_states_maker *m, uint32_t tid, struct tipme_interval_list *l);
void tipme_states_sampled(struct tipme_states_maker *m, uint32_t tid,
			  struct tipme_interval_list *l);

/* The picture of a thread at a time, else the first one after it; NULL: none. */
const struct tipme_thread_picture *tipme_picture_at(const struct tipme_threads *th, uint32_t tid,
						    uint64_t ts);

/* A state's number, or "unknown" for those that nobody knows. */
uint8_t tipme_state_known(uint8_t state);

/* When the records begin: `from`, or earlier. */
uint64_t tipme_states_beginning(const struct tipme_states_maker *m);

/* Adds what was made of one thread from list number `first` on, cut at the edges of [from, to). */
void tipme_states_clip(const struct tipme_states_maker *m, uint32_t tid,
		       struct tipme_interval_list *l, size_t first);

#endif
