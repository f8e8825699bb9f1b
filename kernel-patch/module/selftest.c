// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writers of all contexts at once, for tests of the ring: a thread, a softirq, a timer's interrupt
 * and NMIs on each CPU write numbered records. Compiled only with TIPME_SELFTEST=1, or
 * CONFIG_TIPME_SELFTEST in a kernel's tree.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/uaccess.h>
#include <asm/apic.h>
#include <asm/nmi.h>

#include "ring.h"
#include "tipme_selftest_uapi.h"

#define PERIOD_NS 40000
#define AT_ONCE 16

struct writers {
	u64 number[TIPME_SELFTEST_CONTEXTS]; /* each written in its context only */
	struct task_struct *thread;
	struct tasklet_struct tasklet;
	struct hrtimer timer;
	int pending; /* an NMI was sent to this CPU, and its handler has not ended */
};

static DEFINE_PER_CPU(struct writers, writers);
static DEFINE_MUTEX(one_at_a_time);
static bool stop;

static void fill(struct tipme_selftest_record *r, enum tipme_selftest_context context)
{
	u64 number = this_cpu_ptr(&writers)->number[context]++;

	*r = (struct tipme_selftest_record){ .ts_ns = tipme_now(),
					     .type = TIPME_PROC_STATE,
					     .len8 = sizeof(*r) / 8,
					     .number = number };
	r->tid = TIPME_SELFTEST_TID(context, raw_smp_processor_id());
	r->proof = TIPME_SELFTEST_PROOF(r->tid, number);
}

/* A thread of its CPU, or an interrupt. */
static void write_one(enum tipme_selftest_context context)
{
	struct tipme_selftest_record r;

	fill(&r, context);
	tipme_record(&r);
}

/* As the probes of the scheduler do. */
static void write_irqs_off(enum tipme_selftest_context context)
{
	struct tipme_selftest_record r, *slot;
	struct tipme_kernel_cpu *c;
	unsigned long flags;
	u16 gen;

	local_irq_save(flags);
	c = __this_cpu_read(tipme_this_cpu);
	if (c) {
		fill(&r, context);
		slot = tipme_record_try_irqs_off(c, r.ts_ns, r.type, r.tid, &gen)
			       ?: tipme_record_begin_irqs_off(c, r.ts_ns, r.type, r.tid, &gen);
		if (slot) {
			slot->number = r.number;
			slot->proof = r.proof;
			tipme_pool_commit((void *)slot, gen);
		}
	}
	local_irq_restore(flags);
}

static int on_thread(void *unused)
{
	int i;

	while (!kthread_should_stop()) {
		for (i = 0; i < AT_ONCE && !READ_ONCE(stop); i++) {
			write_one(TIPME_SELFTEST_THREAD);
			write_irqs_off(TIPME_SELFTEST_THREAD);
		}
		if (READ_ONCE(stop))
			msleep(20);
		cond_resched();
	}
	return 0;
}

static void on_tasklet(struct tasklet_struct *unused)
{
	int i;

	for (i = 0; i < AT_ONCE; i++) {
		write_one(TIPME_SELFTEST_SOFTIRQ);
		write_irqs_off(TIPME_SELFTEST_SOFTIRQ);
	}
}

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	struct writers *w = this_cpu_ptr(&writers);
	int i;

	if (!READ_ONCE(w->pending))
		return NMI_DONE;
	for (i = 0; i < AT_ONCE; i++)
		write_one(TIPME_SELFTEST_NMI);
	smp_store_release(&w->pending, 0); /* partner: the sender's exchange */
	return NMI_HANDLED;
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	unsigned int cpu = cpumask_next(smp_processor_id(), cpu_online_mask);
	int i;

	if (READ_ONCE(stop))
		return HRTIMER_NORESTART;
	if (cpu >= nr_cpu_ids)
		cpu = cpumask_first(cpu_online_mask);
	if (cpu != smp_processor_id() && !xchg(&per_cpu_ptr(&writers, cpu)->pending, 1))
		apic->send_IPI(cpu, NMI_VECTOR);
	for (i = 0; i < AT_ONCE; i++)
		write_one(TIPME_SELFTEST_HARDIRQ);
	tasklet_hi_schedule(&this_cpu_ptr(&writers)->tasklet);
	hrtimer_forward_now(timer, ns_to_ktime(PERIOD_NS));
	return HRTIMER_RESTART;
}

