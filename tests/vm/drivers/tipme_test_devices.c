// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests in an emulated machine: devices that are slow when they are told to be, behind the
 * kernel's own ways to them. A bus (I2C) whose messages take their time, a device that takes long
 * to wake, events of the firmware (ACPI) without end. The parameters say so, in ms.
 */
#include <linux/acpi.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/i2c.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/version.h>

#define EVENT_TAKES_MS 400
#define EVENT_EVERY_MS 200

static unsigned int bus_ms = 1, wake_ms = 1;
module_param(bus_ms, uint, 0644);
module_param(wake_ms, uint, 0644);

/* A bus like that to a monitor. */
static int bus_transfer(struct i2c_adapter *adapter, struct i2c_msg *msgs, int n)
{
	msleep(bus_ms);
	return n;
}

static u32 bus_functions(struct i2c_adapter *adapter)
{
	return I2C_FUNC_I2C;
}

static const struct i2c_algorithm bus_algorithm = {
	.master_xfer = bus_transfer,
	.functionality = bus_functions,
};

static struct i2c_adapter bus = {
	.owner = THIS_MODULE,
	.name = "tipme_test",
	.algo = &bus_algorithm,
};

/* A device that sleeps as long as nobody opens it. */
static struct platform_device *sleeper;

static int sleeper_suspend(struct device *dev)
{
	return 0;
}

static int sleeper_resume(struct device *dev)
{
	msleep(wake_ms);
	return 0;
}

static const struct dev_pm_ops sleeper_pm = { SET_RUNTIME_PM_OPS(sleeper_suspend, sleeper_resume,
								 NULL) };

static struct platform_driver sleeper_driver = {
	.driver = { .name = "tipme_test_sleeper", .pm = &sleeper_pm },
};

static int sleeper_open(struct inode *inode, struct file *file)
{
	int err = pm_runtime_resume_and_get(&sleeper->dev);

	return err < 0 ? err : 0;
}

static int sleeper_close(struct inode *inode, struct file *file)
{
	pm_runtime_put(&sleeper->dev);
	return 0;
}

static ssize_t sleeper_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	return 0;
}

static const struct file_operations sleeper_files = {
	.owner = THIS_MODULE,
	.open = sleeper_open,
	.release = sleeper_close,
	.read = sleeper_read,
};

static struct miscdevice sleeper_door = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tipme-sleeper",
	.fops = &sleeper_files,
	.mode = 0666,
};

static int sleeper_begin(void)
{
	int err = platform_driver_register(&sleeper_driver);

	if (err)
		return err;
	sleeper = platform_device_register_simple("tipme_test_sleeper", -1, NULL, 0);
	if (IS_ERR(sleeper)) {
		platform_driver_unregister(&sleeper_driver);
		return PTR_ERR(sleeper);
	}
	pm_runtime_enable(&sleeper->dev);
	return misc_register(&sleeper_door);
}

static void sleeper_end(void)
{
	misc_deregister(&sleeper_door);
	pm_runtime_disable(&sleeper->dev);
	platform_device_unregister(sleeper);
	platform_driver_unregister(&sleeper_driver);
}

/* What the firmware reports in an interrupt is handled by a queue of the kernel's own. */
static struct hrtimer events;
static unsigned int events_left;

static void event(void *context)
{
	mdelay(EVENT_TAKES_MS);
}

static enum hrtimer_restart events_tick(struct hrtimer *t)
{
	acpi_os_execute(OSL_GPE_HANDLER, event, NULL);
	if (!events_left || !--events_left)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(t, ms_to_ktime(EVENT_EVERY_MS));
	return HRTIMER_RESTART;
}

static int events_set(const char *text, const struct kernel_param *p)
{
	unsigned int ms;
	int err = kstrtouint(text, 10, &ms);

	if (err)
		return err;
	events_left = ms / EVENT_TAKES_MS;
	if (events_left)
		hrtimer_start(&events, ms_to_ktime(1), HRTIMER_MODE_REL_HARD);
	return 0;
}

static const struct kernel_param_ops events_ops = { .set = events_set };
module_param_cb(events_ms, &events_ops, NULL, 0200);

static void events_begin(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&events, events_tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#else
	hrtimer_init(&events, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	events.function = events_tick;
#endif
}

static int __init devices_begin(void)
{
	int err;

	events_begin();
	err = sleeper_begin();
	if (err)
		return err;
	err = i2c_add_adapter(&bus);
	if (err)
		sleeper_end();
	return err;
}

static void __exit devices_end(void)
{
	i2c_del_adapter(&bus);
	sleeper_end();
	hrtimer_cancel(&events);
	acpi_os_wait_events_complete();
}

module_init(devices_begin);
module_exit(devices_end);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Pretends to be devices that are slow, for tests");
