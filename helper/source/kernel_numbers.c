// SPDX-License-Identifier: GPL-2.0-only
/* Numbers in place of kernel addresses: nothing that is saved tells where the kernel lies. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_numbers.h"
#include "record_walk.h"

#define SLOTS_FIRST 256U

/*
 * Open addressing; a slot holds a number, 0: free. What it stands for is in `what`, by number - 1.
 */
struct table {
	uint32_t *slot;
	uint64_t *what;
	uint32_t slots, used;
};

struct tipme_numbers {
	struct table table[TIPME_NUMBERED_KINDS];
};

static int table_init(struct table *t, uint32_t slots)
{
	*t = (struct table){ .slot = calloc(slots, sizeof(*t->slot)),
			     .what = calloc(slots / 2, sizeof(*t->what)),
			     .slots = slots };
	return t->slot && t->what ? 0 : -ENOMEM;
}

static void table_free(struct table *t)
{
	free(t->slot);
	free(t->what);
}

int tipme_numbers_new(struct tipme_numbers **out)
{
	struct tipme_numbers *n = calloc(1, sizeof(*n));
	int err = n ? 0 : -ENOMEM;

	for (int i = 0; i < TIPME_NUMBERED_KINDS && !err; i++)
		err = table_init(&n->table[i], SLOTS_FIRST);
	if (err)
		tipme_numbers_free(n);
	else
		*out = n;
	return err;
}

void tipme_numbers_free(struct tipme_numbers *n)
{
	if (!n)
		return;
	for (int i = 0; i < TIPME_NUMBERED_KINDS; i++)
		table_free(&n->table[i]);
	free(n);
}

/* The slot that has `what`, or the free one where it belongs. */
static uint32_t *slot_of(const struct table *t, uint64_t what)
{
	uint32_t i = (uint32_t)((what * 0x9e3779b97f4a7c15ULL) >> 32) & (t->slots - 1);

	while (t->slot[i] && t->what[t->slot[i] - 1] != what)
		i = (i + 1) & (t->slots - 1);
	return &t->slot[i];
}

static int table_grow(struct table *t)
{
	struct table more;
	int err = table_init(&more, t->slots * 2);

	if (err) {
		table_free(&more);
		return err;
	}
	memcpy(more.what, t->what, t->used * sizeof(*t->what));
	for (; more.used < t->used; more.used++)
		*slot_of(&more, more.what[more.used]) = more.used + 1;
	table_free(t);
	*t = more;
	return 0;
}

/* Its number in *number, which it gets here if it has none; nothing (0) stays nothing. */
static int number_of(struct table *t, uint64_t what, uint32_t *number)
{
	uint32_t *slot = what ? slot_of(t, what) : NULL;

	if (!what || *slot) {
		*number = what ? *slot : 0;
		return 0;
	}
	if (t->used * 2 == t->slots) {
		int err = table_grow(t);

		if (err)
			return err;
		slot = slot_of(t, what);
	}
	t->what[t->used++] = what;
	*number = *slot = t->used;
	return 0;
}

static int replace32(struct tipme_numbers *n, enum tipme_numbered kind, __u32 *field)
{
	return number_of(&n->table[kind], *field, field);
}

static int replace64(struct tipme_numbers *n, enum tipme_numbered kind, __u64 *field)
{
	uint32_t number;
	int err = number_of(&n->table[kind], *field, &number);

	if (!err)
		*field = number;
	return err;
}

/* All records that a kernel source, or a picture of it, has addresses in. */
static int record_apply(struct tipme_numbers *n, void *rec)
{
	struct tipme_work_queued *queued = rec;
	struct tipme_work_start *work = rec;
	struct tipme_sample *sample = rec;
	int err;

	switch (((const struct tipme_head *)rec)->type) {
	case TIPME_SCHED_WAKING:
		return replace32(n, TIPME_NUMBERED_STACK,
				 &((struct tipme_sched_waking *)rec)->stack_id);
	case TIPME_THREAD:
		return replace32(n, TIPME_NUMBERED_STACK, &((struct tipme_thread *)rec)->stack_id);
	case TIPME_PROC_STATE:
		return replace32(n, TIPME_NUMBERED_STACK,
				 &((struct tipme_proc_state *)rec)->stack_id);
	case TIPME_SAMPLE:
		err = replace32(n, TIPME_NUMBERED_STACK, &sample->kernel_stack_id);
		return err ? err : replace32(n, TIPME_NUMBERED_USER_STACK, &sample->user_stack_id);
	case TIPME_WORK_QUEUED:
		err = replace64(n, TIPME_NUMBERED_WORK, &queued->work);
		return err ? err : replace32(n, TIPME_NUMBERED_FUNCTION, &queued->function);
	case TIPME_WORK_START:
	case TIPME_WORK_END:
		err = replace64(n, TIPME_NUMBERED_WORK, &work->work);
		return err ? err : replace32(n, TIPME_NUMBERED_FUNCTION, &work->function);
	case TIPME_LOCK_CONTENTION:
		return replace64(n, TIPME_NUMBERED_LOCK,
				 &((struct tipme_lock_contention *)rec)->lock);
	case TIPME_NETWORK:
		return replace64(n, TIPME_NUMBERED_SOCKET, &((struct tipme_network *)rec)->socket);
	}
	return 0;
}

int tipme_numbers_apply(struct tipme_numbers *n, void *recs, size_t len)
{
	struct tipme_walk w = { recs, (const uint8_t *)recs + len };
	struct tipme_rec r;
	int err = 0, more;

	while (!err && (more = tipme_record_next(&w, &r))) {
		if (more < 0)
			return -EINVAL;
		err = record_apply(n, (char *)recs + (r.bytes - (const uint8_t *)recs));
	}
	return err;
}

uint32_t tipme_numbers_find(const struct tipme_numbers *n, enum tipme_numbered kind, uint64_t what)
{
	return what ? *slot_of(&n->table[kind], what) : 0;
}

uint32_t tipme_numbers_count(const struct tipme_numbers *n, enum tipme_numbered kind)
{
	return n->table[kind].used;
}

uint64_t tipme_numbers_what(const struct tipme_numbers *n, enum tipme_numbered kind,
			    uint32_t number)
{
	return n->table[kind].what[number - 1];
}

/* --- emitted in order --- */

int tipme_number_sorter_new(struct tipme_number_sorter *s, uint32_t count)
{
	*s = (struct tipme_number_sorter){ .rec = calloc(count ? count : 1, sizeof(*s->rec)),
					   .count = count };
	return s->rec ? 0 : -ENOMEM;
}

void tipme_number_sorter_free(struct tipme_number_sorter *s)
{
	for (uint32_t i = 0; s->rec && i < s->count; i++)
		free(s->rec[i]);
	free(s->rec);
	*s = (struct tipme_number_sorter){ 0 };
}

int tipme_number_sorter_put(struct tipme_number_sorter *s, uint32_t number, const void *rec)
{
	size_t len = (size_t)((const struct tipme_head *)rec)->len8 * 8;
	void *copy = number && number <= s->count ? malloc(len) : NULL;

	if (!copy)
		return number && number <= s->count ? -ENOMEM : -EINVAL;
	free(s->rec[number - 1]);
	s->rec[number - 1] = memcpy(copy, rec, len);
	return 0;
}

int tipme_number_sorter_emit(const struct tipme_number_sorter *s,
			     int (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	int ret = 0;

	for (uint32_t i = 0; i < s->count && !ret; i++)
		if (s->rec[i])
			ret = emit(arg, s->rec[i],
				   (size_t)((const struct tipme_head *)s->rec[i])->len8 * 8);
	return ret;
}