/* On its CPU, so that the timer begins there. */
static void timer_begin(void *unused)
{
	struct writers *w = this_cpu_ptr(&writers);

	hrtimer_start(&w->timer, ns_to_ktime(PERIOD_NS), HRTIMER_MODE_REL_PINNED_HARD);
}

static int cpu_begin(unsigned int cpu)
{
	struct writers *w = per_cpu_ptr(&writers, cpu);

	tasklet_setup(&w->tasklet, on_tasklet);
	tipme_hrtimer_setup(&w->timer, on_timer, HRTIMER_MODE_REL_PINNED_HARD);
	w->thread = kthread_create_on_cpu(on_thread, NULL, cpu, "tipme-self/%u");
	if (IS_ERR(w->thread)) {
		int err = PTR_ERR(w->thread);

		w->thread = NULL;
		return err;
	}
	wake_up_process(w->thread);
	return smp_call_function_single(cpu, timer_begin, NULL, 1);
}

/*
 * `stop` is set: nothing begins anew. An NMI that is on its way is waited for, for nobody else
 * would know it.
 */
static void cpu_end(unsigned int cpu)
{
	struct writers *w = per_cpu_ptr(&writers, cpu);
	int i;

	hrtimer_cancel(&w->timer);
	tasklet_kill(&w->tasklet);
	if (w->thread)
		kthread_stop(w->thread);
	for (i = 0; i < 1000 && READ_ONCE(w->pending); i++)
		usleep_range(1000, 2000);
}

static u64 written(void)
{
	unsigned int cpu;
	u64 n = 0;
	int i;

	for_each_online_cpu(cpu) for (i = 0; i < TIPME_SELFTEST_CONTEXTS; i++) n +=
		READ_ONCE(per_cpu_ptr(&writers, cpu)->number[i]);
	return n;
}

static int run(u64 records)
{
	unsigned int cpu;
	int err = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "tipme_selftest");

	if (err)
		return err;
	WRITE_ONCE(stop, false);
	cpus_read_lock();
	/* All before any begins: the first one sends NMIs to the next. */
	for_each_online_cpu(cpu) memset(per_cpu_ptr(&writers, cpu), 0, sizeof(struct writers));
	for_each_online_cpu(cpu)
	{
		err = cpu_begin(cpu);
		if (err)
			break;
	}
	while (!err && written() < records)
		err = msleep_interruptible(20) ? -EINTR : 0;
	WRITE_ONCE(stop, true);
	for_each_online_cpu(cpu) cpu_end(cpu);
	cpus_read_unlock();
	unregister_nmi_handler(NMI_LOCAL, "tipme_selftest");
	return err;
}

long tipme_selftest_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct tipme_selftest __user *to = (void __user *)arg;
	unsigned int cpu;
	u64 records;
	long err;

	if (cmd != TIPME_IOC_SELFTEST)
		return -ENOIOCTLCMD;
	if (get_user(records, &to->records))
		return -EFAULT;
	mutex_lock(&one_at_a_time);
	err = run(records);
	for_each_online_cpu(cpu) if (!err && cpu < TIPME_SELFTEST_CPUS &&
				     copy_to_user(to->written[cpu],
						  per_cpu_ptr(&writers, cpu)->number,
						  sizeof(to->written[cpu]))) err = -EFAULT;
	mutex_unlock(&one_at_a_time);
	return err;
}
