// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests in an emulated machine, which has no frequency to change: two frequencies for each CPU
 * that change nothing but what the kernel says of them.
 */
#include <linux/cpufreq.h>
#include <linux/module.h>
#include <linux/percpu.h>

static struct cpufreq_frequency_table frequencies[] = {
	{ .frequency = 800000 },
	{ .frequency = 2400000 },
	{ .frequency = CPUFREQ_TABLE_END },
};

static DEFINE_PER_CPU(unsigned int, current_khz) = 2400000;

/* Each CPU for itself: the record must name the right one. */
static int frequency_init(struct cpufreq_policy *policy)
{
	policy->freq_table = frequencies;
	policy->cpuinfo.transition_latency = 1000;
	policy->cur = per_cpu(current_khz, policy->cpu);
	return 0;
}

static int frequency_set(struct cpufreq_policy *policy, unsigned int index)
{
	per_cpu(current_khz, policy->cpu) = frequencies[index].frequency;
	return 0;
}

static unsigned int frequency_get(unsigned int cpu)
{
	return per_cpu(current_khz, cpu);
}

static struct cpufreq_driver driver = {
	.name = "tipme_test",
	.init = frequency_init,
	.verify = cpufreq_generic_frequency_table_verify,
	.target_index = frequency_set,
	.get = frequency_get,
};

static int __init frequency_begin(void)
{
	return cpufreq_register_driver(&driver);
}

static void __exit frequency_end(void)
{
	cpufreq_unregister_driver(&driver);
}

module_init(frequency_begin);
module_exit(frequency_end);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Pretends that CPUs have two frequencies, for tests");
