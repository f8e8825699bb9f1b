// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two sources as one: the second records what the first cannot, or its part of that. Nobody shall
 * know less because a better source is there. The pool of the first is the pair's; the records of
 * the second, few, follow those of the first in each copy.
 */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "kernel_backend.h"

struct pair {
	struct tipme_kernel_source base;
	struct tipme_kernel_backend table; /* the functions below, with the first one's name */
	struct tipme_kernel_source *first, *second;
};

static struct pair *pair_of(const struct tipme_kernel_source *base)
{
	return (struct pair *)base;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void pair_close(struct tipme_kernel_source *base)
{
	struct pair *p = pair_of(base);

	tipme_kernel_source_close(p->second);
	tipme_kernel_source_close(p->first);
	free(p);
}

/* --- which of the two --- */

static struct tipme_kernel_source *pair_of_class(struct tipme_kernel_source *base,
						 unsigned int which)
{
	struct pair *p = pair_of(base);

	return p->second->classes_able & 1U << which ? p->second : p->first;
}

/* Of a class that each of them records in part, both begin or end: both, or neither. */
static int pair_class_set(struct tipme_kernel_source *base, unsigned int which, int on)
{
	struct pair *p = pair_of(base);
	int partly = !!(p->first->backend->classes_partly & 1U << which), err;

	if (pair_of_class(base, which) == p->first)
		return tipme_kernel_source_class_set(p->first, which, on);
	err = tipme_kernel_source_class_set(p->second, which, on);
	if (err || !partly)
		return err;
	err = tipme_kernel_source_class_set(p->first, which, on);
	if (err)
		tipme_kernel_source_class_set(p->second, which, !on);
	return err;
}

static int pair_picture(struct tipme_kernel_source *base, struct tipme_picture *picture,
			struct tipme_kernel_thread *threads, unsigned int max)
{
	return tipme_kernel_source_picture(pair_of(base)->first, picture, threads, max);
}

static int pair_named_stacks(struct tipme_kernel_source *base,
			     int (*fn)(void *arg, uint32_t stack_id, const char *name), void *arg)
{
	return tipme_kernel_source_named_stacks(pair_of(base)->first, fn, arg);
}

static int pair_trigger_fd(struct tipme_kernel_source *base)
{
	return tipme_kernel_source_trigger_fd(pair_of(base)->first);
}

static int pair_trigger_taken(struct tipme_kernel_source *base, uint32_t *by, char *text,
			      size_t len)
{
	return tipme_kernel_source_trigger_taken(pair_of(base)->first, by, text, len);
}

static int pair_suspended(struct tipme_kernel_source *base, uint64_t since_ns, uint64_t *from_ns,
			  uint64_t *to_ns)
{
	struct pair *p = pair_of(base);
	struct tipme_kernel_source *knows = p->first->backend->suspended ? p->first : p->second;

	return tipme_kernel_source_suspended(knows, since_ns, from_ns, to_ns);
}

/* --- both --- */

static int pair_stats(struct tipme_kernel_source *base, struct tipme_kernel_stats *stats)
{
	struct pair *p = pair_of(base);
	struct tipme_kernel_stats more;
	int err = tipme_kernel_source_stats(p->first, stats);

	if (err || tipme_kernel_source_stats(p->second, &more))
		return err;
	stats->records += more.records;
	stats->lost.pool += more.lost.pool;
	stats->lost.nested += more.lost.nested;
	stats->lost.missed += more.lost.missed;
	for (unsigned int i = 0; i < more.missed_count && stats->missed_count < TIPME_KERNEL_MISSED;
	     i++)
		stats->missed[stats->missed_count++] = more.missed[i];
	stats->lost.stack_table += more.lost.stack_table;
	stats->lost.lives += more.lost.lives;
	stats->pool_bytes += more.pool_bytes;
	stats->map_bytes += more.map_bytes;
	stats->programs += more.programs;
	stats->measuring |= more.measuring;
	stats->measured_ns = stats->measured_ns ? stats->measured_ns : more.measured_ns;
	for (int i = 0; i < TIPME_CLASSES; i++)
		stats->cost[i] = stats->cost[i].ns ? stats->cost[i] : more.cost[i];
	return 0;
}

static int pair_stacks(struct tipme_kernel_source *base,
		       int (*fn)(void *arg, uint32_t stack_id, const uint64_t *frames,
				 unsigned int count),
		       void *arg)
{
	struct pair *p = pair_of(base);
	int ret = tipme_kernel_source_stacks(p->first, fn, arg);

	return ret ? ret : tipme_kernel_source_stacks(p->second, fn, arg);
}

static uint64_t pair_stacks_age(struct tipme_kernel_source *base, uint64_t keep_ns)
{
	tipme_kernel_source_stacks_age(pair_of(base)->second, keep_ns);
	return tipme_kernel_source_stacks_age(pair_of(base)->first, keep_ns);
}

static int pair_cpus_look(struct tipme_kernel_source *base)
{
	int err = tipme_kernel_source_cpus_look(pair_of(base)->first);
	int second = tipme_kernel_source_cpus_look(pair_of(base)->second);

	return err ? err : second;
}

/* --- copies --- */

static size_t pair_copy_bytes(const struct tipme_kernel_source *base)
{
	const struct pair *p = pair_of(base);

	return tipme_pool_copy_bytes(&p->first->view) + tipme_pool_copy_bytes(&p->second->view);
}

/* The second's records follow the first's, wherever those end: so as much more is kept touched. */
static int second_alloc(const struct tipme_pool_view *v, struct tipme_kernel_copy *c)
{
	size_t bytes = tipme_pool_copy_bytes(v);
	void *buf = mremap(c->buf, c->size, c->size + bytes, MREMAP_MAYMOVE);

	if (buf == MAP_FAILED)
		return -ENOMEM;
	c->buf = buf;
	memset((char *)c->buf + c->kept, 0, bytes);
	c->size += bytes;
	c->kept += bytes;
	c->second = calloc(1, sizeof(*c->second));
	return c->second ? tipme_pool_copy_alloc(v, c->second) : -ENOMEM;
}

static int pair_copy_alloc(const struct tipme_kernel_source *base, struct tipme_kernel_copy *c)
{
	const struct pair *p = pair_of(base);
	int err = tipme_pool_copy_alloc(&p->first->view, c);

	if (err)
		return err;
	err = second_alloc(&p->second->view, c);
	if (err)
		tipme_kernel_copy_free(c);
	return err;
}

static void second_copy(const struct tipme_pool_view *v, struct tipme_kernel_copy *c, int more)
{
	struct tipme_kernel_copy *s = c->second;
	size_t before = more ? s->len : 0;
	uint64_t records = more ? s->records : 0;

	tipme_pool_copy(v, s, now_ns(), more);
	memcpy((char *)c->buf + c->len, (const char *)s->buf + before, s->len - before);
	c->len += s->len - before;
	c->records += s->records - records;
}

/* The first one's copy leaves the room that the second's may still need. */
static int pair_copy_part(struct tipme_kernel_source *base, struct tipme_kernel_copy *c, int more,
			  size_t bytes)
{
	struct pair *p = pair_of(base);
	size_t room = c->second->size - (more ? c->second->len : 0);
	int left;

	c->size -= room;
	left = tipme_pool_copy_part(&p->first->view, c, bytes);
	c->size += room;
	if (!left)
		second_copy(&p->second->view, c, more);
	return left;
}

static const struct tipme_kernel_backend functions = {
	.close = pair_close,
	.of_class = pair_of_class,
	.class_set = pair_class_set,
	.picture = pair_picture,
	.named_stacks = pair_named_stacks,
	.trigger_fd = pair_trigger_fd,
	.trigger_taken = pair_trigger_taken,
	.suspended = pair_suspended,
	.stats = pair_stats,
	.stacks = pair_stacks,
	.stacks_age = pair_stacks_age,
	.cpus_look = pair_cpus_look,
	.copy_bytes = pair_copy_bytes,
	.copy_alloc = pair_copy_alloc,
	.copy_part = pair_copy_part,
};

struct tipme_kernel_source *tipme_kernel_pair(struct tipme_kernel_source *first,
					      struct tipme_kernel_source *second)
{
	struct pair *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->table = functions;
	p->table.source = first->backend->source;
	p->table.name = first->backend->name;
	p->table.second = second->backend->name;
	p->base.backend = &p->table;
	p->base.pool = first;
	p->base.classes_able = first->classes_able | second->classes_able;
	p->base.tells_affinity = first->tells_affinity || second->tells_affinity;
	memcpy(p->base.left_out, second->left_out, sizeof(p->base.left_out));
	p->base.left_out_count = second->left_out_count;
	p->first = first;
	p->second = second;
	/* it is small, and stays so */
	second->view.subs_most = 0;
	return &p->base;
}
