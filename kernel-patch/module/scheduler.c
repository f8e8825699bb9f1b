// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is always recorded: switches, wake-ups, threads, workers; and the time in interrupts and who
 * raised a softirq, which those tell.
 */
#include <linux/binfmts.h>
#include <linux/interrupt.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>
#include <trace/events/irq.h>
#include <trace/events/sched.h>
#include <trace/events/task.h>
#include <trace/events/workqueue.h>
#include <asm/trace/irq_vectors.h>

#include "ring.h"

/* Probes run with preemption off, and only while there is a ring. */
static __always_inline struct tipme_kernel_cpu *this_cpu(void)
{
	return __this_cpu_read(tipme_this_cpu);
}

static __always_inline struct tipme_sleep *sleep_of(u32 tid)
{
	return &tipme_ring.sleeps[tid % TIPME_SLEEPS];
}

/* --- time in interrupts --- */

/*
 * Charges the time up to now to the innermost of what goes on. Interrupts may come between any two
 * lines, but not in their own charge.
 */
static void irq_charge(struct tipme_kernel_cpu *c)
{
	u64 now = tipme_now();
	u64 mark = READ_ONCE(c->irq_mark_ns);

	/*
	 * Whoever moved the mark meanwhile has charged the time before it; what came since is too
	 * short to matter.
	 */
	if (now <= mark || cmpxchg_local(&c->irq_mark_ns, mark, now) != mark)
		return;
	if (c->irq_depth)
		__sync_fetch_and_add(&c->irq_ns, now - mark);
	else if (c->softirq_depth)
		__sync_fetch_and_add(&c->softirq_ns, now - mark);
}

/* The idle thread acts for others only: it runs what another CPU's interrupt left for it. */
static __always_inline u8 context_of(const struct tipme_kernel_cpu *c, u32 tid, u32 *raiser)
{
	if (in_nmi())
		return TIPME_CONTEXT_NMI;
	if (in_hardirq())
		return TIPME_CONTEXT_HARDIRQ;
	if (!in_serving_softirq())
		return tid ? TIPME_CONTEXT_TASK : TIPME_CONTEXT_HARDIRQ;
	if (c->serving & TIPME_RAISED_BY_TASK)
		*raiser = c->serving;
	return tipme_rule_softirq_context(c->serving);
}

u8 tipme_context_here(u32 *raiser)
{
	const struct tipme_kernel_cpu *c;
	u8 context = TIPME_CONTEXT_TASK;

	*raiser = 0;
	preempt_disable_notrace();
	c = this_cpu();
	if (c)
		context = context_of(c, current->pid, raiser);
	preempt_enable_notrace();
	return context;
}

/* Written when it is over, with the time of its beginning. */
static noinline void irq_put(const struct tipme_kernel_cpu *c, u64 begin_ns, u64 duration_ns,
			     u32 number, u8 kind, u8 context)
{
	struct tipme_irq r = {
		.ts_ns = begin_ns,
		.type = TIPME_IRQ,
		.tid = current->pid,
		.duration_ns = min_t(u64, duration_ns, U32_MAX),
		.number = number,
		.kind = kind,
		.context = context,
	};

	if (context == TIPME_CONTEXT_SOFTIRQ_TASK || context == TIPME_CONTEXT_SOFTIRQ_MIXED)
		r.raiser_tid = c->serving;
	tipme_record(&r);
}

static bool irq_is_long(u64 ns)
{
	u64 least = READ_ONCE(tipme_irq_min_ns);

	return least && ns >= least;
}

static void irq_enter_probe(void)
{
	struct tipme_kernel_cpu *c = this_cpu();

	irq_charge(c);
	if (!c->irq_depth++) {
		c->irq_begin_ns = c->irq_mark_ns;
		c->irq_before_ns = c->irq_ns;
	}
}

/* The first exit after registering may have had no entry. */
static void irq_leave_probe(u8 kind, u32 number)
{
	struct tipme_kernel_cpu *c = this_cpu();

	if (!c->irq_depth)
		return;
	irq_charge(c);
	if (!--c->irq_depth && irq_is_long(c->irq_ns - c->irq_before_ns))
		irq_put(c, c->irq_begin_ns, c->irq_ns - c->irq_before_ns, number, kind,
			TIPME_CONTEXT_HARDIRQ);
}

static void on_irq_handler_entry(void *unused, int irq, struct irqaction *action)
{
	irq_enter_probe();
}

static void on_irq_handler_exit(void *unused, int irq, struct irqaction *action, int ret)
{
	irq_leave_probe(TIPME_IRQ_KIND_HARDIRQ, irq);
}

