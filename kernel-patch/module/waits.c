// SPDX-License-Identifier: GPL-2.0-only
/* Record classes that say what a thread waits for: block requests, kernel locks, memory. */
struct compact_control; /* what trace/events/compaction.h leaves to its includer */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/mutex.h>
#include <linux/rtmutex.h>
#include <linux/rwsem.h>
#include <linux/uaccess.h>
#include <trace/events/block.h>
#include <trace/events/compaction.h>
#include <trace/events/lock.h>
#include <trace/events/vmscan.h>

#include "ring.h"

/* --- io: the way of a request through the block layer --- */

static u8 io_op(blk_opf_t flags, u32 bytes)
{
	switch (flags & REQ_OP_MASK) {
	case REQ_OP_READ: return TIPME_IO_OP_READ;
	case REQ_OP_WRITE:
		/* a write of nothing asks for a flush */
		return bytes ? TIPME_IO_OP_WRITE : TIPME_IO_OP_FLUSH;
	case REQ_OP_FLUSH: return TIPME_IO_OP_FLUSH;
	case REQ_OP_DISCARD:
	case REQ_OP_SECURE_ERASE:
	case REQ_OP_WRITE_ZEROES: return TIPME_IO_OP_DISCARD;
	}
	return TIPME_IO_OP_OTHER;
}

static void io_put(sector_t sector, const struct gendisk *disk, u32 bytes, blk_opf_t flags,
		   u8 phase)
{
	TIPME_NEW_RECORD(tipme_io, TIPME_IO, current->pid);

	r.sector = sector;
	r.dev = disk ? (u32)disk->major << 20 | (disk->first_minor & 0xfffff) : 0;
	r.sectors = min_t(u32, bytes >> SECTOR_SHIFT, U16_MAX);
	r.op = io_op(flags, bytes);
	r.phase = phase;
	tipme_record(&r);
}

/* The disk, not the partition: so requests and what they were made of have the same name. */
static void io_bio(const struct bio *bio, u8 phase)
{
	io_put(bio->bi_iter.bi_sector, bio->bi_bdev->bd_disk, bio->bi_iter.bi_size, bio->bi_opf,
	       phase);
}

/* A request without data, and one that bypasses the block layer, shows -1 as its sector. */
static void io_request(const struct request *rq, u32 bytes, u8 phase)
{
	sector_t sector = blk_rq_pos(rq);

	io_put(sector + 1 ? sector : 0, rq->q->disk, bytes, rq->cmd_flags, phase);
}

static void on_block_bio_queue(void *unused, struct bio *bio)
{
	io_bio(bio, TIPME_IO_PHASE_QUEUED);
}

static void on_block_bio_backmerge(void *unused, struct bio *bio)
{
	io_bio(bio, TIPME_IO_PHASE_MERGED);
}

static void on_block_bio_frontmerge(void *unused, struct bio *bio)
{
	io_bio(bio, TIPME_IO_PHASE_MERGED);
}

static void on_block_rq_merge(void *unused, struct request *rq)
{
	io_request(rq, blk_rq_bytes(rq), TIPME_IO_PHASE_MERGED);
}

static void on_block_rq_insert(void *unused, struct request *rq)
{
	io_request(rq, blk_rq_bytes(rq), TIPME_IO_PHASE_INSERTED);
}

static void on_block_rq_issue(void *unused, struct request *rq)
{
	io_request(rq, blk_rq_bytes(rq), TIPME_IO_PHASE_ISSUED);
}

static void on_block_rq_requeue(void *unused, struct request *rq)
{
	io_request(rq, blk_rq_bytes(rq), TIPME_IO_PHASE_REQUEUED);
}

static void on_block_rq_complete(void *unused, struct request *rq, blk_status_t error,
				 unsigned int bytes)
{
	io_request(rq, bytes, error ? TIPME_IO_PHASE_FAILED : TIPME_IO_PHASE_COMPLETED);
}

/* --- lock_contention: sleeping locks always, spinning ones when it lasted --- */

static u8 lock_kind(unsigned int flags)
{
	if (flags & LCB_F_MUTEX)
		return TIPME_LOCK_KIND_MUTEX;
	if (flags & LCB_F_SPIN)
		return TIPME_LOCK_KIND_SPIN;
	if (flags & LCB_F_READ)
		return TIPME_LOCK_KIND_RWSEM_READ;
	if (flags & LCB_F_WRITE)
		return TIPME_LOCK_KIND_RWSEM_WRITE;
	return flags & LCB_F_RT ? TIPME_LOCK_KIND_RT_MUTEX : TIPME_LOCK_KIND_UNKNOWN;
}

