/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Record classes that say what a thread waits for: block requests, kernel locks, memory. Programs
 * of a class that is off are detached.
 */

/* --- io: the way of a request through the block layer --- */

static __always_inline __u8 tipme_io_op(__u32 flags, __u32 bytes)
{
	switch (flags & 0xff) {
	case 0: return TIPME_IO_OP_READ;
	case 1:
		/* a write of nothing asks for a flush */
		return bytes ? TIPME_IO_OP_WRITE : TIPME_IO_OP_FLUSH;
	case 2: return TIPME_IO_OP_FLUSH;
	case 3: /* discard */
	case 5: /* secure erase */
	case 9: /* write zeroes */ return TIPME_IO_OP_DISCARD;
	}
	return TIPME_IO_OP_OTHER;
}

static __always_inline __u32 tipme_io_dev(const struct gendisk *disk)
{
	return disk ? (__u32)disk->major << 20 | (disk->first_minor & 0xfffff) : 0;
}

static __noinline int tipme_io_put(__u64 sector, __u32 dev, __u32 bytes, __u32 flags, __u32 phase)
{
	TIPME_RECORD(tipme_io, TIPME_IO, tipme_current_tid());
	if (r) {
		r->sector = sector;
		r->dev = dev;
		r->sectors = bytes >> 9 < 0xffff ? bytes >> 9 : 0xffff;
		r->op = tipme_io_op(flags, bytes);
		r->phase = phase;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

/* The disk, not the partition: so requests and what they were made of have the same name. */
static __always_inline int tipme_io_bio(const struct bio *bio, __u32 phase)
{
	return tipme_io_put(bio->bi_iter.bi_sector, tipme_io_dev(bio->bi_bdev->bd_disk),
			    bio->bi_iter.bi_size, bio->bi_opf, phase);
}

/* A request without data, and one that bypasses the block layer, shows -1 as its sector. */
static __always_inline int tipme_io_request(const struct request *rq, __u32 bytes, __u32 phase)
{
	__u64 sector = rq->__sector;

	return tipme_io_put(sector + 1 ? sector : 0, tipme_io_dev(rq->q->disk), bytes,
			    rq->cmd_flags, phase);
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(tipme_io_queued, struct bio *bio)
{
	return tipme_io_bio(bio, TIPME_IO_PHASE_QUEUED);
}

SEC("tp_btf/block_bio_backmerge")
int BPF_PROG(tipme_io_backmerge, struct bio *bio)
{
	return tipme_io_bio(bio, TIPME_IO_PHASE_MERGED);
}

SEC("tp_btf/block_bio_frontmerge")
int BPF_PROG(tipme_io_frontmerge, struct bio *bio)
{
	return tipme_io_bio(bio, TIPME_IO_PHASE_MERGED);
}

SEC("tp_btf/block_rq_merge")
int BPF_PROG(tipme_io_merge, struct request *rq)
{
	return tipme_io_request(rq, rq->__data_len, TIPME_IO_PHASE_MERGED);
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(tipme_io_insert, struct request *rq)
{
	return tipme_io_request(rq, rq->__data_len, TIPME_IO_PHASE_INSERTED);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(tipme_io_issue, struct request *rq)
{
	return tipme_io_request(rq, rq->__data_len, TIPME_IO_PHASE_ISSUED);
}

SEC("tp_btf/block_rq_requeue")
int BPF_PROG(tipme_io_requeue, struct request *rq)
{
	return tipme_io_request(rq, rq->__data_len, TIPME_IO_PHASE_REQUEUED);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(tipme_io_complete, struct request *rq, __u8 error, unsigned int bytes)
{
	return tipme_io_request(rq, bytes,
				error ? TIPME_IO_PHASE_FAILED : TIPME_IO_PHASE_COMPLETED);
}

/* --- lock_contention: sleeping locks always, spinning ones when it lasted --- */

#define TIPME_LCB_SPIN 1
#define TIPME_LCB_READ 2
#define TIPME_LCB_WRITE 4
#define TIPME_LCB_RT 8
#define TIPME_LCB_PERCPU 16
#define TIPME_LCB_MUTEX 32

static __always_inline __u8 tipme_lock_kind(__u32 flags)
{
	if (flags & TIPME_LCB_MUTEX)
		return TIPME_LOCK_KIND_MUTEX;
	if (flags & TIPME_LCB_SPIN)
		return TIPME_LOCK_KIND_SPIN;
	if (flags & TIPME_LCB_READ)
		return TIPME_LOCK_KIND_RWSEM_READ;
	if (flags & TIPME_LCB_WRITE)
		return TIPME_LOCK_KIND_RWSEM_WRITE;
	return flags & TIPME_LCB_RT ? TIPME_LOCK_KIND_RT_MUTEX : TIPME_LOCK_KIND_UNKNOWN;
}

/*
 * These locks keep the task that holds them in a word whose lowest bits are flags. A real-time
 * kernel has no such word in a mutex or semaphore: they are made of rt_mutexes, and tell so.
 */
static __always_inline __u32 tipme_lock_owner(void *lock, __u32 flags)
{
	struct task_struct *owner = 0;
	struct rw_semaphore *sem = lock;
	struct mutex *mutex = lock;
	__u64 word = 0;

	if (flags & TIPME_LCB_MUTEX) {
		if (bpf_core_field_exists(mutex->owner))
			word = BPF_CORE_READ(mutex, owner.counter) & ~7ULL;
	} else if (!(flags & (TIPME_LCB_SPIN | TIPME_LCB_PERCPU | TIPME_LCB_RT)) &&
		   flags & (TIPME_LCB_READ | TIPME_LCB_WRITE)) {
		if (bpf_core_field_exists(sem->owner))
			word = BPF_CORE_READ(sem, owner.counter);
	} else if (flags == TIPME_LCB_RT && bpf_core_type_exists(struct rt_mutex_base)) {
		word = (__u64)BPF_CORE_READ((struct rt_mutex_base *)lock, owner) & ~1ULL;
	}
	if (word & 1) /* a semaphore that readers hold names one that had it at some time */
		return 0;
	owner = (struct task_struct *)(word & ~7ULL);
	return owner ? BPF_CORE_READ(owner, pid) : 0;
}

static __noinline int tipme_lock_put(__u64 ts_ns, __u64 lock, __u32 owner_tid, __u32 kind_phase,
				     __u32 error)
{
	TIPME_RECORD(tipme_lock_contention, TIPME_LOCK_CONTENTION, tipme_current_tid());
	if (r) {
		r->ts_ns = ts_ns ? ts_ns : now;
		r->lock = lock;
		r->owner_tid = owner_tid;
		r->error = error;
		r->kind = kind_phase >> 8;
		r->phase = kind_phase;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

/* It was spun for, and is told if that was long. */
static __noinline int tipme_spin_end(struct tipme_kernel_cpu *c, __u64 lock, __u32 place)
{
	__u64 begin_ns = c->spin[place % TIPME_SPINS].begin_ns;

	c->spin[place % TIPME_SPINS].lock = 0;
	c->spins = place;
	if (tipme_spin_min_ns && tipme_spin_is_long(begin_ns)) {
		tipme_lock_put(begin_ns, lock, 0, TIPME_LOCK_KIND_SPIN << 8 | TIPME_PHASE_BEGIN, 0);
		tipme_lock_put(0, lock, 0, TIPME_LOCK_KIND_SPIN << 8 | TIPME_PHASE_END, 0);
	}
	return 0;
}

/* A mutex is first spun for, and then begins a second time: two begins and one end are one wait. */
SEC("tp_btf/contention_begin")
int BPF_PROG(tipme_lock_begin, void *lock, unsigned int flags)
{
	if (flags & TIPME_LCB_SPIN && !(flags & TIPME_LCB_MUTEX)) {
		tipme_spin_begin((__u64)lock);
		return 0;
	}
	return tipme_lock_put(0, (__u64)lock, tipme_lock_owner(lock, flags),
			      tipme_lock_kind(flags) << 8 | TIPME_PHASE_BEGIN, 0);
}

/* In an interrupt only spins end: one without a place is one whose begin went unseen. */
SEC("tp_btf/contention_end")
int BPF_PROG(tipme_lock_end, void *lock, int ret)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();
	__u32 place;

	if (!c)
		return 0;
	place = tipme_spin_find(c, (__u64)lock);
	if (place != TIPME_SPIN_NONE)
		return tipme_spin_end(c, (__u64)lock, place);
	if (tipme_lock_is_interrupt(c)) {
		tipme_spin_unseen(c->irq_depth ? c->irq_begin_ns : c->softirq_begin_ns);
		return 0;
	}
	return tipme_lock_put(0, (__u64)lock, 0, TIPME_LOCK_KIND_UNKNOWN << 8 | TIPME_PHASE_END,
			      ret < 0 ? -ret : 0);
}

/* --- lock_contention: locks of files, that one asked for and another process has --- */

#define TIPME_FILE_LOCKS 32 /* of one file that are looked at */
/* what the kernel returns where the thread will sleep until the lock is free */
#define TIPME_LOCK_DEFERRED 1
#define TIPME_EAGAIN 11
#define TIPME_WRLCK 1

struct tipme_file_lock {
	__u64 owner;
	__s64 start, end;
	__u32 pid;
	__u32 type;
};

/*
 * Both ways to say "the lock that this list entry is in": the members have other names since 6.9.
 */
static __always_inline void tipme_file_lock_read(const void *lock, struct tipme_file_lock *l)
{
	if (bpf_core_type_exists(struct file_lock_core)) {
		const struct file_lock *f = lock;

		l->owner = (__u64)BPF_CORE_READ(f, c.flc_owner);
		l->pid = BPF_CORE_READ(f, c.flc_pid);
		l->type = BPF_CORE_READ(f, c.flc_type);
		l->start = BPF_CORE_READ(f, fl_start);
		l->end = BPF_CORE_READ(f, fl_end);
	} else {
		const struct file_lock___old *f = lock;

		l->owner = (__u64)BPF_CORE_READ(f, fl_owner);
		l->pid = BPF_CORE_READ(f, fl_pid);
		l->type = BPF_CORE_READ(f, fl_type);
		l->start = BPF_CORE_READ(f, fl_start);
		l->end = BPF_CORE_READ(f, fl_end);
	}
}

static __always_inline __u64 tipme_file_lock_list_at(void)
{
	return bpf_core_type_exists(struct file_lock_core)
		       ? bpf_core_field_offset(struct file_lock_core, flc_list)
		       : bpf_core_field_offset(struct file_lock___old, fl_list);
}

struct tipme_file_lock_look {
	struct tipme_file_lock want;
	__u64 head, entry;
	__u32 pid;
};

/* At one entry of the list; returns 1 where no other is to be looked at. */
static long tipme_file_lock_at(__u32 i, struct tipme_file_lock_look *l)
{
	const struct list_head *entry = (void *)l->entry;
	struct tipme_file_lock has = {};

	if (!entry || l->entry == l->head)
		return 1;
	tipme_file_lock_read((void *)(l->entry - tipme_file_lock_list_at()), &has);
	if (has.owner != l->want.owner &&
	    (has.type == TIPME_WRLCK || l->want.type == TIPME_WRLCK) && has.end >= l->want.start &&
	    has.start <= l->want.end) {
		l->pid = (__s32)has.pid > 0 ? has.pid : 0;
		return 1;
	}
	l->entry = (__u64)BPF_CORE_READ(entry, next);
	return 0;
}

/*
 * The process that has a lock of that list which stands in the way of the one that is wanted; 0:
 * none is seen (one of an open file has no process).
 */
static __noinline __u32 tipme_file_lock_holder(__u64 head, __u64 wanted)
{
	struct tipme_file_lock_look l = {
		.head = head, .entry = (__u64)BPF_CORE_READ((struct list_head *)head, next)
	};

	tipme_file_lock_read((void *)wanted, &l.want);
	bpf_loop(TIPME_FILE_LOCKS, tipme_file_lock_at, &l, 0);
	return l.pid;
}

/*
 * The kernel tells of a lock when it has tried. Nothing keeps the list still meanwhile: it is read
 * as memory that may be gone.
 */
static __always_inline int tipme_file_lock_tried(struct inode *inode, struct file_lock *wanted,
						 int ret, bool posix)
{
	const struct file_lock_context *ctx;
	__u32 pid;

	/* Some kernels say that the lock may be missing, and want that looked at. */
	if (!inode || !wanted || (ret != -TIPME_EAGAIN && ret != TIPME_LOCK_DEFERRED))
		return 0;
	ctx = BPF_CORE_READ(inode, i_flctx);
	if (!ctx)
		return 0;
	pid = tipme_file_lock_holder(posix ? (__u64)&ctx->flc_posix : (__u64)&ctx->flc_flock,
				     (__u64)wanted);
	tipme_lock_put(0, (__u64)inode, pid, TIPME_LOCK_KIND_FILE << 8 | TIPME_PHASE_BEGIN, 0);
	return ret == TIPME_LOCK_DEFERRED
		       ? 0
		       : tipme_lock_put(0, (__u64)inode, 0,
					TIPME_LOCK_KIND_FILE << 8 | TIPME_PHASE_END, TIPME_EAGAIN);
}

SEC("tp_btf/posix_lock_inode")
int BPF_PROG(tipme_lock_posix, struct inode *inode, struct file_lock *wanted, int ret)
{
	return tipme_file_lock_tried(inode, wanted, ret, true);
}

SEC("tp_btf/flock_lock_inode")
int BPF_PROG(tipme_lock_flock, struct inode *inode, struct file_lock *wanted, int ret)
{
	return tipme_file_lock_tried(inode, wanted, ret, false);
}

/* --- memory_wait: reclaim and compaction in a thread's own time --- */

static __noinline int tipme_memory_put(__u64 amount, __u32 duration_ns, __u32 kind, __u32 phase)
{
	TIPME_RECORD(tipme_memory_wait, TIPME_MEMORY_WAIT, tipme_current_tid());
	if (r) {
		r->amount = amount;
		r->duration_ns = duration_ns;
		r->pad0 = 0;
		r->kind = kind;
		r->phase = phase;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

static __always_inline int tipme_memory_begin(__u64 amount, __u32 kind)
{
	__u32 tid = tipme_current_tid(), i = tid % TIPME_MEMORY_WAITS;
	struct tipme_memory_begun *b = bpf_map_lookup_elem(&tipme_memory_waits, &i);

	if (b) {
		b->tid = tid;
		b->kind = kind;
		b->begin_ns = bpf_ktime_get_ns();
	}
	return tipme_memory_put(amount, 0, kind, TIPME_PHASE_BEGIN);
}

static __always_inline int tipme_memory_end(__u64 amount, __u32 kind)
{
	__u32 tid = tipme_current_tid(), i = tid % TIPME_MEMORY_WAITS;
	struct tipme_memory_begun *b = bpf_map_lookup_elem(&tipme_memory_waits, &i);
	__u64 ns = 0;

	if (b && b->tid == tid && b->kind == kind)
		ns = bpf_ktime_get_ns() - b->begin_ns;
	return tipme_memory_put(amount, ns < 0xffffffff ? ns : 0xffffffff, kind, TIPME_PHASE_END);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(tipme_memory_reclaim_begin, int order)
{
	return tipme_memory_begin(1ULL << (order & 31), TIPME_MEMORY_WAIT_KIND_DIRECT_RECLAIM);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(tipme_memory_reclaim_end, unsigned long reclaimed)
{
	return tipme_memory_end(reclaimed, TIPME_MEMORY_WAIT_KIND_DIRECT_RECLAIM);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(tipme_memory_memcg_begin, int order)
{
	return tipme_memory_begin(1ULL << (order & 31), TIPME_MEMORY_WAIT_KIND_MEMCG_RECLAIM);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(tipme_memory_memcg_end, unsigned long reclaimed)
{
	return tipme_memory_end(reclaimed, TIPME_MEMORY_WAIT_KIND_MEMCG_RECLAIM);
}

/* What moved is not told; the kernel's own thread for it is one of those that show here. */
SEC("tp_btf/mm_compaction_begin")
int BPF_PROG(tipme_memory_compaction_begin)
{
	return tipme_memory_begin(0, TIPME_MEMORY_WAIT_KIND_COMPACTION);
}

SEC("tp_btf/mm_compaction_end")
int BPF_PROG(tipme_memory_compaction_end)
{
	return tipme_memory_end(0, TIPME_MEMORY_WAIT_KIND_COMPACTION);
}

/* The kernel tells of it when it is over. */
SEC("tp_btf/mm_vmscan_throttled")
int BPF_PROG(tipme_memory_throttled, int node, int timeout_us, int delayed_us)
{
	__u64 ns = delayed_us > 0 ? (__u64)delayed_us * 1000 : 0;

	return tipme_memory_put(0, ns < 0xffffffff ? ns : 0xffffffff,
				TIPME_MEMORY_WAIT_KIND_THROTTLED, TIPME_PHASE_END);
}

/* --- memory_wait: page faults that had to read --- */

/* From the end of the sleep to the end of the fault: what the kernel does in between is short. */
#define TIPME_FAULT_REST_NS 200000

/*
 * The sleep in which this thread waited for a page is its last one, and has just ended; else (it
 * was there, or read at once) it waited for none.
 */
static __always_inline __u64 tipme_fault_ns(struct tipme_kernel_cpu *c, __u32 tid, __u64 now)
{
	__u32 i = tid % TIPME_DISK_SLEEPS;
	struct tipme_disk_sleep *d = bpf_map_lookup_elem(&tipme_disk_sleeps, &i);
	struct tipme_sleep *s = tipme_sleep_of(tid);

	if (!d || !s || d->tid != tid || s->tid != tid || c->running_tid != tid)
		return 0;
	if (s->since_ns != d->end_ns || now - c->switch_ns > TIPME_FAULT_REST_NS)
		return 0;
	return now - d->begin_ns;
}

static long tipme_fault_look(struct task_struct *p, struct vm_area_struct *vma, __u32 *kind)
{
	*kind = vma->vm_file ? TIPME_MEMORY_WAIT_KIND_FAULT_FILE
			     : TIPME_MEMORY_WAIT_KIND_FAULT_SWAP;
	return 0;
}

/*
 * The kernel counts a fault as a major one when it is over; those that find their page cost
 * nothing. Pages of a file's mapping that are the process's own copy, and had been swapped out,
 * count as the file's.
 */
SEC("perf_event")
int tipme_memory_fault(struct bpf_perf_event_data *ctx)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();
	__u32 kind = TIPME_MEMORY_WAIT_KIND_FAULT_FILE;
	__u64 ns;

	if (!c)
		return 0;
	ns = tipme_fault_ns(c, tipme_current_tid(), bpf_ktime_get_ns());
	bpf_find_vma(bpf_get_current_task_btf(), ctx->addr, tipme_fault_look, &kind, 0);
	return tipme_memory_put(0, ns < 0xffffffff ? ns : 0xffffffff, kind, TIPME_PHASE_END);
}
