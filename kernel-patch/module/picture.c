// SPDX-License-Identifier: GPL-2.0-only
/* A look at all threads, in the form of `thread` records. */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/cputime.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/uaccess.h>

#include "ring.h"

/* Threads looked at before others may run. */
#define BATCH 64

/*
 * First the numbers, in one short pass; then thread by thread, so that the machine is not held up
 * however many there are.
 */
static u32 tids_collect(pid_t *tid, u32 max)
{
	struct task_struct *process, *thread;
	u32 n = 0;

	rcu_read_lock();
	for_each_process_thread(process, thread)
	{
		if (n < max)
			tid[n] = thread->pid;
		n++;
	}
	rcu_read_unlock();
	return n;
}

static u64 cgroup_of(struct task_struct *p)
{
	u64 id = 0;

#ifdef CONFIG_CGROUP_SCHED
	/* The cgroup that CPU time is shared by: of the CPU controller, or else the unified one. */
	id = cgroup_id(task_css(p, cpu_cgrp_id)->cgroup);
#endif
#ifdef CONFIG_CGROUPS
	if (id <= 1)
		id = cgroup_id(task_dfl_cgroup(p));
#endif
	return id;
}

/* 0 in the first namespace, where the number is the one that everybody sees. */
static u32 ns_tid(struct task_struct *p)
{
	struct pid *pid = task_pid(p);

	return pid && pid->level ? pid->numbers[pid->level].nr : 0;
}

static u32 rss_kib(struct task_struct *p)
{
	unsigned long pages = 0;

	task_lock(p); /* p->mm stays */
	if (p->mm)
		pages = get_mm_rss(p->mm);
	task_unlock(p);
	return pages << (PAGE_SHIFT - 10);
}

static u8 state_of(struct task_struct *p)
{
	u32 state = READ_ONCE(p->__state);

	if (p->exit_state || state & TASK_DEAD)
		return TIPME_TASK_STATE_DEAD;
	if (READ_ONCE(p->on_cpu))
		return TIPME_TASK_STATE_RUNNING;
	/* as good as runnable */
	if (!state || state & (TASK_WAKING | TASK_NEW) || tipme_is_queued(p))
		return TIPME_TASK_STATE_RUNNABLE;
	return tipme_state_of_flags(state);
}

/*
 * pi_lock keeps a blocked thread blocked: so its state, the time since and its stack belong
 * together, and the stack stays.
 */
static void state_fill(struct tipme_thread *r, struct task_struct *p)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&p->pi_lock, flags);
	r->ts_ns = tipme_now();
	r->state = state_of(p);
	r->cpu = task_cpu(p);
	r->since_ns = tipme_state_since(p, r->state);
	if (tipme_is_blocked(r->state))
		r->stack_id = tipme_stack_of_sleeper(p, r->ts_ns);
	raw_spin_unlock_irqrestore(&p->pi_lock, flags);
}

static void entry_fill(struct tipme_picture_entry *e, struct task_struct *p)
{
	struct tipme_thread *r = &e->rec;

	memset(e, 0, sizeof(*e));
	r->type = TIPME_THREAD;
	r->len8 = sizeof(*r) / 8;
	r->tid = p->pid;
	r->pid = p->tgid;
	r->ppid = rcu_dereference(p->real_parent)->tgid;
	r->start_ns = p->start_time;
	r->uid = __kuid_val(task_uid(p));
	r->prio = p->prio;
	r->flags = p->flags & PF_KTHREAD ? 1 : 0;
	r->cgroup = cgroup_of(p);
	r->cpus_allowed = cpumask_bits(&p->cpus_mask)[0];
	r->ns_tid = ns_tid(p);
	r->run_ns = READ_ONCE(p->se.sum_exec_runtime);
	e->switches = READ_ONCE(p->nvcsw) + READ_ONCE(p->nivcsw);
	strscpy_pad(r->comm, p->comm, sizeof(r->comm));
	state_fill(r, p);
}

/* Fills what is still there of `n` threads. Returns how many. */
static u32 batch_fill(struct tipme_picture_entry *entry, const pid_t *tid, u32 n)
{
	u32 i, filled = 0;

	for (i = 0; i < n; i++) {
		struct task_struct *p;

		rcu_read_lock();
		p = pid_task(find_pid_ns(tid[i], &init_pid_ns), PIDTYPE_PID);
		if (p) {
			entry_fill(&entry[filled], p);
			entry[filled++].rec.rss_kib = rss_kib(p);
		}
		rcu_read_unlock();
	}
	return filled;
}

static long copy_all(struct tipme_picture_request *q, const pid_t *tid, u32 n,
		     struct tipme_picture_entry *batch)
{
	struct tipme_picture_entry __user *to = u64_to_user_ptr(q->entries);
	u32 i, filled;

	for (i = 0; i < n; i += BATCH) {
		filled = batch_fill(batch, tid + i, min_t(u32, BATCH, n - i));
		if (copy_to_user(to + q->filled, batch, filled * sizeof(*batch)))
			return -EFAULT;
		q->filled += filled;
		cond_resched();
	}
	return 0;
}

long tipme_picture_take(struct tipme_picture_request *q)
{
	u32 max = min_t(u32, q->max, PID_MAX_LIMIT);
	pid_t *tid = kvmalloc_array(max ?: 1, sizeof(*tid), GFP_KERNEL);
	struct tipme_picture_entry *batch = kvmalloc_array(BATCH, sizeof(*batch), GFP_KERNEL);
	long err = tid && batch ? 0 : -ENOMEM;

	q->filled = 0;
	if (!err) {
		q->begin_ns = tipme_now();
		q->seen = tids_collect(tid, max);
		err = copy_all(q, tid, min(q->seen, max), batch);
		q->end_ns = tipme_now();
	}
	kvfree(batch);
	kvfree(tid);
	return err;
}
