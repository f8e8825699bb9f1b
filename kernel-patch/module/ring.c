// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring: a pool of sub-buffers in memory that is never paged, shared read-only with user space,
 * written from any context.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>

#include "ring.h"

struct tipme_ring tipme_ring;
DEFINE_PER_CPU(struct tipme_kernel_cpu *, tipme_this_cpu);

/*
 * Half of the machine's memory is more than any recorder needs; a mistyped size must not take the
 * machine down.
 */
static int sizes_check(const struct tipme_start *s)
{
	u64 pool = (u64)s->subs * s->subbuf_bytes;

	if (s->subbuf_bytes < 4096 || s->subbuf_bytes > SZ_1M || !is_power_of_2(s->subbuf_bytes))
		return -EINVAL;
	if (s->subs < 3 * nr_cpu_ids || s->subs >= TIPME_POOL_NO_SUB)
		return -EINVAL;
	if (!s->stack_entries || s->stack_entries > 32768 || !is_power_of_2(s->stack_entries))
		return -EINVAL;
	return pool >> PAGE_SHIFT > totalram_pages() / 2 ? -ENOMEM : 0;
}

static void header_fill(struct tipme_map_header *h, const struct tipme_start *s)
{
	*h = (struct tipme_map_header){
		.magic = TIPME_MAP_MAGIC,
		.byte_order = TIPME_BYTE_ORDER,
		.major = TIPME_FORMAT_MAJOR,
		.minor = TIPME_FORMAT_MINOR,
		.header_bytes = sizeof(*h),
		.cpus = nr_cpu_ids,
		.cpu_bytes = sizeof(struct tipme_kernel_cpu),
		.subs = s->subs,
		.subbuf_bytes = s->subbuf_bytes,
		.stack_entries = s->stack_entries,
		.stack_bytes = sizeof(struct tipme_stack_entry),
		.stack_frames = TIPME_STACK_FRAMES,
		.cpus_offset = PAGE_SIZE,
	};
	h->stacks_offset = h->cpus_offset + PAGE_ALIGN((u64)h->cpus * h->cpu_bytes);
	h->pool_offset = h->stacks_offset + PAGE_ALIGN((u64)h->stack_entries * h->stack_bytes);
	h->map_bytes = h->pool_offset + (u64)h->subs * h->subbuf_bytes;
}

static void pool_init(void)
{
	unsigned int i;

	for (i = 0; i < tipme_ring.subs; i++)
		tipme_ring.cells[i] = TIPME_POOL_CELL((u64)i, i);
	tipme_ring.queue.tail = tipme_ring.subs;
	for (i = 0; i < nr_cpu_ids; i++)
		tipme_ring.cpus[i].pool.cursor = TIPME_POOL_CURSOR_START;
}

static void memory_free(void)
{
	vfree(tipme_ring.area);
	kvfree(tipme_ring.cells);
	kvfree(tipme_ring.sleeps);
	memset(&tipme_ring, 0, sizeof(tipme_ring));
}

int tipme_ring_make(struct tipme_start *s)
{
	struct tipme_map_header h;
	u64 cells = roundup_pow_of_two(s->subs ?: 1);
	int cpu, err = sizes_check(s);

	lockdep_assert_held(&tipme_control);
	if (err)
		return err;
	header_fill(&h, s);
	/*
	 * vmalloc_user() gives zeroes: what user space maps tells it nothing that we did not write.
	 */
	tipme_ring.area = vmalloc_user(h.map_bytes);
	tipme_ring.cells = kvcalloc(cells, sizeof(u64), GFP_KERNEL);
	tipme_ring.sleeps = kvcalloc(TIPME_SLEEPS, sizeof(struct tipme_sleep), GFP_KERNEL);
	if (!tipme_ring.area || !tipme_ring.cells || !tipme_ring.sleeps) {
		memory_free();
		return -ENOMEM;
	}
	tipme_ring.area_bytes = h.map_bytes;
	tipme_ring.cpus = tipme_ring.area + h.cpus_offset;
	tipme_ring.stacks = tipme_ring.area + h.stacks_offset;
	tipme_ring.pool = tipme_ring.area + h.pool_offset;
	tipme_ring.subs = s->subs;
	tipme_ring.sub_shift = ilog2(s->subbuf_bytes);
	tipme_ring.slots =
		(s->subbuf_bytes - sizeof(struct tipme_pool_header)) / TIPME_POOL_SLOT_BYTES;
	tipme_ring.cell_mask = cells - 1;
	tipme_ring.stack_mask = s->stack_entries - 1;
	tipme_ring.stack_old_ns = 0;
	tipme_ring.stack_min_ns = (u64)s->stack_min_us * NSEC_PER_USEC;
	tipme_ring.stack_keep_ns = ((u64)s->window_s * 2 + 60) * NSEC_PER_SEC;
	tipme_ring.sched_text_start = s->sched_text_start;
	tipme_ring.sched_text_end = s->sched_text_end;
	pool_init();
	h.start_ns = tipme_ring.start_ns = tipme_now();
	memcpy(tipme_ring.area, &h, sizeof(h));
	s->map_bytes = h.map_bytes;
	for_each_possible_cpu(cpu)
		/*
		 * Who finds the pointer finds the ring. Partner: the address dependency in
		 * tipme_record(), through this very pointer.
		 */
		smp_store_release(per_cpu_ptr(&tipme_this_cpu, cpu), &tipme_ring.cpus[cpu]);
	return 0;
}

bool tipme_ring_live(void)
{
	return tipme_ring.area;
}

/*
 * Probes are gone by now. Others (the latency driver, the sampler) come through tipme_record(),
 * with preemption off from the look at the pointer to the end of the record: an RCU grace period
 * outlasts them all, also those in interrupts and NMIs.
 */
void tipme_ring_free(void)
{
	int cpu;

	lockdep_assert_held(&tipme_control);
	if (!tipme_ring.area)
		return;
	for_each_possible_cpu(cpu) WRITE_ONCE(*per_cpu_ptr(&tipme_this_cpu, cpu), NULL);
	synchronize_rcu();
	memory_free();
}

/* The file that records keeps the ring alive, and each mapping keeps the file. */
int tipme_ring_mmap(struct vm_area_struct *vma)
{
	if (!tipme_ring.area)
		return -ENODATA;
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	tipme_vma_never_write(vma);
	return remap_vmalloc_range(vma, tipme_ring.area, vma->vm_pgoff);
}

/*
 * Preemption is off, so the CPU stays the same; interrupts and NMIs may come between any two
 * instructions. An NMI does not queue what is retired (see pool.h).
 */
void tipme_record(const void *rec)
{
	const u64 *from = rec;
	struct tipme_kernel_cpu *c;
	u64 *slot;
	u16 gen;

	preempt_disable_notrace();
	c = __this_cpu_read(tipme_this_cpu);
	if (!c)
		goto out;
	slot = tipme_pool_begin(&c->pool, smp_processor_id(), &gen);
	if (slot) {
		struct tipme_head *head = (void *)slot;

		slot[0] = from[0];
		slot[2] = from[2];
		slot[3] = from[3];
		head->type = ((const struct tipme_head *)rec)->type;
		head->len8 = TIPME_POOL_SLOT_BYTES / 8;
		head->tid = ((const struct tipme_head *)rec)->tid;
		tipme_pool_commit(head, gen);
	}
	if (in_nmi())
		tipme_pool_end_nmi(&c->pool);
	else
		tipme_pool_end(&c->pool);
out:
	preempt_enable_notrace();
}
