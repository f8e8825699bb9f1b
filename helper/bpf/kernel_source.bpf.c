// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracing programs: scheduler, interrupts, threads and workers become records in the pool; the
 * other classes are included at the end.
 */
#include "recorder.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#include "irq.bpf.h"

/* --- scheduler --- */

static __noinline __u32 tipme_state_of_rare_flags(__u32 s)
{
	return tipme_rule_state_of_flags(s);
}

static __always_inline __u8 tipme_state_of_flags(__u32 s)
{
	return tipme_likely(s == TIPME_FLAG_INTERRUPTIBLE) ? TIPME_TASK_STATE_SLEEPING
							   : tipme_state_of_rare_flags(s);
}

/*
 * The argument is what the scheduler went by, but up to 6.13 it still shows a sleep that a pending
 * signal has just undone; the task then shows 0. The task alone will not do: a waker on another CPU
 * may already have put TASK_WAKING there.
 */
static __always_inline __u8 tipme_state_after_switch(bool preempt, struct task_struct *prev,
						     __u32 prev_state)
{
	if (preempt || !prev_state || !prev->__state)
		return TIPME_TASK_STATE_RUNNABLE;
	return tipme_state_of_flags(prev_state);
}

static __always_inline __u32 tipme_take_ns(__u64 *sum)
{
	__u64 ns = *sum;

	*sum = 0;
	return ns < 0xffffffff ? ns : 0xffffffff;
}

/*
 * No thread is switched inside an interrupt, nor, but on real-time kernels, inside a softirq: there
 * the rest counts as the task's own.
 */
static __noinline int tipme_irq_settle(struct tipme_kernel_cpu *c)
{
	tipme_irq_charge(c);
	c->irq_depth = 0;
	c->softirq_depth = 0;
	c->serving = 0;
	return 0;
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

static __always_inline int tipme_switched(struct tipme_kernel_cpu *c, __u32 tid, __u32 next_tid,
					  __u8 state, __u64 now)
{
	c->running_tid = next_tid;
	c->switch_ns = now;
	tipme_sleep_note(tid, state, now);
	return 0;
}

/* Any switch. No thread is switched inside an interrupt: one that we believe in is over. */
static __noinline int tipme_switch_slow(__u64 *ctx, struct tipme_kernel_cpu *c, __u64 now)
{
	__u16 gen = 0;

	if (c->irq_depth | c->softirq_depth) {
		tipme_irq_settle(c);
		now = bpf_ktime_get_ns();
	}
	struct tipme_sched_switch *r = tipme_slot_begin(c, bpf_get_smp_processor_id(), true, &gen);
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	__u8 state = tipme_state_after_switch(ctx[0], prev, ctx[3]);

	if (r) {
		tipme_slot_head((void *)r, now, TIPME_SCHED_SWITCH, prev->pid);
		r->next_tid = next->pid;
		r->irq_ns = tipme_take_ns(&c->irq_ns);
		r->softirq_ns = tipme_take_ns(&c->softirq_ns);
		r->prev_state = state;
		r->prev_prio = prev->prio;
		r->next_prio = next->prio;
		r->prev_preempted = ctx[0];
		tipme_pool_commit((void *)r, gen);
	}
	return tipme_switched(c, prev->pid, next->pid, state, now);
}

/*
 * The run queue is locked, so interrupts are off. Most switches come without an interrupt since the
 * last, from a thread that sleeps or is preempted, and find room in the pool: they are written
 * here. The clock is read first and is the only call, so nothing has to be kept across one; and
 * what is on the stack stays under the 64 bytes from which kernels of 6.13 and newer give a program
 * a stack of its own, which every call then saves and restores.
 */
SEC("tp_btf/sched_switch")
int tipme_sched_switch(__u64 *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct tipme_kernel_cpu *c = tipme_this_cpu();
	__u8 state = TIPME_TASK_STATE_RUNNABLE;
	struct tipme_sched_switch *r;
	__u16 gen;

	if (!c)
		return 0;
	if (tipme_unlikely(c->irq_depth | c->softirq_depth || c->irq_ns | c->softirq_ns))
		goto slow;
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];

	if (!ctx[0] && (__u32)ctx[3] && prev->__state) {
		if (tipme_unlikely((__u32)ctx[3] != 1))
			goto slow;
		state = TIPME_TASK_STATE_SLEEPING;
	}
	r = tipme_pool_try_begin_irqs_off(&c->pool, &gen);
	if (tipme_unlikely(!r))
		goto slow;
	__u32 tid = prev->pid, next_tid = next->pid;

	tipme_slot_head((void *)r, now, TIPME_SCHED_SWITCH, tid);
	r->next_tid = next_tid;
	r->irq_ns = 0;
	r->softirq_ns = 0;
	r->prev_state = state;
	r->prev_prio = prev->prio;
	r->next_prio = next->prio;
	r->prev_preempted = ctx[0];
	tipme_pool_commit((void *)r, gen);
	return tipme_switched(c, tid, next_tid, state, now);
slow:
	return tipme_switch_slow(ctx, c, now);
}

