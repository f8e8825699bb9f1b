/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all tracing programs are made of: the tables, records in the pool, time in interrupts, who
 * did it, stacks.
 */
#ifndef TIPME_RECORDER_BPF_H
#define TIPME_RECORDER_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "rules.h"
#include "tables.h"
#include "wayland_ring.h"
#include "map.bpf.h"

#define tipme_likely(x) __builtin_expect(!!(x), 1)
#define tipme_unlikely(x) __builtin_expect(!!(x), 0)

/* Set before loading; the verifier then takes them for constants. */
const volatile __u32 tipme_pool_slots = 2046;
const volatile __u64 tipme_stack_min_ns = 1000000;
const volatile __u64 tipme_stack_keep_ns = 120000000000ULL;
const volatile __u32 tipme_stack_mask = 4095;
/* beside another source: a bit that its ids of stacks never have */
const volatile __u32 tipme_stack_base = 0;

struct tipme_pool_queue tipme_queue;
struct tipme_pool_queue tipme_spare;
/*
 * A global variable: each record looks here, and its address is a constant, where a table's entry
 * has to be looked up.
 */
struct tipme_sleep tipme_sleeps[TIPME_SLEEPS];
__u64 tipme_start_ns; /* when the library had attached everything */
/*
 * stacks that were named before this only may make room for others: the library says it each second
 */
__u64 tipme_stack_old_ns;

TIPME_MAP(tipme_pool, 65536, 1);
TIPME_MAP(tipme_cells, sizeof(__u64), 1);
TIPME_MAP(tipme_spare_cells, sizeof(__u64), 1);
TIPME_MAP(tipme_cpus, sizeof(struct tipme_kernel_cpu), 1);
TIPME_MAP(tipme_stacks, sizeof(struct tipme_stack_entry), 1);
TIPME_MAP(tipme_user_stacks, sizeof(struct tipme_user_stack_entry), 1);
TIPME_MAP(tipme_memory_waits, sizeof(struct tipme_memory_begun), TIPME_MEMORY_WAITS);
TIPME_MAP(tipme_priorities, sizeof(struct tipme_priority_before), TIPME_PRIORITIES);
TIPME_MAP(tipme_affinities, sizeof(struct tipme_affinity_before), TIPME_AFFINITIES);
TIPME_MAP(tipme_disk_sleeps, sizeof(struct tipme_disk_sleep), TIPME_DISK_SLEEPS);
TIPME_MAP(tipme_askeds, sizeof(struct tipme_asked), TIPME_ASKED);

/*
 * What the pool has grown by: arrays of 1 << shift sub-buffers each, which the library puts in and
 * takes out while programs run. They follow those of tipme_pool, of which there are so many.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
	__uint(max_entries, 1);
} tipme_segments SEC(".maps");

const volatile __u32 tipme_cell_mask = 0;
const volatile __u32 tipme_pool_first = 1;
const volatile __u32 tipme_segment_shift = 0;

static __always_inline struct tipme_pool_header *tipme_pool_sub_grown(__u32 sub)
{
	__u32 n = sub - tipme_pool_first;
	__u32 segment = n >> tipme_segment_shift, i = n & ((1U << tipme_segment_shift) - 1);
	void *map = bpf_map_lookup_elem(&tipme_segments, &segment);

	return map ? bpf_map_lookup_elem(map, &i) : NULL;
}

static __always_inline struct tipme_pool_header *tipme_pool_sub(__u32 sub)
{
	struct tipme_pool_header *h = bpf_map_lookup_elem(&tipme_pool, &sub);

	return tipme_likely(h) ? h : tipme_pool_sub_grown(sub);
}

static __always_inline __u64 *tipme_pool_spare_cell(__u64 pos)
{
	__u32 i = pos & tipme_cell_mask;

	return bpf_map_lookup_elem(&tipme_spare_cells, &i);
}

static __always_inline struct tipme_pool_queue *tipme_pool_spare(void)
{
	return &tipme_spare;
}

static __always_inline __u64 *tipme_pool_cell(__u64 pos)
{
	__u32 i = pos & tipme_cell_mask;

	return bpf_map_lookup_elem(&tipme_cells, &i);
}

static __always_inline struct tipme_pool_queue *tipme_pool_queue(void)
{
	return &tipme_queue;
}

static __always_inline __u64 tipme_pool_clock(void)
{
	return bpf_ktime_get_ns();
}

/*
 * Global functions are verified once for each program, for any argument; static ones again for each
 * call and each path to it: seconds.
 */
