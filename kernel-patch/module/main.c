// SPDX-License-Identifier: GPL-2.0-only
/*
 * tipme.ko: an interactive-latency flight recorder. This is the table of its parts, and the order
 * in which they begin and end.
 */
#include <linux/module.h>
#include <linux/mutex.h>

#include "latency.h"
#include "tipme.h"

/*
 * In order of initialisation; everything goes in the reverse order. The trigger first: all others
 * may pull it. The device late: from then on user space comes in. What only writes while recording
 * has start and stop.
 */
static const struct tipme_part parts[] = {
	{ "trigger", .init = tipme_trigger_init, .exit = tipme_trigger_exit },
	{ "tracepoints", .init = tipme_tracepoints_init, .start = tipme_tracepoints_start,
	  .stop = tipme_tracepoints_stop },
	{ "faults", .init = tipme_faults_init, .exit = tipme_faults_exit },
	{ "input", .init = tipme_input_init, .exit = tipme_input_exit },
	{ "sysctl", .init = tipme_sysctl_init, .exit = tipme_sysctl_exit },
	{ "latency", .init = tipme_latency_init, .exit = tipme_latency_exit },
	{ "device", .init = tipme_device_init, .exit = tipme_device_exit },
#ifdef TIPME_SELFTEST
	{ "selftest", .ioctl = tipme_selftest_ioctl },
#endif
};

static int fail_at = -1;
module_param(fail_at, int, 0);
MODULE_PARM_DESC(fail_at, "number of the part whose initialisation is to fail (0 to 6), for tests");

static void parts_exit(int n)
{
	while (n-- > 0)
		if (parts[n].exit)
			parts[n].exit();
}

static int part_init(int i)
{
	if (i == fail_at)
		return -ECANCELED;
	return parts[i].init ? parts[i].init() : 0;
}

static int __init tipme_init(void)
{
	int i, err;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		err = part_init(i);
		if (err) {
			pr_err("%s cannot begin (%d): the module is not loaded\n", parts[i].name,
			       err);
			parts_exit(i);
			return err;
		}
	}
	return 0;
}

/* No file is open: recording has ended. */
static void __exit tipme_exit(void)
{
	parts_exit(ARRAY_SIZE(parts));
}

static void parts_stop(int n)
{
	while (n-- > 0)
		if (parts[n].stop)
			parts[n].stop();
}

int tipme_parts_start(void)
{
	int i, err;

	lockdep_assert_held(&tipme_control);
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		err = parts[i].start ? parts[i].start() : 0;
		if (err) {
			pr_err("%s cannot record (%d)\n", parts[i].name, err);
			parts_stop(i);
			return err;
		}
	}
	return 0;
}

void tipme_parts_stop(void)
{
	lockdep_assert_held(&tipme_control);
	parts_stop(ARRAY_SIZE(parts));
}

long tipme_parts_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	long ret = -ENOIOCTLCMD;
	int i;

	for (i = 0; i < ARRAY_SIZE(parts) && ret == -ENOIOCTLCMD; i++)
		if (parts[i].ioctl)
			ret = parts[i].ioctl(file, cmd, arg);
	return ret;
}

module_init(tipme_init);
module_exit(tipme_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Flight recorder for interactive latency");
MODULE_VERSION("0.1.0");
