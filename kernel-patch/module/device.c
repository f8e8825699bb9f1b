// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/tipme: begins and ends recording, shares the ring, takes pictures, tells of triggers. See
 * docs/abi/dev-tipme.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/uaccess.h>

#include "tipme.h"

DEFINE_MUTEX(tipme_control);

static struct file *recorder; /* the file that began recording; under tipme_control */

static long info(void __user *to)
{
	struct tipme_info i = { .version = TIPME_INTERFACE };

	mutex_lock(&tipme_control);
	tipme_tracepoints_info(&i);
	i.flags |= recorder ? TIPME_INFO_RECORDING : 0;
	mutex_unlock(&tipme_control);
	i.flags |= tipme_hotkeys ? TIPME_INFO_HOTKEYS : 0;
	tipme_trigger_counts(&i);
	return copy_to_user(to, &i, sizeof(i)) ? -EFAULT : 0;
}

static long record_begin(struct file *file, struct tipme_start *s)
{
	int err;

	lockdep_assert_held(&tipme_control);
	if (recorder)
		return -EBUSY;
	err = tipme_ring_make(s);
	if (err)
		return err;
	err = tipme_classes_set(s->classes);
	if (!err)
		err = tipme_parts_start();
	if (err)
		tipme_ring_free();
	else
		recorder = file;
	return err;
}

static long start(struct file *file, void __user *arg)
{
	struct tipme_start s;
	long err;

	if (!perfmon_capable())
		return -EPERM;
	if (copy_from_user(&s, arg, sizeof(s)))
		return -EFAULT;
	mutex_lock(&tipme_control);
	err = record_begin(file, &s);
	mutex_unlock(&tipme_control);
	/* Who cannot be told how much there is to map closes the file, and that ends it. */
	if (!err && copy_to_user(arg, &s, sizeof(s)))
		err = -EFAULT;
	return err;
}

static long classes(void __user *arg)
{
	u32 mask;
	long err;

	if (copy_from_user(&mask, arg, sizeof(mask)))
		return -EFAULT;
	mutex_lock(&tipme_control);
	err = tipme_classes_set(mask);
	mutex_unlock(&tipme_control);
	return err;
}

/* Recording does not end meanwhile: the caller holds the file that it belongs to. */
static long picture(struct file *file, void __user *arg)
{
	struct tipme_picture_request q;
	long err;

	if (READ_ONCE(recorder) != file)
		return -ENODATA;
	if (copy_from_user(&q, arg, sizeof(q)))
		return -EFAULT;
	err = tipme_picture_take(&q);
	return err ?: copy_to_user(arg, &q, sizeof(q)) ? -EFAULT : 0;
}

/* As picture(): recording does not end meanwhile. */
static long stacks_old(struct file *file, void __user *arg)
{
	u64 before_ns;

	if (READ_ONCE(recorder) != file)
		return -ENODATA;
	if (copy_from_user(&before_ns, arg, sizeof(before_ns)))
		return -EFAULT;
	tipme_stacks_old(before_ns);
	return 0;
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *p = (void __user *)arg;

	switch (cmd) {
	case TIPME_IOC_INFO: return info(p);
	case TIPME_IOC_START: return start(file, p);
	case TIPME_IOC_CLASSES: return classes(p);
	case TIPME_IOC_PICTURE: return picture(file, p);
	case TIPME_IOC_STACKS_OLD: return stacks_old(file, p);
	}
	return tipme_parts_ioctl(file, cmd, arg);
}

static int device_mmap(struct file *file, struct vm_area_struct *vma)
{
	return READ_ONCE(recorder) == file ? tipme_ring_mmap(vma) : -ENODATA;
}

/* The last descriptor and the last mapping are gone: nobody reads the ring any more. */
static int device_release(struct inode *inode, struct file *file)
{
	tipme_trigger_fasync(-1, file, 0);
	mutex_lock(&tipme_control);
	if (recorder == file) {
		tipme_parts_stop();
		tipme_ring_free();
		recorder = NULL;
	}
	mutex_unlock(&tipme_control);
	return 0;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.read = tipme_trigger_read,
	.poll = tipme_trigger_poll,
	.fasync = tipme_trigger_fasync,
	.unlocked_ioctl = device_ioctl,
	.mmap = device_mmap,
	.release = device_release,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tipme",
	.fops = &operations,
	.mode = 0600,
};

int tipme_device_init(void)
{
	return misc_register(&device);
}

void tipme_device_exit(void)
{
	misc_deregister(&device);
}
