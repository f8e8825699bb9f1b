// SPDX-License-Identifier: GPL-2.0-only
/*
 * Triggers: from any context into a few places, from there by irq_work to whoever reads, polls or
 * wants a signal.
 */
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "tipme.h"

/*
 * One place for each kind. Who finds it taken adds nothing: there is a trigger of that kind that
 * nobody has read yet. `claimed` is set before the place is filled in, `ready` after; the reader
 * takes ready away, reads, and then takes claimed away.
 */
#define PLACES 8

static struct tipme_trigger_event place[PLACES];
static unsigned long claimed, ready;
static atomic64_t taken, refused;
static DECLARE_WAIT_QUEUE_HEAD(waiting);
static struct fasync_struct *fasync;

/*
 * Triggers come while run queues are locked and from NMIs: nobody may be woken there. On real-time
 * kernels this runs in a thread, as the locks of wait queues and fasync demand.
 */
static void tell(struct irq_work *work)
{
	wake_up_interruptible(&waiting);
	kill_fasync(&fasync, SIGIO, POLL_IN);
}

static DEFINE_IRQ_WORK(teller, tell);

static unsigned int place_of(enum tipme_trigger_reason reason, u32 value)
{
	return reason == TIPME_TRIGGER_KEY ? 3 + (value - 1) % 4 : reason - TIPME_TRIGGER_SYSCTL;
}

void tipme_trigger(enum tipme_trigger_reason reason, u32 value, u64 measured_ns)
{
	unsigned int i = place_of(reason, value);

	if (test_and_set_bit(i, &claimed))
		return;
	place[i] = (struct tipme_trigger_event){
		.ts_ns = tipme_now(),
		.reason = reason,
		.value = value,
		.measured_ns = measured_ns,
	};
	atomic64_inc(&taken);
	/*
	 * the place before ready; partner: test_and_clear_bit() of the reader, which orders fully
	 */
	smp_mb__before_atomic();
	set_bit(i, &ready);
	irq_work_queue(&teller);
}

static bool take(struct tipme_trigger_event *event)
{
	unsigned int i;

	for (i = 0; i < PLACES; i++) {
		if (!test_and_clear_bit(i, &ready))
			continue;
		*event = place[i];
		clear_bit_unlock(i, &claimed);
		return true;
	}
	return false;
}

ssize_t tipme_trigger_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	struct tipme_trigger_event event;
	int err;

	if (len < sizeof(event))
		return -EINVAL;
	while (!take(&event)) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_event_interruptible(waiting, READ_ONCE(ready));
		if (err)
			return err;
	}
	return copy_to_user(to, &event, sizeof(event)) ? -EFAULT : sizeof(event);
}

__poll_t tipme_trigger_poll(struct file *file, struct poll_table_struct *wait)
{
	poll_wait(file, &waiting, wait);
	return READ_ONCE(ready) ? EPOLLIN | EPOLLRDNORM : 0;
}

int tipme_trigger_fasync(int fd, struct file *file, int on)
{
	return fasync_helper(fd, file, on, &fasync);
}

void tipme_trigger_refused(void)
{
	atomic64_inc(&refused);
}

void tipme_trigger_counts(struct tipme_info *info)
{
	info->triggers = atomic64_read(&taken);
	info->triggers_refused = atomic64_read(&refused);
}

int tipme_trigger_init(void)
{
	return 0;
}

/*
 * The last part to end: nobody triggers any more, and no file is open; but the last telling may
 * still be on its way.
 */
void tipme_trigger_exit(void)
{
	irq_work_sync(&teller);
}