static __always_inline bool tipme_is_blocked(__u32 state)
{
	return tipme_rule_is_blocked(state);
}

/* What page faults look for. */
static __always_inline void tipme_disk_sleep_note(__u32 tid, __u64 begin_ns, __u64 end_ns)
{
	__u32 i = tid % TIPME_DISK_SLEEPS;
	struct tipme_disk_sleep *d = bpf_map_lookup_elem(&tipme_disk_sleeps, &i);

	if (!d)
		return;
	d->tid = tid;
	d->begin_ns = begin_ns;
	d->end_ns = end_ns;
}

/*
 * Ends the sleep of p in our table, and takes the stack it slept on if it was long: it has not
 * moved yet.
 */
static __always_inline __u32 tipme_sleep_end(struct tipme_kernel_cpu *c, struct task_struct *p,
					     __u32 tid, __u64 now)
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
	if (s->tid && s->state == TIPME_TASK_STATE_DISK_SLEEP)
		tipme_disk_sleep_note(tid, since, now);
	tipme_sleep_set(s, tid, TIPME_TASK_STATE_RUNNABLE, now);
	if (!since || now <= since + tipme_stack_min_ns)
		return 0;
	return tipme_stack_slept(p, s, now);
}

static __always_inline int tipme_waking_by(struct tipme_kernel_cpu *c, struct task_struct *p,
					   __u64 now, bool is_new, bool counted, bool irqs_off)
{
	__u32 tid = p->pid, raiser = 0, stack = 0, waker = tipme_running_tid(c);
	__u16 gen = 0;

	if (is_new)
		tipme_sleep_note(tid, TIPME_TASK_STATE_RUNNABLE, now);
	else
		stack = tipme_sleep_end(c, p, tid, now);
	struct tipme_sched_waking *r =
		tipme_slot_begin(c, bpf_get_smp_processor_id(), irqs_off, &gen);

	if (r) {
		tipme_slot_head((void *)r, now, TIPME_SCHED_WAKING, tid);
		r->waker_tid = waker;
		r->stack_id = stack;
		r->context = tipme_context_of(c, waker, &raiser, counted);
		r->raiser_tid = raiser;
		r->wakee_cpu = p->thread_info.cpu;
		r->prio = p->prio;
	}
	return tipme_record_end(c, (void *)r, irqs_off, gen);
}

/*
 * A thread that wakes itself takes no lock, and may be interrupted; so may one be that an interrupt
 * wakes before it sleeps.
 */
static __noinline int tipme_waking_any(struct tipme_kernel_cpu *c, struct task_struct *p, __u64 now,
				       bool is_new, bool counted)
{
	return tipme_waking_by(c, p, now, is_new, counted, false);
}

/* By another thread: the wakee is locked, so interrupts are off. */
static __noinline int tipme_waking_slow(struct tipme_kernel_cpu *c, struct task_struct *p,
					__u64 now, bool is_new, bool counted)
{
	return tipme_waking_by(c, p, now, is_new, counted, true);
}

/*
 * Most wakings are done by a task, in no interrupt, and end the short sleep of another: they are
 * written here, as such switches are. What makes a waking another is looked at before anything is
 * changed.
 */