#define VECTOR(name, kind)                                      \
	static void on_##name##_entry(void *unused, int vector) \
	{                                                       \
		irq_enter_probe();                              \
	}                                                       \
	static void on_##name##_exit(void *unused, int vector)  \
	{                                                       \
		irq_leave_probe(kind, vector);                  \
	}

VECTOR(local_timer, TIPME_IRQ_KIND_TIMER)
VECTOR(irq_work, TIPME_IRQ_KIND_IPI)
#ifdef CONFIG_SMP
VECTOR(reschedule, TIPME_IRQ_KIND_IPI)
VECTOR(call_function, TIPME_IRQ_KIND_IPI)
VECTOR(call_function_single, TIPME_IRQ_KIND_IPI)
#endif

static void on_softirq_entry(void *unused, unsigned int vec)
{
	struct tipme_kernel_cpu *c = this_cpu();
	u64 by;

	irq_charge(c);
	c->softirq_depth = 1;
	c->softirq_begin_ns = c->irq_mark_ns;
	c->softirq_before_ns = c->softirq_ns;
	by = xchg(&c->raised[vec % TIPME_SOFTIRQS], 0);
	c->serving = by ?: TIPME_RAISED_BY_IRQ;
}

static void on_softirq_exit(void *unused, unsigned int vec)
{
	struct tipme_kernel_cpu *c = this_cpu();

	if (!c->softirq_depth)
		return;
	irq_charge(c);
	if (irq_is_long(c->softirq_ns - c->softirq_before_ns))
		irq_put(c, c->softirq_begin_ns, c->softirq_ns - c->softirq_before_ns, vec,
			TIPME_IRQ_KIND_SOFTIRQ, tipme_rule_softirq_context(c->serving));
	c->softirq_depth = 0;
	c->serving = 0;
}

/* Interrupts are off, so raised[] may be read and written in two steps. */
static void on_softirq_raise(void *unused, unsigned int vec)
{
	struct tipme_kernel_cpu *c = this_cpu();
	u64 *raised = &c->raised[vec % TIPME_SOFTIRQS];
	u32 tid = current->pid, raiser = 0;
	u8 context = context_of(c, tid, &raiser);

	*raised = tipme_rule_raised(*raised, context, tid, c->serving);
}

/* --- switches --- */

/* rules.h has them as numbers. */
static_assert(TIPME_FLAGS_DEAD == (TASK_DEAD | EXIT_ZOMBIE | EXIT_DEAD) &&
	      TIPME_FLAG_TRACED == __TASK_TRACED);
static_assert(TIPME_FLAG_STOPPED == __TASK_STOPPED && TIPME_FLAG_PARKED == TASK_PARKED &&
	      TIPME_FLAG_FROZEN == TASK_FROZEN);
static_assert(TIPME_FLAG_RTLOCK_WAIT == TASK_RTLOCK_WAIT && TIPME_FLAGS_IDLE == TASK_IDLE);
static_assert(TIPME_FLAG_UNINTERRUPTIBLE == TASK_UNINTERRUPTIBLE &&
	      TIPME_FLAG_INTERRUPTIBLE == TASK_INTERRUPTIBLE);

u8 tipme_state_of_flags(u32 s)
{
	return tipme_rule_state_of_flags(s);
}

bool tipme_is_blocked(u8 state)
{
	return tipme_rule_is_blocked(state);
}

/*
 * The argument is what the scheduler went by, but up to 6.13 it still shows a sleep that a pending
 * signal has just undone; the task then shows 0. The task alone will not do: a waker on another CPU
 * may already have put TASK_WAKING there.
 */
static __always_inline u8 state_after_switch(bool preempt, struct task_struct *prev, u32 prev_state)
{
	if (preempt || !prev_state || !READ_ONCE(prev->__state))
		return TIPME_TASK_STATE_RUNNABLE;
	if (likely(prev_state == TASK_INTERRUPTIBLE))
		return TIPME_TASK_STATE_SLEEPING;
	return tipme_state_of_flags(prev_state);
}

static u32 take_ns(u64 *sum)
{
	u64 ns = *sum;

	*sum = 0;
	return min_t(u64, ns, U32_MAX);
}

/*
 * No thread is switched inside an interrupt, nor, but on real-time kernels, inside a softirq: there
 * the rest counts as the task's own.
 */
static void irq_settle(struct tipme_kernel_cpu *c)
{
	if (!c->irq_depth && !c->softirq_depth)
		return;
	irq_charge(c);
	c->irq_depth = 0;
	c->softirq_depth = 0;
	c->serving = 0;
}

