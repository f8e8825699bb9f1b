// SPDX-License-Identifier: GPL-2.0-only
/* The tracing programs: scheduler, interrupts, threads and workers become records in the pool. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "kernel_maps.h"

char LICENSE[] SEC("license") = "GPL";

/* Set before loading; the verifier then takes them for constants. */
const volatile __u32 tipme_pool_slots = 2046;
const volatile __u64 tipme_stack_min_ns = 1000000;
const volatile __u64 tipme_stack_keep_ns = 120000000000ULL;
const volatile __u32 tipme_stack_mask = 4095;

struct tipme_pool_queue tipme_queue;
__u64 tipme_start_ns; /* when the library had attached everything */

#define TIPME_MAP(name, size, entries)                                                                                 \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                                      \
		__uint(map_flags, BPF_F_MMAPABLE);                                                                     \
		__uint(key_size, sizeof(__u32));                                                                       \
		__uint(value_size, size);                                                                              \
		__uint(max_entries, entries);                                                                          \
	} name SEC(".maps")

TIPME_MAP(tipme_pool, 65536, 1);
TIPME_MAP(tipme_cells, sizeof(__u64), 1);
TIPME_MAP(tipme_cpus, sizeof(struct tipme_kernel_cpu), 1);
TIPME_MAP(tipme_sleeps, sizeof(struct tipme_sleep), TIPME_SLEEPS);
TIPME_MAP(tipme_stacks, sizeof(struct tipme_stack_entry), 1);

const volatile __u32 tipme_cell_mask = 0;

static __always_inline struct tipme_pool_header *tipme_pool_sub(__u32 sub)
{
	return bpf_map_lookup_elem(&tipme_pool, &sub);
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

#define TIPME_POOL_WRITER
#include "../lib/pool.h"

/* Where the kernel keeps the preemption count of a CPU: a variable of its own, or (6.2 to 6.14) a field of pcpu_hot. */
extern const struct pcpu_hot pcpu_hot __ksym __weak;
extern const int __preempt_count __ksym __weak;

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
	__u32 i = tid % TIPME_SLEEPS;

	return bpf_map_lookup_elem(&tipme_sleeps, &i);
}

static __always_inline __u32 tipme_current_tid(void)
{
	return bpf_get_current_pid_tgid();
}

/* --- records --- */

/* Reserves a slot and fills in the head but gen; NULL if the record is lost. tipme_record_end() follows in either case. */
static __always_inline void *tipme_record_begin(struct tipme_kernel_cpu *c, __u32 cpu, __u64 now, __u8 type, __u32 tid,
						bool irqs_off, __u16 *gen)
{
	struct tipme_head *head = irqs_off ? tipme_pool_begin_irqs_off(&c->pool, cpu, now, gen) :
					     tipme_pool_begin(&c->pool, cpu, now, gen);

	if (!head)
		return 0;
	head->ts_ns = now;
	head->type = type;
	head->len8 = TIPME_POOL_SLOT_BYTES / 8;
	head->tid = tid;
	return head;
}

#define TIPME_RECORD_IN(record, type_number, about, irqs_off)                                                          \
	__u16 gen = 0;                                                                                                 \
	__u32 cpu = bpf_get_smp_processor_id();                                                                        \
	__u64 now = bpf_ktime_get_ns();                                                                                \
	struct tipme_kernel_cpu *c = tipme_cpu(cpu);                                                                   \
	if (!c)                                                                                                        \
		return 0;                                                                                              \
	struct record *r = tipme_record_begin(c, cpu, now, type_number, about, irqs_off, &gen)

#define TIPME_RECORD(record, type_number, about) TIPME_RECORD_IN(record, type_number, about, false)

static __always_inline int tipme_record_end(struct tipme_kernel_cpu *c, struct tipme_head *head, bool irqs_off, __u16 gen)
{
	if (head)
		tipme_pool_commit(head, gen);
	if (!irqs_off)
		tipme_pool_end(&c->pool);
	return 0;
}

/* --- interrupts --- */