static __always_inline int tipme_waking(struct task_struct *p, bool is_new, bool counted)
{
	__u64 now = bpf_ktime_get_ns();
	struct tipme_kernel_cpu *c = tipme_this_cpu();
	struct tipme_sched_waking *r;
	struct tipme_sleep *s;
	__u32 tid, waker;
	__u16 gen;

	if (!c)
		return 0;
	tid = p->pid;
	waker = c->running_tid;
	if (tipme_unlikely(tid == waker || !c->switch_ns))
		return tipme_waking_any(c, p, now, is_new, counted);
	s = tipme_sleep_of(tid);
	if (is_new || tipme_unlikely(!waker || p->on_cpu) ||
	    tipme_unlikely(tipme_is_served(c, counted)) ||
	    tipme_unlikely(s->tid != tid || s->state != TIPME_TASK_STATE_SLEEPING ||
			   now > s->since_ns + tipme_stack_min_ns))
		goto slow;
	r = tipme_pool_try_begin_irqs_off(&c->pool, &gen);
	if (tipme_unlikely(!r))
		goto slow;
	s->state = TIPME_TASK_STATE_RUNNABLE;
	s->since_ns = now;
	tipme_slot_head((void *)r, now, TIPME_SCHED_WAKING, tid);
	r->waker_tid = waker;
	r->stack_id = 0;
	r->raiser_tid = 0;
	r->wakee_cpu = p->thread_info.cpu;
	r->context = TIPME_CONTEXT_TASK;
	r->prio = p->prio;
	tipme_pool_commit((void *)r, gen);
	return 0;
slow:
	return tipme_waking_slow(c, p, now, is_new, counted);
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

/*
 * A thread that was not the first of its process has become that: it has another number than it
 * came onto this CPU with.
 */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(tipme_exec, struct task_struct *p, int old_tid, struct linux_binprm *bprm)
{
	TIPME_RECORD(tipme_exec, TIPME_EXEC, p->pid);
	if (r) {
		r->pid = p->tgid;
		r->old_tid = old_tid;
		r->start_ns = p->start_time;
	}
	c->running_tid = p->pid;
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

static __always_inline int tipme_work_put(struct pool_workqueue *pwq, struct work_struct *work,
					  bool counted)
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
int BPF_PROG(tipme_work_queued_counted, int req_cpu, struct pool_workqueue *pwq,
	     struct work_struct *work)
{
	return tipme_work_put(pwq, work, true);
}

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(tipme_work_queued_plain, int req_cpu, struct pool_workqueue *pwq,
	     struct work_struct *work)
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

/*
 * The work item may be freed by now: its function comes as an argument, which typed programs may
 * not read.
 */
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
	/* TASK_WAKING and TASK_NEW are as good as runnable */
	if (!state || state & 0xa00 || tipme_is_queued(p))
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

/* The cgroup that CPU time is shared by: of the CPU controller, or else the unified one. */
static __always_inline __u64 tipme_cgroup_of(struct task_struct *p)
{
	__u64 id = p->sched_task_group->css.cgroup->kn->id;

	return id > 1 ? id : p->cgroups->dfl_cgrp->kn->id;
}

/*
 * Files, anonymous and shared memory; since 6.2 they are counted for each CPU, of which this is the
 * settled part.
 */
static __always_inline __u64 tipme_rss_pages(struct mm_struct *mm)
{
	const struct mm_struct___before_6_2 *old = (void *)mm;
	__s64 pages;

	if (!mm)
		return 0;
	/*
	 * Not asked by the type: one that the kernel does not have is looked for in its modules,
	 * too, which takes CAP_SYS_ADMIN.
	 */
	if (bpf_core_field_exists(old->rss_stat.count))
		pages = BPF_CORE_READ(old, rss_stat.count[0].counter) +
			BPF_CORE_READ(old, rss_stat.count[1].counter) +
			BPF_CORE_READ(old, rss_stat.count[3].counter);
	else
		pages = mm->rss_stat[0].count + mm->rss_stat[1].count + mm->rss_stat[3].count;
	return pages > 0 ? pages : 0;
}

/* 0 in the first namespace, where the number is the one that everybody sees. */
static __always_inline __u32 tipme_ns_tid(struct task_struct *p)
{
	/* a number: verifiers of old kernels let no variable be added to a pointer */
	__u64 pid = (__u64)BPF_CORE_READ(p, thread_pid);
	unsigned int level = 0;
	__u32 nr = 0;

	if (pid)
		level = BPF_CORE_READ((struct pid *)pid, level);
	if (level && level < 32)
		bpf_probe_read_kernel(&nr, sizeof(nr),
				      (void *)(pid + bpf_core_field_offset(struct pid, numbers) +
					       level * bpf_core_type_size(struct upid) +
					       bpf_core_field_offset(struct upid, nr)));
	return nr;
}

/*
 * Who has not been switched out since the last picture, and was blocked then as now, has not run:
 * its stack is the same, and is not unwound again. One word holds the number of switches and the
 * id, so that two pictures at once (the trigger's, and that of each second) mix nothing.
 */
#define TIPME_LOOKED 16384 /* by tid; a power of two */

struct tipme_looked {
	__u64 thread; /* start and tid; 0: being written, or nobody */
	__u64 switches_id; /* low half of the number of switches, and the id */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct tipme_looked));
	__uint(max_entries, TIPME_LOOKED);
} tipme_looks SEC(".maps");

