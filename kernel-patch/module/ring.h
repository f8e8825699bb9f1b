/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring's memory, and its writer inline for those who write in the scheduler's hot path; others
 * call tipme_record().
 */
#ifndef TIPME_RING_H
#define TIPME_RING_H

#include <linux/cache.h>
#include <linux/percpu.h>

#include "tipme.h"

/*
 * Filled before the first probe is registered and cleared after the last has gone: probes read it
 * without a look.
 */
struct tipme_ring {
	char *pool;
	u32 subs, sub_shift, slots, cell_mask;
	u64 *cells;
	struct tipme_sleep *sleeps;
	struct tipme_stack_entry *stacks;
	u32 stack_mask;
	u64 start_ns, stack_min_ns, stack_keep_ns;
	u64 stack_old_ns; /* see TIPME_IOC_STACKS_OLD */
	u64 sched_text_start, sched_text_end;
	struct tipme_kernel_cpu *cpus;
	void *area; /* header, cpus, stacks, pool: what is mapped */
	size_t area_bytes;
	struct tipme_pool_queue queue ____cacheline_aligned_in_smp;
};

extern struct tipme_ring tipme_ring;
DECLARE_PER_CPU(struct tipme_kernel_cpu *, tipme_this_cpu); /* NULL while nothing records */

#define tipme_pool_slots (tipme_ring.slots)

static __always_inline struct tipme_pool_header *tipme_pool_sub(__u32 sub)
{
	return likely(sub < tipme_ring.subs)
		       ? (void *)(tipme_ring.pool + ((size_t)sub << tipme_ring.sub_shift))
		       : NULL;
}

/* The same for one that a cursor names whose slot is below the last. */
static __always_inline struct tipme_pool_header *tipme_pool_sub_there(__u32 sub)
{
	return (void *)(tipme_ring.pool + ((size_t)sub << tipme_ring.sub_shift));
}

static __always_inline __u64 *tipme_pool_cell(__u64 pos)
{
	return (__u64 *)&tipme_ring.cells[pos & tipme_ring.cell_mask];
}

static __always_inline struct tipme_pool_queue *tipme_pool_queue(void)
{
	return &tipme_ring.queue;
}

static __always_inline __u64 tipme_pool_clock(void)
{
	return tipme_now();
}

/* The latency driver's and the sampler's records come by NMI. */
#define TIPME_POOL_NMI
#define TIPME_POOL_WRITER
#define TIPME_POOL_INLINE static __always_inline
#define TIPME_POOL_SLOW static noinline __maybe_unused
#include "pool.h"

/* With interrupts off, until the record is committed. */
static __always_inline void *tipme_record_begin_irqs_off(struct tipme_kernel_cpu *c, u64 now,
							 u8 type, u32 tid, u16 *gen)
{
	struct tipme_head *head = tipme_pool_begin_irqs_off(&c->pool, smp_processor_id(), gen);

	if (unlikely(!head))
		return NULL;
	head->ts_ns = now;
	head->type = type;
	head->len8 = TIPME_POOL_SLOT_BYTES / 8;
	head->tid = tid;
	return head;
}

/*
 * The same, if there is no more to do than to fill it in: else NULL, and then
 * tipme_record_begin_irqs_off() does it.
 */
static __always_inline void *tipme_record_try_irqs_off(struct tipme_kernel_cpu *c, u64 now, u8 type,
						       u32 tid, u16 *gen)
{
	u64 second_word = type | TIPME_POOL_SLOT_BYTES / 8 << 8 | (u64)tid << 32;
	struct tipme_head *head = tipme_pool_try_irqs_off(&c->pool, second_word, gen);

	if (likely(head))
		head->ts_ns = now;
	return head;
}

#endif