/* These locks keep the task that holds them in a word whose lowest bits are flags. */
static unsigned long lock_word(void *lock, unsigned int flags)
{
#ifdef CONFIG_PREEMPT_RT
	return (unsigned long)READ_ONCE(((struct rt_mutex_base *)lock)->owner) & ~1UL;
#else
	if (flags & LCB_F_MUTEX)
		return atomic_long_read(&((struct mutex *)lock)->owner) & ~7UL;
	if (flags & (LCB_F_SPIN | LCB_F_PERCPU | LCB_F_RT))
		return flags == LCB_F_RT
			       ? (unsigned long)READ_ONCE(((struct rt_mutex_base *)lock)->owner) &
					 ~1UL
			       : 0;
	return flags & (LCB_F_READ | LCB_F_WRITE)
		       ? atomic_long_read(&((struct rw_semaphore *)lock)->owner)
		       : 0;
#endif
}

/*
 * The owner may let go and end while we look, and a semaphore's word may be old: so look as at
 * memory that may be gone.
 */
static u32 lock_owner(void *lock, unsigned int flags)
{
	unsigned long word;
	pid_t tid;

	/*
	 * On real-time kernels a lock of readers and writers is no rt_mutex, and does not say who
	 * holds it.
	 */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && flags != LCB_F_RT && !(flags & LCB_F_MUTEX))
		return 0;
	word = lock_word(lock, flags);
	/* a semaphore that readers hold names one that had it at some time */
	if (!word || word & 1)
		return 0;
	return get_kernel_nofault(tid, &((struct task_struct *)(word & ~7UL))->pid) ? 0 : tid;
}

static void lock_put(u64 ts_ns, const void *lock, u32 owner_tid, u8 kind, u8 phase, int error)
{
	struct tipme_lock_contention r = {
		.ts_ns = ts_ns,
		.type = TIPME_LOCK_CONTENTION,
		.tid = current->pid,
		.lock = (u64)lock,
		.owner_tid = owner_tid,
		.error = error < 0 ? -error : 0,
		.kind = kind,
		.phase = phase,
	};

	tipme_record(&r);
}

/*
 * Who spins stays on its CPU, and only interrupts come in between: a few places a CPU, used as a
 * stack. If a place is overwritten by mistake, a record of a short wait is missing, no more.
 */
static void spin_begin(const void *lock)
{
	struct tipme_kernel_cpu *c = __this_cpu_read(tipme_this_cpu);
	u32 i = c->spins++ % TIPME_SPINS;

	c->spin[i].lock = (u64)lock;
	c->spin[i].begin_ns = tipme_now();
}

/* Whether this was the end of a spin, which is then told if it was long. */
static bool spin_end(const void *lock)
{
	struct tipme_kernel_cpu *c = __this_cpu_read(tipme_this_cpu);
	u64 begin_ns, now, least = READ_ONCE(tipme_spin_min_ns);
	u32 i = (c->spins - 1) % TIPME_SPINS;

	if (!c->spins || c->spin[i].lock != (u64)lock)
		return false;
	begin_ns = c->spin[i].begin_ns;
	c->spin[i].lock = 0;
	c->spins--;
	now = tipme_now();
	if (least && now - begin_ns >= least) {
		lock_put(begin_ns, lock, 0, TIPME_LOCK_KIND_SPIN, TIPME_PHASE_BEGIN, 0);
		lock_put(now, lock, 0, TIPME_LOCK_KIND_SPIN, TIPME_PHASE_END, 0);
	}
	return true;
}

/* A mutex is first spun for, and then begins a second time: two begins and one end are one wait. */
static void on_contention_begin(void *unused, void *lock, unsigned int flags)
{
	if (flags & LCB_F_SPIN && !(flags & LCB_F_MUTEX))
		spin_begin(lock);
	else
		lock_put(tipme_now(), lock, lock_owner(lock, flags), lock_kind(flags),
			 TIPME_PHASE_BEGIN, 0);
}

static void on_contention_end(void *unused, void *lock, int error)
{
	if (!spin_end(lock))
		lock_put(tipme_now(), lock, 0, TIPME_LOCK_KIND_UNKNOWN, TIPME_PHASE_END, error);
}

/* --- memory_wait: reclaim and compaction in a thread's own time --- */

static struct tipme_memory_begun begun[TIPME_MEMORY_WAITS];

static void memory_put(u64 amount, u64 duration_ns, u8 kind, u8 phase)
{
	TIPME_NEW_RECORD(tipme_memory_wait, TIPME_MEMORY_WAIT, current->pid);

	r.amount = amount;
	r.duration_ns = min_t(u64, duration_ns, U32_MAX);
	r.kind = kind;
	r.phase = phase;
	tipme_record(&r);
}