/* No interrupt since the last switch, nor one that goes on. */
static __always_inline bool irq_none(const struct tipme_kernel_cpu *c)
{
	return !(c->irq_ns | c->softirq_ns | c->irq_depth | c->softirq_depth);
}

static __always_inline void sleep_set(struct tipme_sleep *s, u32 tid, u8 state, u64 now)
{
	s->tid = tid;
	s->state = state;
	s->since_ns = now;
}

/*
 * A trigger because a thread that was runnable had to wait for longer than somebody wants to bear.
 */
static noinline void wakeup_check(u32 tid, u64 now)
{
	const struct tipme_sleep *s = sleep_of(tid);

	if (tid && s->tid == tid && s->state == TIPME_TASK_STATE_RUNNABLE &&
	    now > s->since_ns + (u64)tipme_wakeup_threshold_us * 1000)
		tipme_trigger(TIPME_TRIGGER_WAKEUP, tid, now - s->since_ns);
}

static __always_inline void switch_fill(struct tipme_sched_switch *r, struct task_struct *prev,
					struct task_struct *next, u8 state, bool preempt)
{
	r->next_tid = next->pid;
	r->prev_state = state;
	r->prev_prio = prev->prio;
	r->next_prio = next->prio;
	r->prev_preempted = preempt;
}

/* A thread that is preempted is noted, too: the picture tells since when it has not run. */
static __always_inline void switch_note(struct tipme_kernel_cpu *c, u32 tid, u32 next_tid, u8 state,
					u64 now)
{
	c->running_tid = next_tid;
	c->switch_ns = now;
	if (tid)
		sleep_set(sleep_of(tid), tid, state, now);
	if (unlikely(READ_ONCE(tipme_wakeup_threshold_us)))
		wakeup_check(next_tid, now);
}

/* There were interrupts, or this sub-buffer is full. */
static noinline void switch_slowly(u64 now, struct task_struct *prev, struct task_struct *next,
				   u8 state, bool preempt)
{
	struct tipme_kernel_cpu *c = this_cpu();
	struct tipme_sched_switch *r;
	u16 gen;

	r = tipme_record_begin_irqs_off(c, now, TIPME_SCHED_SWITCH, prev->pid, &gen);
	irq_settle(c);
	if (r) {
		r->irq_ns = take_ns(&c->irq_ns);
		r->softirq_ns = take_ns(&c->softirq_ns);
		switch_fill(r, prev, next, state, preempt);
		tipme_pool_commit((void *)r, gen);
	}
	switch_note(c, prev->pid, next->pid, state, now);
}

/*
 * The run queue is locked, so interrupts are off. What is seldom is done by another function: so
 * this one has little to save.
 */
static void on_sched_switch(void *unused, bool preempt, struct task_struct *prev,
			    struct task_struct *next, unsigned int prev_state)
{
	u8 state = state_after_switch(preempt, prev, prev_state);
	u64 now = tipme_now();
	struct tipme_kernel_cpu *c = this_cpu();
	struct tipme_sched_switch *r = NULL;
	u16 gen;

	if (likely(irq_none(c)))
		r = tipme_record_try_irqs_off(c, now, TIPME_SCHED_SWITCH, prev->pid, &gen);
	if (unlikely(!r)) {
		switch_slowly(now, prev, next, state, preempt);
		return;
	}
	r->irq_ns = 0;
	r->softirq_ns = 0;
	switch_fill(r, prev, next, state, preempt);
	tipme_pool_commit((void *)r, gen);
	switch_note(c, prev->pid, next->pid, state, now);
}

/* --- wake-ups --- */

/* What page faults look for. */
static struct tipme_disk_sleep disk_sleeps[TIPME_DISK_SLEEPS];

const struct tipme_disk_sleep *tipme_disk_sleep_of(u32 tid)
{
	return &disk_sleeps[tid % TIPME_DISK_SLEEPS];
}

static void disk_sleep_note(u32 tid, u64 begin_ns, u64 end_ns)
{
	struct tipme_disk_sleep *d = &disk_sleeps[tid % TIPME_DISK_SLEEPS];

	d->tid = tid;
	d->begin_ns = begin_ns;
	d->end_ns = end_ns;
}

/*
 * Ends the sleep of p in our table, and takes the stack it slept on if it was long: it has not
 * moved yet.
 */
