// SPDX-License-Identifier: GPL-2.0-only
/* Reads the tables that tracing programs and kernel module write alike, while they are written. */
#include "config.h"

#include <string.h>

#include "kernel_tables.h"

static uint64_t cpu_records(const struct tipme_pool_cpu *c, uint64_t slots)
{
	const volatile struct tipme_pool_cpu *v = c;
	uint64_t taken = v->taken;
	uint64_t head = v->cursor & TIPME_POOL_HEAD_MASK;

	return taken ? (taken - 1) * slots + (head < slots ? head : slots) : 0;
}

void tipme_kernel_tables_count(const struct tipme_kernel_tables *t,
			       struct tipme_kernel_stats *stats)
{
	for (unsigned int i = 0; i < t->cpu_count; i++) {
		const struct tipme_kernel_cpu *c = &t->cpus[i];

		stats->records += cpu_records(&c->pool, t->slots);
		stats->lost.pool += c->pool.lost_pool;
		stats->lost.nested += c->pool.lost_nested;
		stats->lost.stack_table += c->lost_stack;
		stats->lost.sleep_table += c->lost_sleep;
		stats->lost.lives += c->lost_life;
	}
}

/* Copies an entry if it is whole: claimed entries change gen first and show their key last. */
static int stack_read(const struct tipme_stack_entry *e, struct tipme_stack_entry *out)
{
	const volatile struct tipme_stack_entry *v = e;
	uint64_t key = v->key;
	uint32_t gen = v->gen;

	__asm__ volatile("" ::: "memory");
	memcpy(out, e, sizeof(*out));
	__asm__ volatile("" ::: "memory");
	return key > TIPME_STACK_BUSY && v->gen == gen && v->key == key && out->count &&
	       out->count <= TIPME_STACK_FRAMES;
}

int tipme_kernel_tables_stacks(const struct tipme_kernel_tables *t,
			       int (*fn)(void *arg, uint32_t stack_id, const uint64_t *frames,
					 unsigned int count),
			       void *arg)
{
	for (uint32_t i = 0; i < t->stack_entries; i++) {
		uint64_t frames[TIPME_STACK_FRAMES];
		struct tipme_stack_entry e;
		int ret;

		if (!stack_read(&t->stacks[i], &e))
			continue;
		memcpy(frames, e.frames, sizeof(frames));
		ret = fn(arg, (e.gen << 16) | (t->stack_base + i + 1), frames, e.count);
		if (ret)
			return ret;
	}
	return 0;
}
