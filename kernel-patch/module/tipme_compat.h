/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs from kernel to kernel, each in one helper. Written for 6.1 to 6.12; newer ones as
 * far as they compile.
 */
#ifndef TIPME_COMPAT_H
#define TIPME_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sysctl.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 18, 0)
#error "tipme.ko needs Linux 5.18 or newer: its sched_switch tells the state that the scheduler went by"
#endif

/* 6.3, bc292ab00f6c ("mm: introduce vma->vm_flags wrapper functions"): vm_flags became read-only */
static inline void tipme_vma_never_write(struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_clear(vma, VM_MAYWRITE);
#else
	vma->vm_flags &= ~VM_MAYWRITE;
#endif
}

/* 6.11, 78eb4ea25cd5 ("sysctl: treewide: constify the ctl_table argument of proc_handlers") */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define TIPME_CTL const struct ctl_table
#else
#define TIPME_CTL struct ctl_table
#endif

/*
 * 6.11, acc154691fc7 ("sysctl: Warn on an empty procname element"): tables have no empty last
 * element any more
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define TIPME_CTL_END
#else
#define TIPME_CTL_END \
	{             \
	}
#endif

/*
 * 6.12, 152e11f6df29 ("sched/fair: Implement delayed dequeue"): a sleeper may stay queued for a
 * while; its state shows what it is
 */
static inline bool tipme_is_queued(struct task_struct *p)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	return READ_ONCE(p->on_rq) && !READ_ONCE(p->se.sched_delayed);
#else
	return READ_ONCE(p->on_rq);
#endif
}

/*
 * The tracepoint of queued work shows a structure that is private to kernel/workqueue.c. Its
 * beginning, and that of the pool which it names, are the same from 3.9 to at least 6.12; the
 * lock's size follows the kernel's configuration. Beyond that we do not look.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define TIPME_HAS_WORK_CPU 1
struct tipme_worker_pool {
	raw_spinlock_t lock;
	int cpu;
};

struct tipme_pool_workqueue {
	struct tipme_worker_pool *pool;
};

static inline int tipme_work_cpu(const void *pwq)
{
	int cpu = ((const struct tipme_pool_workqueue *)pwq)->pool->cpu;

	return cpu >= 0 && cpu < nr_cpu_ids ? cpu : -1;
}
#else
#define TIPME_HAS_WORK_CPU 0
static inline int tipme_work_cpu(const void *pwq)
{
	return -1;
}
#endif

/* 6.13, 908a1d775422 ("hrtimers: Introduce hrtimer_setup() to replace hrtimer_init()") */
static inline void tipme_hrtimer_setup(struct hrtimer *timer,
				       enum hrtimer_restart (*function)(struct hrtimer *),
				       enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, mode);
	timer->function = function;
#endif
}

#endif