#define TIPME_POOL_INLINE static __always_inline
#define TIPME_POOL_SLOW __noinline
#define TIPME_POOL_ATTEMPT static
#define TIPME_POOL_ATTEMPTS(times, one, about) bpf_loop(times, one, about, 0)
#define TIPME_POOL_GROWS
#define TIPME_POOL_WRITER
#include "pool.h"

/*
 * Where the kernel keeps the preemption count of a CPU: a variable of its own, or (6.2 to 6.14) a
 * field of pcpu_hot. One object for each case, and one that names neither: a symbol that the kernel
 * does not have, weak or not, would be looked for in the types of all its modules, which takes
 * CAP_SYS_ADMIN.
 */
#if defined(TIPME_COUNT_IN_HOT)
extern const struct pcpu_hot pcpu_hot __ksym;
#elif defined(TIPME_COUNT_IN_VARIABLE)
extern const int __preempt_count __ksym;
#endif

#define TIPME_COUNT_NMI 0xf00000
#define TIPME_COUNT_HARDIRQ 0xf0000
#define TIPME_COUNT_SOFTIRQ 0x100 /* serving one; 0x200 and up only keep them off */

#define TIPME_PF_KTHREAD 0x200000

static __always_inline struct tipme_kernel_cpu *tipme_cpu(__u32 cpu)
{
	return bpf_map_lookup_elem(&tipme_cpus, &cpu);
}

static __always_inline struct tipme_kernel_cpu *tipme_this_cpu(void)
{
	return tipme_cpu(bpf_get_smp_processor_id());
}

static __always_inline struct tipme_sleep *tipme_sleep_of(__u32 tid)
{
	return &tipme_sleeps[tid % TIPME_SLEEPS];
}

static __always_inline __u32 tipme_current_tid(void)
{
	return bpf_get_current_pid_tgid();
}

/*
 * The same without a call: who has this CPU since its last switch, which no program misses, since
 * none is interrupted by a switch. From there until the registers change nobody is woken.
 */
static __always_inline __u32 tipme_running_tid(const struct tipme_kernel_cpu *c)
{
	return c->switch_ns ? c->running_tid : tipme_current_tid();
}

/* --- records --- */

/*
 * Reserves a slot; NULL if the record is lost. tipme_record_end() follows in either case, but for
 * those with interrupts off.
 */
static __always_inline void *tipme_slot_begin(struct tipme_kernel_cpu *c, __u32 cpu, bool irqs_off,
					      __u16 *gen)
{
	return irqs_off ? tipme_pool_begin_irqs_off(&c->pool, cpu, gen)
			: tipme_pool_begin(&c->pool, cpu, gen);
}

/* Time, and in one store type, len8, gen 0 and tid. */
static __always_inline void tipme_slot_head(struct tipme_head *head, __u64 now, __u8 type,
					    __u32 tid)
{
	head->ts_ns = now;
	*(__u64 *)&head->type = (__u64)tid << 32 | (TIPME_POOL_SLOT_BYTES / 8) << 8 | type;
}

/* The same together. */
static __always_inline void *tipme_record_begin(struct tipme_kernel_cpu *c, __u32 cpu, __u64 now,
						__u8 type, __u32 tid, bool irqs_off, __u16 *gen)
{
	struct tipme_head *head = tipme_slot_begin(c, cpu, irqs_off, gen);

	if (head)
		tipme_slot_head(head, now, type, tid);
	return head;
}

#define TIPME_RECORD_IN(record, type_number, about, irqs_off) \
	__u16 gen = 0;                                        \
	__u32 cpu = bpf_get_smp_processor_id();               \
	__u64 now = bpf_ktime_get_ns();                       \
	struct tipme_kernel_cpu *c = tipme_cpu(cpu);          \
	if (!c)                                               \
		return 0;                                     \
	struct record *r = tipme_record_begin(c, cpu, now, type_number, about, irqs_off, &gen)

#define TIPME_RECORD(record, type_number, about) TIPME_RECORD_IN(record, type_number, about, false)

static __always_inline int tipme_record_end(struct tipme_kernel_cpu *c, struct tipme_head *head,
					    bool irqs_off, __u16 gen)
{
	if (head)
		tipme_pool_commit(head, gen);
	if (!irqs_off)
		tipme_pool_end(&c->pool);
	return 0;
}