static u32 sleep_end(struct tipme_kernel_cpu *c, struct task_struct *p, u32 tid, u64 now)
{
	struct tipme_sleep *s = sleep_of(tid);
	u64 since;

	if (READ_ONCE(p->on_cpu)) /* a waking of a thread that has not left its CPU ends no sleep */
		return 0;
	if (unlikely(s->tid && s->tid != tid)) {
		__sync_fetch_and_add(&c->lost_sleep, 1);
		sleep_set(s, tid, TIPME_TASK_STATE_RUNNABLE, now);
		return 0;
	}
	if (s->tid && !tipme_is_blocked(s->state))
		return 0;
	/* nothing noted: it slept when we came */
	since = s->tid ? s->since_ns : tipme_ring.start_ns;
	if (s->tid && s->state == TIPME_TASK_STATE_DISK_SLEEP)
		disk_sleep_note(tid, since, now);
	sleep_set(s, tid, TIPME_TASK_STATE_RUNNABLE, now);
	return now > since + tipme_ring.stack_min_ns ? tipme_stack_of_sleeper(p, now) : 0;
}

static void waking_fill(struct tipme_kernel_cpu *c, struct tipme_sched_waking *r,
			struct task_struct *p, u32 stack)
{
	u32 raiser = 0;

	r->waker_tid = current->pid;
	r->context = context_of(c, r->waker_tid, &raiser);
	r->stack_id = stack;
	r->raiser_tid = raiser;
	r->wakee_cpu = task_cpu(p);
	r->prio = p->prio;
}

/* A thread that wakes itself takes no lock, and may be interrupted. */
static noinline void waking_self(struct task_struct *p)
{
	TIPME_NEW_RECORD(tipme_sched_waking, TIPME_SCHED_WAKING, p->pid);

	waking_fill(this_cpu(), &r, p, 0);
	tipme_record(&r);
}

/* The wakee is locked, so interrupts are off. */
static noinline void waking_slowly(struct task_struct *p, u64 now, bool is_new)
{
	struct tipme_kernel_cpu *c = this_cpu();
	u32 tid = p->pid, stack = 0;
	struct tipme_sched_waking *r;
	u16 gen;

	r = tipme_record_begin_irqs_off(c, now, TIPME_SCHED_WAKING, tid, &gen);
	if (is_new)
		sleep_set(sleep_of(tid), tid, TIPME_TASK_STATE_RUNNABLE, now);
	else
		stack = sleep_end(c, p, tid, now);
	if (!r)
		return;
	waking_fill(c, r, p, stack);
	tipme_pool_commit((void *)r, gen);
}

/*
 * The usual: a thread that runs ends a sleep that we saw begin, too short for a stack, and not one
 * of those that page faults look for.
 */
static __always_inline bool waking_is_plain(const struct task_struct *p,
					    const struct tipme_sleep *s, u64 now)
{
	return s->tid == p->pid && s->state == TIPME_TASK_STATE_SLEEPING &&
	       now <= s->since_ns + tipme_ring.stack_min_ns && !READ_ONCE(p->on_cpu) && in_task();
}

/* As on_sched_switch(): quick where it may be. */
static void on_sched_waking(void *unused, struct task_struct *p)
{
	struct tipme_sched_waking *r = NULL;
	struct tipme_kernel_cpu *c;
	struct tipme_sleep *s;
	u64 now;
	u16 gen;

	if (unlikely(p == current)) {
		waking_self(p);
		return;
	}
	now = tipme_now();
	c = this_cpu();
	s = sleep_of(p->pid);
	if (likely(waking_is_plain(p, s, now)))
		r = tipme_record_try_irqs_off(c, now, TIPME_SCHED_WAKING, p->pid, &gen);
	if (unlikely(!r)) {
		waking_slowly(p, now, false);
		return;
	}
	sleep_set(s, p->pid, TIPME_TASK_STATE_RUNNABLE, now);
	r->waker_tid = current->pid;
	r->context = r->waker_tid ? TIPME_CONTEXT_TASK : TIPME_CONTEXT_HARDIRQ;
	r->stack_id = 0;
	r->raiser_tid = 0;
	r->wakee_cpu = task_cpu(p);
	r->prio = p->prio;
	tipme_pool_commit((void *)r, gen);
}

static void on_sched_wakeup_new(void *unused, struct task_struct *p)
{
	waking_slowly(p, tipme_now(), true);
}

u64 tipme_state_since(struct task_struct *p, u8 state)
{
	const struct tipme_kernel_cpu *c = &tipme_ring.cpus[task_cpu(p)];
	const struct tipme_sleep *s = sleep_of(p->pid);

	if (state == TIPME_TASK_STATE_RUNNING)
		return READ_ONCE(c->running_tid) == p->pid ? READ_ONCE(c->switch_ns) : 0;
	return READ_ONCE(s->tid) == p->pid && READ_ONCE(s->state) == state ? READ_ONCE(s->since_ns)
									   : 0;
}