static void memory_begin(u64 amount, u8 kind)
{
	struct tipme_memory_begun *b = &begun[current->pid % TIPME_MEMORY_WAITS];

	*b = (struct tipme_memory_begun){ .tid = current->pid,
					  .kind = kind,
					  .begin_ns = tipme_now() };
	memory_put(amount, 0, kind, TIPME_PHASE_BEGIN);
}

static void memory_end(u64 amount, u8 kind)
{
	const struct tipme_memory_begun *b = &begun[current->pid % TIPME_MEMORY_WAITS];
	bool ours = b->tid == current->pid && b->kind == kind;

	memory_put(amount, ours ? tipme_now() - b->begin_ns : 0, kind, TIPME_PHASE_END);
}

static void on_mm_vmscan_direct_reclaim_begin(void *unused, int order, gfp_t gfp)
{
	memory_begin(1ULL << (order & 31), TIPME_MEMORY_WAIT_KIND_DIRECT_RECLAIM);
}

static void on_mm_vmscan_direct_reclaim_end(void *unused, unsigned long reclaimed)
{
	memory_end(reclaimed, TIPME_MEMORY_WAIT_KIND_DIRECT_RECLAIM);
}

#ifdef CONFIG_MEMCG
static void on_mm_vmscan_memcg_reclaim_begin(void *unused, int order, gfp_t gfp)
{
	memory_begin(1ULL << (order & 31), TIPME_MEMORY_WAIT_KIND_MEMCG_RECLAIM);
}

static void on_mm_vmscan_memcg_reclaim_end(void *unused, unsigned long reclaimed)
{
	memory_end(reclaimed, TIPME_MEMORY_WAIT_KIND_MEMCG_RECLAIM);
}
#endif

#ifdef CONFIG_COMPACTION
/* What moved is not told; the kernel's own thread for it is one of those that show here. */
static void on_mm_compaction_begin(void *unused, struct compact_control *cc,
				   unsigned long zone_start, unsigned long zone_end, bool sync)
{
	memory_begin(0, TIPME_MEMORY_WAIT_KIND_COMPACTION);
}

static void on_mm_compaction_end(void *unused, struct compact_control *cc, unsigned long zone_start,
				 unsigned long zone_end, bool sync, int status)
{
	memory_end(0, TIPME_MEMORY_WAIT_KIND_COMPACTION);
}
#endif

/* The kernel tells of it when it is over. */
static void on_mm_vmscan_throttled(void *unused, int node, int timeout_us, int delayed_us,
				   int reason)
{
	memory_put(0, delayed_us > 0 ? (u64)delayed_us * NSEC_PER_USEC : 0,
		   TIPME_MEMORY_WAIT_KIND_THROTTLED, TIPME_PHASE_END);
}

#ifdef CONFIG_MEMCG
#define PROBES_MEMCG(P) \
	P(mm_vmscan_memcg_reclaim_begin, MEMORY) P(mm_vmscan_memcg_reclaim_end, MEMORY)
#else
#define PROBES_MEMCG(P)
#endif
#ifdef CONFIG_COMPACTION
#define PROBES_COMPACTION(P) P(mm_compaction_begin, MEMORY) P(mm_compaction_end, MEMORY)
#else
#define PROBES_COMPACTION(P)
#endif
/* clang-format off */
#define PROBES(P) \
	P(block_bio_queue, IO) P(block_bio_backmerge, IO) P(block_bio_frontmerge, IO) \
	P(block_rq_merge, IO) P(block_rq_insert, IO) P(block_rq_issue, IO) \
	P(block_rq_requeue, IO) P(block_rq_complete, IO) \
	P(contention_begin, LOCK) P(contention_end, LOCK) \
	P(mm_vmscan_direct_reclaim_begin, MEMORY) P(mm_vmscan_direct_reclaim_end, MEMORY) \
	P(mm_vmscan_throttled, MEMORY) PROBES_MEMCG(P) PROBES_COMPACTION(P)
/* clang-format on */

#define CHECK(name, of_class) TIPME_PROBE_CHECK(name);
static void __maybe_unused check(void)
{
	PROBES(CHECK)
}

#define ROW(name, of_class) TIPME_PROBE(name, TIPME_CLASS_##of_class, false),
static struct tipme_probe probes[] = { PROBES(ROW) };
struct tipme_probes tipme_waits_probes = { probes, ARRAY_SIZE(probes) };
