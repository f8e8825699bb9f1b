// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests in an emulated machine, which has no idle driver: one whose deeper state is fit for
 * suspend-to-idle, as those of laptops are. Only then does the kernel stop its clock while it is
 * suspended to idle. It cannot be unloaded: a CPU may be in it.
 */
#include <asm/apic.h>
#include <linux/cpuidle.h>
#include <linux/irqflags.h>
#include <linux/module.h>

/* Called with interrupts off, and returns so; any interrupt ends the halt. */
static __cpuidle int idle_halt(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index)
{
	raw_safe_halt();
	raw_local_irq_disable();
	return index;
}

static __always_inline u32 requested(unsigned int word)
{
	u32 low, high;

	if (!x2apic_enabled())
		return *(volatile u32 *)(APIC_BASE + APIC_IRR + 16 * word);
	asm volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(APIC_BASE_MSR + APIC_IRR / 16 + word));
	return low;
}

/*
 * The clock stands still here, so no interrupt may be taken before this returns, not even for a
 * moment. Hardware waits for one with mwait; where that does not wait, as in an emulator with more
 * than one CPU, what is left is to look at what the CPU has been asked for.
 */
static __cpuidle int idle_suspended(struct cpuidle_device *dev, struct cpuidle_driver *drv,
				    int index)
{
	unsigned int word;

	for (;;) {
		for (word = 0; word < 8; word++)
			if (requested(word))
				return index;
		cpu_relax();
	}
}

static struct cpuidle_driver driver = {
	.name = "tipme_test",
	.states = {
		{ .name = "halt", .desc = "halt", .enter = idle_halt },
		{ .name = "deep",
		  .desc = "halt, fit for suspend-to-idle",
		  .exit_latency = 10,
		  .target_residency = 20,
		  .enter = idle_halt,
		  .enter_s2idle = idle_suspended },
	},
	.state_count = 2,
};

static int __init idle_begin(void)
{
	return cpuidle_register(&driver, NULL);
}

module_init(idle_begin);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Halts idle CPUs, for tests");
