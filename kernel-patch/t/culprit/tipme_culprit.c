// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests of the cause sampler: again and again, it keeps one CPU from its threads for a while,
 * in a way of one's choice. Never load it elsewhere.
 */
#include <linux/console.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

static unsigned int cpu = 1, off_us = 2000, every_ms = 200;
module_param(cpu, uint, 0444);
module_param(off_us, uint, 0444);
module_param(every_ms, uint, 0444);
static char *how = "irqs_off";
module_param(how, charp, 0444);
MODULE_PARM_DESC(
	how,
	"irqs_off, softirq (a tasklet that begins again until the time is over), rcu (a long callback), printk (to a console that is slow)");

static struct task_struct *thread;

/*
 * By the clock, since udelay() goes by what a CPU measured of itself when it came up: in an
 * emulator, where nothing runs evenly, that may be a thousandth.
 */
static __always_inline void spin_us(unsigned int us)
{
	u64 end = ktime_get_mono_fast_ns() + (u64)us * NSEC_PER_USEC;
	unsigned int i;

	while (ktime_get_mono_fast_ns() < end)
		for (i = 0; i < 100; i++)
			cpu_relax();
}

static noinline void culprit_keeps_interrupts_off(void)
{
	unsigned long flags;

	local_irq_save(flags);
	spin_us(off_us);
	local_irq_restore(flags);
}

/* --- a storm of softirqs: twenty of them, each of which asks for the next --- */

static u64 storm_end;
static struct tasklet_struct storm;

static noinline void culprit_softirq_storm(unsigned long unused)
{
	spin_us(off_us / 20 + 1);
	if (ktime_get_mono_fast_ns() < READ_ONCE(storm_end))
		tasklet_hi_schedule(&storm);
}

/* --- a long callback of RCU --- */

static void culprit_rcu_callback(struct rcu_head *head);

static noinline void culprit_rcu_callback(struct rcu_head *head)
{
	spin_us(off_us);
	kfree(head);
}

static void rcu_begin(void)
{
	struct rcu_head *head = kmalloc(sizeof(*head), GFP_KERNEL);

	if (head)
		call_rcu(head, culprit_rcu_callback);
}

/* --- messages, with interrupts off, to a console that is slow: 100 characters in off_us --- */

static noinline void culprit_console_writes(struct console *con, const char *text, unsigned int len)
{
	spin_us(off_us / 100 * len);
}

static struct console slow = {
	.name = "culprit",
	.write = culprit_console_writes,
	.flags = CON_ENABLED,
	.index = -1,
};

static noinline void culprit_prints(void)
{
	unsigned long flags;

	local_irq_save(flags);
	pr_warn("tipme_culprit: this message is long, so that a serial line takes its time for it, as one of many does\n");
	local_irq_restore(flags);
}

static void once(void)
{
	if (!strcmp(how, "softirq")) {
		WRITE_ONCE(storm_end, ktime_get_mono_fast_ns() + (u64)off_us * NSEC_PER_USEC);
		tasklet_hi_schedule(&storm);
	} else if (!strcmp(how, "rcu")) {
		rcu_begin();
	} else if (!strcmp(how, "printk")) {
		culprit_prints();
	} else {
		culprit_keeps_interrupts_off();
	}
}

static int run(void *unused)
{
	while (!kthread_should_stop()) {
		msleep(every_ms);
		once();
	}
	return 0;
}

static int __init culprit_init(void)
{
	if (off_us > 20000)
		return -EINVAL;
	tasklet_init(&storm, culprit_softirq_storm, 0);
	thread = kthread_create_on_cpu(run, NULL, cpu, "culprit/%u");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	if (!strcmp(how, "printk"))
		register_console(&slow);
	wake_up_process(thread);
	return 0;
}

static void __exit culprit_exit(void)
{
	kthread_stop(thread);
	if (!strcmp(how, "printk"))
		unregister_console(&slow);
	tasklet_kill(&storm);
	rcu_barrier();
}

module_init(culprit_init);
module_exit(culprit_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Keeps a CPU from its threads, for tests");