/*
 * Whether the table still has the stack with this id: touched, so that it stays. Claimed meanwhile:
 * then the id finds nothing, never another stack.
 */
static __always_inline bool tipme_stack_touch(__u32 id, __u64 now)
{
	__u32 i = ((id & 0xffff) - 1 - tipme_stack_base) & tipme_stack_mask;
	struct tipme_stack_entry *e = bpf_map_lookup_elem(&tipme_stacks, &i);

	if (!e || (__u16)tipme_pool_load(&e->gen) != (__u16)(id >> 16) ||
	    tipme_pool_load(&e->key) <= TIPME_STACK_BUSY)
		return false;
	tipme_pool_store(&e->used_ns, now);
	return true;
}

static __always_inline __u32 tipme_stack_looked(struct task_struct *p, __u64 switches, __u64 now)
{
	__u64 thread = p->start_time ^ (__u64)p->pid << 40, word;
	__u32 i = (__u32)p->pid % TIPME_LOOKED, id;
	struct tipme_looked *l = bpf_map_lookup_elem(&tipme_looks, &i);

	if (!l)
		return 0;
	word = tipme_pool_load(&l->switches_id);
	if (tipme_pool_load(&l->thread) == thread && word >> 32 == (__u32)switches && (__u32)word &&
	    tipme_stack_touch(word, now))
		return word;
	id = tipme_stack_of(p, now, TIPME_DEEP_PICTURE);
	tipme_pool_store(&l->thread, 0);
	/*
	 * What it ran meanwhile, it did after its switches were counted: then the next picture
	 * finds another number.
	 */
	tipme_pool_store(&l->switches_id, switches << 32 | id);
	tipme_pool_store(&l->thread, thread);
	return id;
}

SEC("iter/task")
int tipme_picture(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	struct tipme_picture_entry e = {};

	if (!p)
		return 0;
	e.switches = p->nvcsw + p->nivcsw; /* before anything else is looked at */
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
	e.rec.cgroup = tipme_cgroup_of(p);
	e.rec.cpus_allowed = p->cpus_mask.bits[0];
	e.rec.ns_tid = tipme_ns_tid(p);
	e.rec.rss_kib = tipme_rss_pages(p->mm) * 4;
	e.rec.run_ns = p->se.sum_exec_runtime;
	bpf_probe_read_kernel_str(e.rec.comm, sizeof(e.rec.comm), p->comm);
	if (tipme_is_blocked(e.rec.state))
		e.rec.stack_id = tipme_stack_looked(p, e.switches, e.rec.ts_ns);
	bpf_seq_write(ctx->meta->seq, &e, sizeof(e));
	return 0;
}

#include "changes.bpf.h"
#include "life.bpf.h"
#include "network.bpf.h"
#include "sample.bpf.h"
#include "suspend.bpf.h"
#include "waits.bpf.h"
#include "input.bpf.h"
#include "wayland_call.bpf.h"
#include "wayland.bpf.h"
#include "screen.bpf.h"