/* Charges the time up to now to the innermost of what goes on. Interrupts may come between any two lines, but not in their own charge. */
static __always_inline void tipme_irq_charge(struct tipme_kernel_cpu *c)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 mark = tipme_pool_load(&c->irq_mark_ns);

	/* Whoever moved the mark meanwhile has charged the time before it; what came since is too short to matter. */
	if (now <= mark || __sync_val_compare_and_swap(&c->irq_mark_ns, mark, now) != mark)
		return;
	if (c->irq_depth)
		__sync_fetch_and_add(&c->irq_ns, now - mark);
	else if (c->softirq_depth)
		__sync_fetch_and_add(&c->softirq_ns, now - mark);
}

static __always_inline int tipme_irq_enter(void)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();

	if (!c)
		return 0;
	tipme_irq_charge(c);
	c->irq_depth++;
	return 0;
}

/* The first exit after attaching may have had no entry. */
static __always_inline int tipme_irq_leave(void)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();

	if (!c || !c->irq_depth)
		return 0;
	tipme_irq_charge(c);
	c->irq_depth--;
	return 0;
}

#define TIPME_IRQ(entry, exit)                                                                                         \
	SEC("tp_btf/" #entry) int tipme_##entry(void *ctx) { return tipme_irq_enter(); }                               \
	SEC("tp_btf/" #exit) int tipme_##exit(void *ctx) { return tipme_irq_leave(); }

TIPME_IRQ(irq_handler_entry, irq_handler_exit)
TIPME_IRQ(local_timer_entry, local_timer_exit)
TIPME_IRQ(reschedule_entry, reschedule_exit)
TIPME_IRQ(call_function_entry, call_function_exit)
TIPME_IRQ(call_function_single_entry, call_function_single_exit)
TIPME_IRQ(irq_work_entry, irq_work_exit)

SEC("tp_btf/softirq_entry")
int BPF_PROG(tipme_softirq_entry, unsigned int vec)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();
	__u64 by;

	if (!c)
		return 0;
	tipme_irq_charge(c);
	c->softirq_depth = 1;
	by = __sync_lock_test_and_set(&c->raised[vec % TIPME_SOFTIRQS], 0);
	c->serving = by ? by : TIPME_RAISED_BY_IRQ;
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(tipme_softirq_exit, unsigned int vec)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();

	if (!c || !c->softirq_depth)
		return 0;
	tipme_irq_charge(c);
	c->softirq_depth = 0;
	c->serving = 0;
	return 0;
}

/* --- who did it --- */

/*
 * A kernel without CONFIG_KALLSYMS_ALL has the preemption count in its BTF, but refuses a program that names it. So each program that
 * needs to know its context is there twice: counted, and plain, which knows what the tracepoints of interrupts tell (an interrupt
 * thread that is woken just after its handler has returned then seems woken by the interrupted task).
 */
static __always_inline __u32 tipme_preempt_count(struct tipme_kernel_cpu *c, bool counted)
{
	if (counted && &pcpu_hot)
		return ((const struct pcpu_hot *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count;
	if (counted && &__preempt_count)
		return *(const int *)bpf_this_cpu_ptr(&__preempt_count);
	return (c->irq_depth ? TIPME_COUNT_HARDIRQ : 0) | (c->softirq_depth ? TIPME_COUNT_SOFTIRQ : 0);
}

/* The idle thread acts for others only: it runs what another CPU's interrupt left for it. */
static __always_inline __u8 tipme_context_of(struct tipme_kernel_cpu *c, __u32 tid, __u32 *raiser, bool counted)
{
	__u32 count = tipme_preempt_count(c, counted);

	if (count & TIPME_COUNT_NMI)
		return TIPME_CONTEXT_NMI;
	if (count & TIPME_COUNT_HARDIRQ)
		return TIPME_CONTEXT_HARDIRQ;
	if (!(count & TIPME_COUNT_SOFTIRQ))
		return tid ? TIPME_CONTEXT_TASK : TIPME_CONTEXT_HARDIRQ;
	if (!(c->serving & TIPME_RAISED_BY_TASK))
		return TIPME_CONTEXT_SOFTIRQ_IRQ;
	*raiser = c->serving;
	return c->serving & (TIPME_RAISED_BY_IRQ | TIPME_RAISED_BY_SEVERAL) ? TIPME_CONTEXT_SOFTIRQ_MIXED :
									       TIPME_CONTEXT_SOFTIRQ_TASK;
}

/* Interrupts are off, so raised[] may be read and written in two steps. */
static __always_inline int tipme_softirq_raised(unsigned int vec, bool counted)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();
	__u32 tid = tipme_current_tid(), raiser = 0;
	__u64 was, by = TIPME_RAISED_BY_IRQ;
	__u8 context;

	if (!c)
		return 0;
	context = tipme_context_of(c, tid, &raiser, counted);
	if (context == TIPME_CONTEXT_TASK)
		by = TIPME_RAISED_BY_TASK | tid;
	else if (context == TIPME_CONTEXT_SOFTIRQ_TASK || context == TIPME_CONTEXT_SOFTIRQ_MIXED)
		by = c->serving;
	was = c->raised[vec % TIPME_SOFTIRQS];
	if (was & by & TIPME_RAISED_BY_TASK && (__u32)was != (__u32)by)
		by |= TIPME_RAISED_BY_SEVERAL;
	if (!(by & TIPME_RAISED_BY_TASK))
		by |= (__u32)was;
	c->raised[vec % TIPME_SOFTIRQS] = by | (was >> 32 << 32);
	return 0;
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(tipme_softirq_raise_counted, unsigned int vec)
{
	return tipme_softirq_raised(vec, true);
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(tipme_softirq_raise_plain, unsigned int vec)
{
	return tipme_softirq_raised(vec, false);
}

/* --- stacks --- */

static __always_inline __u64 tipme_stack_hash(const __u64 *frames, __u32 count)
{
	__u64 h = count;
	int i;

	for (i = 0; i < TIPME_STACK_FRAMES; i++) {
		if (i < count)
			h = (h ^ frames[i]) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return h > TIPME_STACK_BUSY ? h : h + 2;
}

/* Claims an entry that shows `key`; the id is the place in the lower half and the number of claims in the upper. */
static __always_inline __u32 tipme_stack_claim(struct tipme_stack_entry *e, __u32 i, __u64 key, __u64 hash,
					       const __u64 *frames, __u32 count, __u64 now)
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
	return (e->gen << 16) | (i + 1);
}

/* The id of this stack; 0 if there is no room. Touches what it finds, so that it stays. */
static __noinline __u32 tipme_stack_put(const __u64 *frames, __u32 count, __u64 now)
{
	__u64 hash = tipme_stack_hash(frames, count);
	__u32 probe, id;

	for (probe = 0; probe < TIPME_STACK_PROBES; probe++) {
		__u32 i = (hash + probe) & tipme_stack_mask;
		struct tipme_stack_entry *e = bpf_map_lookup_elem(&tipme_stacks, &i);
		__u32 gen;
		__u64 key;

		if (!e)
			return 0;
		gen = tipme_pool_load(&e->gen); /* before key: a claim in between gives an id that finds nothing, never a wrong stack */
		key = tipme_pool_load(&e->key);
		if (key == hash) {
			tipme_pool_store(&e->used_ns, now);
			return (gen << 16) | (i + 1);
		}
		if (key != TIPME_STACK_BUSY && (!key || now > tipme_pool_load(&e->used_ns) + tipme_stack_keep_ns)) {
			id = tipme_stack_claim(e, i, key, hash, frames, count, now);
			if (id)
				return id;
		}
	}
	return 0;
}

static __always_inline __u32 tipme_stack_of(struct task_struct *p, __u64 now)
{
	__u64 frames[TIPME_STACK_FRAMES] = {};
	long bytes = bpf_get_task_stack(p, frames, sizeof(frames), 0);
	struct tipme_kernel_cpu *c;
	__u32 id;

	if (bytes <= 0)
		return 0;
	id = tipme_stack_put(frames, bytes / 8, now);
	if (!id && (c = tipme_this_cpu()))
		__sync_fetch_and_add(&c->lost_stack, 1);
	return id;
}

/* --- scheduler --- */

static __always_inline __u8 tipme_state_of_flags(__u32 s)
{
	if (s & 0xb0) /* TASK_DEAD, EXIT_ZOMBIE, EXIT_DEAD */
		return TIPME_TASK_STATE_DEAD;
	if (s & 0x8)
		return TIPME_TASK_STATE_TRACED;
	if (s & 0x4)
		return TIPME_TASK_STATE_STOPPED;
	if (s & 0x40)
		return TIPME_TASK_STATE_PARKED;
	if (s & 0x8000)
		return TIPME_TASK_STATE_FROZEN;
	if (s & 0x1000)
		return TIPME_TASK_STATE_LOCK_WAIT;
	if ((s & 0x402) == 0x402)
		return TIPME_TASK_STATE_IDLE;
	if (s & 0x2)
		return TIPME_TASK_STATE_DISK_SLEEP;
	return s & 0x1 ? TIPME_TASK_STATE_SLEEPING : TIPME_TASK_STATE_UNKNOWN;
}

/*
 * The argument is what the scheduler went by, but up to 6.13 it still shows a sleep that a pending signal has just undone; the task then
 * shows 0. The task alone will not do: a waker on another CPU may already have put TASK_WAKING there.
 */
static __always_inline __u8 tipme_state_after_switch(bool preempt, struct task_struct *prev, __u32 prev_state)
{
	if (preempt || !prev_state || !prev->__state)
		return TIPME_TASK_STATE_RUNNABLE;
	return tipme_state_of_flags(prev_state);
}

static __always_inline __u32 tipme_take_ns(__u64 *sum)
{
	__u64 ns = *sum;

	if (ns)
		*sum = 0;
	return ns < 0xffffffff ? ns : 0xffffffff;
}

/* No thread is switched inside an interrupt, nor, but on real-time kernels, inside a softirq: there the rest counts as the task's own. */
static __always_inline void tipme_irq_settle(struct tipme_kernel_cpu *c)
{
	if (!c->irq_depth && !c->softirq_depth)
		return;
	tipme_irq_charge(c);
	c->irq_depth = 0;
	c->softirq_depth = 0;
	c->serving = 0;
}

static __always_inline void tipme_sleep_set(struct tipme_sleep *s, __u32 tid, __u8 state, __u64 now)
{
	s->tid = tid;
	s->state = state;
	s->since_ns = now;
}

/* A thread that is preempted is noted, too: the picture tells since when it has not run. */
static __always_inline void tipme_sleep_note(__u32 tid, __u8 state, __u64 now)
{
	struct tipme_sleep *s = tid ? tipme_sleep_of(tid) : 0;

	if (s)
		tipme_sleep_set(s, tid, state, now);
}

/* The run queue is locked, so interrupts are off. */
SEC("tp_btf/sched_switch")
int BPF_PROG(tipme_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	__u32 tid = prev->pid, next_tid = next->pid;
	__u8 state = tipme_state_after_switch(preempt, prev, prev_state);

	TIPME_RECORD_IN(tipme_sched_switch, TIPME_SCHED_SWITCH, tid, true);
	tipme_irq_settle(c);
	if (r) {
		r->next_tid = next_tid;
		r->irq_ns = tipme_take_ns(&c->irq_ns);
		r->softirq_ns = tipme_take_ns(&c->softirq_ns);
		r->prev_state = state;
		r->prev_prio = prev->prio;
		r->next_prio = next->prio;
		r->prev_preempted = preempt;
	}
	tipme_record_end(c, (void *)r, true, gen);
	c->running_tid = next_tid;
	c->switch_ns = now;
	tipme_sleep_note(tid, state, now);
	return 0;
}

static __always_inline bool tipme_is_blocked(__u32 state)
{
	return state != TIPME_TASK_STATE_RUNNABLE && state != TIPME_TASK_STATE_DEAD && state != TIPME_TASK_STATE_RUNNING;
}

/* Ends the sleep of p in our table, and takes the stack it slept on if it was long: it has not moved yet. */
static __always_inline __u32 tipme_sleep_end(struct tipme_kernel_cpu *c, struct task_struct *p, __u32 tid, __u64 now)
{
	struct tipme_sleep *s = tipme_sleep_of(tid);
	__u64 since;

	if (!s || p->on_cpu) /* a waking of a thread that has not left its CPU ends no sleep */
		return 0;
	if (s->tid && s->tid != tid) {
		__sync_fetch_and_add(&c->lost_sleep, 1);
		tipme_sleep_set(s, tid, TIPME_TASK_STATE_RUNNABLE, now);
		return 0;
	}
	if (s->tid && !tipme_is_blocked(s->state))
		return 0;
	since = s->tid ? s->since_ns : tipme_start_ns; /* nothing noted: it slept when we came */
	tipme_sleep_set(s, tid, TIPME_TASK_STATE_RUNNABLE, now);
	return since && now > since + tipme_stack_min_ns ? tipme_stack_of(p, now) : 0;
}

/* The wakee is locked, so interrupts are off; but a thread that wakes itself takes no lock, and may be interrupted. */
static __always_inline int tipme_waking(struct task_struct *p, bool is_new, bool counted)
{
	__u32 tid = p->pid, waker = tipme_current_tid();
	bool irqs_off = tid != waker;

	TIPME_RECORD_IN(tipme_sched_waking, TIPME_SCHED_WAKING, tid, irqs_off);
	__u32 raiser = 0, stack = 0;
	__u8 context = tipme_context_of(c, waker, &raiser, counted);

	if (is_new)
		tipme_sleep_note(tid, TIPME_TASK_STATE_RUNNABLE, now);
	else
		stack = tipme_sleep_end(c, p, tid, now);
	if (r) {
		r->waker_tid = waker;
		r->stack_id = stack;
		r->raiser_tid = raiser;
		r->wakee_cpu = p->thread_info.cpu;
		r->context = context;
		r->prio = p->prio;
	}
	return tipme_record_end(c, (void *)r, irqs_off, gen);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(tipme_sched_waking_counted, struct task_struct *p)
{
	return tipme_waking(p, false, true);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(tipme_sched_waking_plain, struct task_struct *p)
{
	return tipme_waking(p, false, false);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(tipme_sched_wakeup_new_counted, struct task_struct *p)
{
	return tipme_waking(p, true, true);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(tipme_sched_wakeup_new_plain, struct task_struct *p)
{
	return tipme_waking(p, true, false);
}

/* --- threads --- */

SEC("tp_btf/sched_process_fork")
int BPF_PROG(tipme_fork, struct task_struct *parent, struct task_struct *child)
{
	TIPME_RECORD(tipme_fork, TIPME_FORK, parent->pid);
	if (r) {
		r->child_tid = child->pid;
		r->child_pid = child->tgid;
		r->child_start_ns = child->start_time;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(tipme_exit, struct task_struct *p)
{
	TIPME_RECORD(tipme_exit, TIPME_EXIT, p->pid);
	if (r) {
		r->pid = p->tgid;
		r->exit_code = p->exit_code;
		r->start_ns = p->start_time;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(tipme_exec, struct task_struct *p, int old_tid, struct linux_binprm *bprm)
{
	TIPME_RECORD(tipme_exec, TIPME_EXEC, p->pid);
	if (r) {
		r->pid = p->tgid;
		r->old_tid = old_tid;
		r->start_ns = p->start_time;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

SEC("tp_btf/task_rename")
int BPF_PROG(tipme_rename, struct task_struct *p, const char *comm)
{
	char name[16] = {};

	bpf_probe_read_kernel_str(name, sizeof(name), comm);
	TIPME_RECORD(tipme_rename, TIPME_RENAME, p->pid);
	if (r)
		__builtin_memcpy(r->comm, name, sizeof(name));
	return tipme_record_end(c, (void *)r, false, gen);
}

/* --- workers --- */

static __always_inline int tipme_work_put(struct pool_workqueue *pwq, struct work_struct *work, bool counted)
{
	__u32 tid = tipme_current_tid(), raiser = 0;

	TIPME_RECORD(tipme_work_queued, TIPME_WORK_QUEUED, tid);
	if (r) {
		r->work = (__u64)work;
		r->function = (__u64)work->func;
		r->cpu = pwq->pool->cpu; /* -1: unbound */
		r->context = tipme_context_of(c, tid, &raiser, counted);
		r->pad0 = 0;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(tipme_work_queued_counted, int req_cpu, struct pool_workqueue *pwq, struct work_struct *work)
{
	return tipme_work_put(pwq, work, true);
}

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(tipme_work_queued_plain, int req_cpu, struct pool_workqueue *pwq, struct work_struct *work)
{
	return tipme_work_put(pwq, work, false);
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(tipme_work_start, struct work_struct *work)
{
	TIPME_RECORD(tipme_work_start, TIPME_WORK_START, tipme_current_tid());
	if (r) {
		r->work = (__u64)work;
		r->function = (__u64)work->func;
		r->pad0 = 0;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

/* The work item may be freed by now: its function comes as an argument, which typed programs may not read. */
SEC("raw_tp/workqueue_execute_end")
int BPF_PROG(tipme_work_end, struct work_struct *work, void *function)
{
	TIPME_RECORD(tipme_work_end, TIPME_WORK_END, tipme_current_tid());
	if (r) {
		r->work = (__u64)work;
		r->function = (__u64)function;
		r->pad0 = 0;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

/* --- picture of all threads --- */

static __always_inline bool tipme_is_queued(struct task_struct *p)
{
	return p->on_rq && !(bpf_core_field_exists(p->se.sched_delayed) && p->se.sched_delayed);
}

static __always_inline __u8 tipme_state_of_task(struct task_struct *p)
{
	__u32 state = p->__state;

	if (p->exit_state || state & 0x80)
		return TIPME_TASK_STATE_DEAD;
	if (p->on_cpu)
		return TIPME_TASK_STATE_RUNNING;
	if (!state || state & 0xa00 || tipme_is_queued(p)) /* TASK_WAKING and TASK_NEW are as good as runnable */
		return TIPME_TASK_STATE_RUNNABLE;
	return tipme_state_of_flags(state);
}

/* 0 where our tables do not know, or know of another state than we see. */
static __always_inline __u64 tipme_state_since(struct task_struct *p, __u32 tid, __u8 state)
{
	struct tipme_kernel_cpu *c = tipme_cpu(p->thread_info.cpu);
	struct tipme_sleep *s = tipme_sleep_of(tid);

	if (state == TIPME_TASK_STATE_RUNNING)
		return c && c->running_tid == tid ? c->switch_ns : 0;
	return s && s->tid == tid && s->state == state ? s->since_ns : 0;
}

SEC("iter/task")
int tipme_picture(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	struct tipme_picture_entry e = {};

	if (!p)
		return 0;
	e.rec.ts_ns = bpf_ktime_get_ns();
	e.rec.type = TIPME_THREAD;
	e.rec.len8 = sizeof(e.rec) / 8;
	e.rec.tid = p->pid;
	e.rec.pid = p->tgid;
	e.rec.ppid = p->real_parent->tgid;
	e.rec.start_ns = p->start_time;
	e.rec.uid = p->real_cred->uid.val;
	e.rec.state = tipme_state_of_task(p);
	e.rec.since_ns = tipme_state_since(p, e.rec.tid, e.rec.state);
	e.rec.prio = p->prio;
	e.rec.cpu = p->thread_info.cpu;
	e.rec.flags = p->flags & TIPME_PF_KTHREAD ? 1 : 0;
	e.switches = p->nvcsw + p->nivcsw;
	bpf_probe_read_kernel_str(e.rec.comm, sizeof(e.rec.comm), p->comm);
	if (tipme_is_blocked(e.rec.state))
		e.rec.stack_id = tipme_stack_of(p, e.rec.ts_ns);
	bpf_seq_write(ctx->meta->seq, &e, sizeof(e));
	return 0;
}
