// SPDX-License-Identifier: GPL-2.0-only
/* For tests of the cause sampler: a thread that, again and again, keeps one CPU's interrupts off for a while. Never load it elsewhere. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/timekeeping.h>

static unsigned int cpu = 1, off_us = 2000, every_ms = 200;
module_param(cpu, uint, 0444);
module_param(off_us, uint, 0444);
module_param(every_ms, uint, 0444);

static struct task_struct *thread;

/* By the clock, since udelay() goes by what a CPU measured of itself when it came up: in an emulator, where nothing runs evenly, that may be a thousandth. */
static noinline void culprit_keeps_interrupts_off(void)
{
	unsigned long flags;
	unsigned int i;
	u64 end;

	local_irq_save(flags);
	end = ktime_get_mono_fast_ns() + (u64)off_us * NSEC_PER_USEC;
	while (ktime_get_mono_fast_ns() < end)
		for (i = 0; i < 100; i++)
			cpu_relax();
	local_irq_restore(flags);
}

static int run(void *unused)
{
	while (!kthread_should_stop()) {
		msleep(every_ms);
		culprit_keeps_interrupts_off();
	}
	return 0;
}

static int __init culprit_init(void)
{
	if (off_us > 20000)
		return -EINVAL;
	thread = kthread_create_on_cpu(run, NULL, cpu, "culprit/%u");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	wake_up_process(thread);
	return 0;
}

static void __exit culprit_exit(void)
{
	kthread_stop(thread);
}

module_init(culprit_init);
module_exit(culprit_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Keeps interrupts off, for tests");