/* --- time in interrupts --- */

/*
 * Charges the time up to now to the innermost of what goes on. Interrupts may come between any two
 * lines, but not in their own charge.
 */
static __always_inline void tipme_irq_charge(struct tipme_kernel_cpu *c)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 mark = tipme_pool_load(&c->irq_mark_ns);

	/*
	 * Whoever moved the mark meanwhile has charged the time before it; what came since is too
	 * short to matter.
	 */
	if (now <= mark || __sync_val_compare_and_swap(&c->irq_mark_ns, mark, now) != mark)
		return;
	if (c->irq_depth)
		__sync_fetch_and_add(&c->irq_ns, now - mark);
	else if (c->softirq_depth)
		__sync_fetch_and_add(&c->softirq_ns, now - mark);
}

/* --- who did it --- */

/*
 * A kernel without CONFIG_KALLSYMS_ALL has the preemption count in its BTF, but refuses a program
 * that names it. So each program that needs to know its context is there twice: counted, and plain,
 * which knows what the tracepoints of interrupts tell (an interrupt thread that is woken just after
 * its handler has returned then seems woken by the interrupted task).
 */
static __always_inline __u32 tipme_preempt_count(struct tipme_kernel_cpu *c, bool counted)
{
#if defined(TIPME_COUNT_IN_HOT)
	if (counted)
		return ((const struct pcpu_hot *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count;
#elif defined(TIPME_COUNT_IN_VARIABLE)
	if (counted)
		return *(const int *)bpf_this_cpu_ptr(&__preempt_count);
#endif
	return (c->irq_depth ? TIPME_COUNT_HARDIRQ : 0) |
	       (c->softirq_depth ? TIPME_COUNT_SOFTIRQ : 0);
}

/* Whether this is an interrupt's or a softirq's doing. */
static __always_inline bool tipme_is_served(struct tipme_kernel_cpu *c, bool counted)
{
	return tipme_preempt_count(c, counted) &
	       (TIPME_COUNT_NMI | TIPME_COUNT_HARDIRQ | TIPME_COUNT_SOFTIRQ);
}

/* Of the softirq that is being served. */
static __always_inline __u8 tipme_softirq_context(const struct tipme_kernel_cpu *c)
{
	return tipme_rule_softirq_context(c->serving);
}

/* The idle thread acts for others only: it runs what another CPU's interrupt left for it. */
static __always_inline __u8 tipme_context_of(struct tipme_kernel_cpu *c, __u32 tid, __u32 *raiser,
					     bool counted)
{
	__u32 count = tipme_preempt_count(c, counted);

	if (count & TIPME_COUNT_NMI)
		return TIPME_CONTEXT_NMI;
	if (count & TIPME_COUNT_HARDIRQ)
		return TIPME_CONTEXT_HARDIRQ;
	if (!(count & TIPME_COUNT_SOFTIRQ))
		return tid ? TIPME_CONTEXT_TASK : TIPME_CONTEXT_HARDIRQ;
	if (c->serving & TIPME_RAISED_BY_TASK)
		*raiser = c->serving;
	return tipme_softirq_context(c);
}

/* --- stacks --- */

static __always_inline bool tipme_stack_is_old(__u64 used_ns, __u64 now)
{
	return tipme_rule_stack_is_old(used_ns, now, tipme_pool_load(&tipme_stack_old_ns),
				       tipme_stack_keep_ns);
}

/*
 * Claims an entry that shows `key`; the id is the place in the lower half and the number of claims
 * in the upper.
 */
static __always_inline __u32 tipme_stack_claim(struct tipme_stack_entry *e, __u32 i, __u64 key,
					       __u64 hash, const __u64 *frames, __u32 count,
					       __u64 now)
{
	int k;

	if (__sync_val_compare_and_swap(&e->key, key, TIPME_STACK_BUSY) != key)
		return 0;
	tipme_pool_store(&e->gen, e->gen + 1);
	e->count = count;
	e->used_ns = now;
	for (k = 0; k < TIPME_STACK_FRAMES; k++)
		e->frames[k] = k < count ? frames[k] : 0;
	tipme_pool_barrier();
	tipme_pool_store(&e->key, hash);
	return tipme_rule_stack_id(e->gen, i, tipme_stack_base);
}

/*
 * One program's memory in one process, as a number that comes again with neither: pids are used
 * again, so are the kernel's structures, and a process that calls another program stays the same
 * process.
 */
static __always_inline __u64 tipme_space_of(struct task_struct *p)
{
	return (__u64)BPF_CORE_READ(p, mm) * 0x9e3779b97f4a7c15ULL ^
	       BPF_CORE_READ(p, group_leader, start_time);
}

struct tipme_frames {
	__u64 frame[TIPME_STACK_FRAMES];
};

/* A stack that is looked for, and the id that it has then. */
struct tipme_stack_look {
	const __u64 *frames;
	__u64 hash, now;
	__u64 space; /* of a user's stack */
	__u32 count;
	__u32 id;
};

/* At one place of the table; returns 1 where no other is to be looked at. */
static long tipme_stack_at(__u32 probe, struct tipme_stack_look *l)
{
	__u32 i = (l->hash + probe) & tipme_stack_mask;
	struct tipme_stack_entry *e = bpf_map_lookup_elem(&tipme_stacks, &i);
	__u32 gen;
	__u64 key;

	if (!e)
		return 1;
	/*
	 * before key: a claim in between gives an id that finds nothing, never a wrong
	 * stack
	 */
	gen = tipme_pool_load(&e->gen);
	key = tipme_pool_load(&e->key);
	if (key == l->hash) {
		tipme_pool_store(&e->used_ns, l->now);
		l->id = tipme_rule_stack_id(gen, i, tipme_stack_base);
		return 1;
	}
	if (key != TIPME_STACK_BUSY &&
	    (!key || tipme_stack_is_old(tipme_pool_load(&e->used_ns), l->now)))
		l->id = tipme_stack_claim(e, i, key, l->hash, l->frames, l->count, l->now);
	return l->id != 0;
}

/*
 * The id of this stack; 0 if there is no room. Touches what it finds, so that it stays. Global: see
 * above.
 */
__noinline __u32 tipme_stack_put(const struct tipme_frames *f, __u32 count, __u64 now)
{
	struct tipme_stack_look l = { .now = now, .count = count };

	if (!f)
		return 0;
	l.frames = f->frame;
	l.hash = tipme_rule_stack_hash(l.frames, count, TIPME_STACK_FRAMES, 0);
	bpf_loop(TIPME_STACK_PROBES, tipme_stack_at, &l, 0);
	return l.id;
}

/* The id, or 0 and one more that is lost. */
static __always_inline __u32 tipme_stack_counted(__u32 id)
{
	struct tipme_kernel_cpu *c;

	if (!id && (c = tipme_this_cpu()))
		__sync_fetch_and_add(&c->lost_stack, 1);
	return id;
}

/* A whole stack, before it is made shorter: the program of wakings and that of pictures may nest.
 */
enum { TIPME_DEEP_WAKING, TIPME_DEEP_PICTURE, TIPME_DEEPS };

struct tipme_deep {
	__u64 frame[TIPME_STACK_DEEPEST];
	__u32 count;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TIPME_DEEPS);
	__type(key, __u32);
	__type(value, struct tipme_deep);
} tipme_deeps SEC(".maps");

static __noinline __u32 tipme_stack_of(struct task_struct *p, __u64 now, __u32 place)
{
	struct tipme_deep *deep = bpf_map_lookup_elem(&tipme_deeps, &place);
	const __u32 gap = TIPME_STACK_FRAMES - TIPME_STACK_OUTER - 1;
	struct tipme_frames frames;
	__u32 count, k;
	long bytes;

	if (!deep)
		return 0;
	deep->count = 0;
	bytes = bpf_get_task_stack(p, deep->frame, sizeof(deep->frame), 0);
	if (bytes <= 0)
		return 0;
	count = (__u32)bytes / 8;
	deep->count = count;
#pragma unroll
	for (k = 0; k < TIPME_STACK_FRAMES; k++) {
		__u32 from =
			count > TIPME_STACK_FRAMES && k > gap ? count - TIPME_STACK_FRAMES + k : k;

		frames.frame[k] = deep->frame[from % TIPME_STACK_DEEPEST];
	}
	if (count > TIPME_STACK_FRAMES) {
		frames.frame[gap] = TIPME_STACK_GAP;
		count = TIPME_STACK_FRAMES;
	}
	return tipme_stack_counted(tipme_stack_put(&frames, count, now));
}

#include "known.bpf.h"

#endif