/* --- threads --- */

static void on_sched_process_fork(void *unused, struct task_struct *parent,
				  struct task_struct *child)
{
	TIPME_NEW_RECORD(tipme_fork, TIPME_FORK, parent->pid);

	r.child_tid = child->pid;
	r.child_pid = child->tgid;
	r.child_start_ns = child->start_time;
	tipme_record(&r);
}

static void on_sched_process_exit(void *unused, struct task_struct *p)
{
	TIPME_NEW_RECORD(tipme_exit, TIPME_EXIT, p->pid);

	r.pid = p->tgid;
	r.exit_code = p->exit_code;
	r.start_ns = p->start_time;
	tipme_record(&r);
}

static void on_sched_process_exec(void *unused, struct task_struct *p, pid_t old_tid,
				  struct linux_binprm *bprm)
{
	TIPME_NEW_RECORD(tipme_exec, TIPME_EXEC, p->pid);

	r.pid = p->tgid;
	r.old_tid = old_tid;
	r.start_ns = p->start_time;
	tipme_record(&r);
	/* A thread that calls a program for its process takes over the number of the first one. */
	this_cpu()->running_tid = p->pid;
}

static void on_task_rename(void *unused, struct task_struct *p, const char *comm)
{
	TIPME_NEW_RECORD(tipme_rename, TIPME_RENAME, p->pid);

	strscpy_pad(r.comm, comm, sizeof(r.comm));
	tipme_record(&r);
}

/* --- workers --- */

static void on_workqueue_queue_work(void *unused, int req_cpu, struct pool_workqueue *pwq,
				    struct work_struct *work)
{
	TIPME_NEW_RECORD(tipme_work_queued, TIPME_WORK_QUEUED, current->pid);
	u32 raiser = 0;

	r.work = (u64)work;
	r.function = (u64)work->func;
	r.cpu = tipme_work_cpu(pwq); /* -1: the workers of any */
	r.context = context_of(this_cpu(), current->pid, &raiser);
	tipme_record(&r);
}

static void on_workqueue_execute_start(void *unused, struct work_struct *work)
{
	TIPME_NEW_RECORD(tipme_work_start, TIPME_WORK_START, current->pid);

	r.work = (u64)work;
	r.function = (u64)work->func;
	tipme_record(&r);
}

/* The work item may be freed by now: its function comes as an argument. */
static void on_workqueue_execute_end(void *unused, struct work_struct *work, work_func_t function)
{
	TIPME_NEW_RECORD(tipme_work_end, TIPME_WORK_END, current->pid);

	r.work = (u64)work;
	r.function = (u64)function;
	tipme_record(&r);
}

/*
 * Interrupts before what takes their sums; exits before entries, so that no entry stays open that
 * was just seen.
 */
/* clang-format off */
#define PROBES(P) \
	P(irq_handler_exit, 0) P(irq_handler_entry, 0) P(softirq_exit, 0) P(softirq_entry, 0) \
	P(softirq_raise, 0) P(local_timer_exit, 0) P(local_timer_entry, 0) P(irq_work_exit, 0) \
	P(irq_work_entry, 0) PROBES_SMP(P) P(sched_switch, 1) P(sched_waking, 1) \
	P(sched_wakeup_new, 1) P(sched_process_fork, 1) P(sched_process_exit, 1) \
	P(sched_process_exec, 1) P(task_rename, 1) P(workqueue_queue_work, 0) \
	P(workqueue_execute_start, 0) P(workqueue_execute_end, 0)
#ifdef CONFIG_SMP
#define PROBES_SMP(P) \
	P(reschedule_exit, 0) P(reschedule_entry, 0) P(call_function_exit, 0) \
	P(call_function_entry, 0) P(call_function_single_exit, 0) P(call_function_single_entry, 0)
#else
#define PROBES_SMP(P)
#endif
/* clang-format on */

#define CHECK(name, is_needed) TIPME_PROBE_CHECK(name);
static void __maybe_unused check(void)
{
	PROBES(CHECK)
}

#define ROW(name, is_needed) TIPME_PROBE(name, TIPME_CLASS_CORE, is_needed),
static struct tipme_probe probes[] = { PROBES(ROW) };
struct tipme_probes tipme_scheduler_probes = { probes, ARRAY_SIZE(probes) };
