// SPDX-License-Identifier: GPL-2.0-only
/*
 * The latency driver: a timer with a known expiry on each CPU, and how late what follows from it
 * is, stage by stage.
 */
#include <linux/capability.h>
#include <linux/cpuhotplug.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/swait.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <uapi/linux/sched/types.h>

#include "latency.h"

/*
 * An expiry goes from stage to stage: hard interrupt, deferred work, threads. Deferred work is a
 * tasklet of high priority: what a driver uses whose interrupt handler must be short. It runs in
 * the first softirq vector when the interrupt returns, unless softirqs are off or ksoftirqd has
 * taken over; on real-time kernels always in a thread. An irq_work would be a second hard
 * interrupt, so it would not show what defers, and threaded interrupts and workqueues are threads,
 * which we measure as such.
 *
 * Between two stages lies one place, with a flag: who fills it sets the flag with release, who has
 * emptied it clears it with release. A later expiry that finds the place taken goes no further and
 * is counted: the one on its way is the one whose latency matters, and what is late is measured to
 * its end, however long it takes.
 */
struct shot {
	u64 expiry_ns;
	u64 irq_ns, deferred_ns;
	u64 from_ns; /* the stage before ended */
};

/* Counted by one context on one CPU; read by anybody, each number by itself. */
struct histogram {
	u64 count, sum_ns, min_ns, max_ns, max_expiry_ns, over, skipped;
	u64 bucket[TIPME_LATENCY_BUCKETS];
};

struct thread {
	struct task_struct *task;
	struct cpu_latency *cpu;
	enum tipme_latency_stage stage;
	u8 priority;
	bool taken;
	struct shot shot;
};

/* The place of the thread in user space. */
enum { USER_AWAY, USER_WAITS, USER_TAKEN };

struct cpu_latency {
	unsigned int number;
	bool live; /* between up and down */
	unsigned int downs; /* who slept over one finds another number */
	struct hrtimer timer;
	struct tasklet_struct deferred;
	bool deferred_taken;
	struct shot shot;
	struct thread thread[2];
	struct swait_queue_head wait;
	int user;
	unsigned long user_busy; /* bit 0: a thread is inside the ioctl */
	struct shot user_shot;
	struct histogram *histogram; /* one for each stage; kept until the file is closed */
	/* all below: of threads that copy causes, and of the ioctl that takes them */
	struct mutex causes_mutex;
	struct tipme_latency_causes causes;
	struct tipme_latency_sample *samples;
	u32 sample_count;
	bool causes_kept;
};

/* Samples kept for one latency: 4096 at 10 kHz are 400 ms. */
#define CAUSES 4096

static DEFINE_PER_CPU(struct cpu_latency, latencies);
static DEFINE_MUTEX(control);
static struct file *owner; /* under control */
static struct tipme_latency_start options; /* constant while CPUs are up */
static ktime_t period;
static u64 threshold_ns; /* 0: none */
static int hotplug_state;

static void count(struct histogram *h, u64 ns, u64 expiry_ns)
{
	u64 *bucket = &h->bucket[tipme_latency_bucket(ns)];

	WRITE_ONCE(*bucket, *bucket + 1);
	WRITE_ONCE(h->sum_ns, h->sum_ns + ns);
	if (!h->count || ns < h->min_ns)
		WRITE_ONCE(h->min_ns, ns);
	if (!h->count || ns > h->max_ns) {
		WRITE_ONCE(h->max_expiry_ns, expiry_ns);
		WRITE_ONCE(h->max_ns, ns);
	}
	WRITE_ONCE(h->count, h->count + 1);
}

static void skip(struct cpu_latency *l, enum tipme_latency_stage stage, u64 n)
{
	WRITE_ONCE(l->histogram[stage].skipped, l->histogram[stage].skipped + n);
}

static enum tipme_latency_stage total_of(enum tipme_latency_stage stage)
{
	return stage - TIPME_STAGE_HIGH + TIPME_STAGE_TOTAL_HIGH;
}

static u32 ns32(u64 ns)
{
	return min_t(u64, ns, U32_MAX);
}

/* --- over the threshold --- */

static void record(const struct cpu_latency *l, const struct shot *shot, u64 thread_ns, u8 priority)
{
	struct tipme_latency r = {
		.ts_ns = shot->expiry_ns,
		.type = TIPME_LATENCY,
		.tid = current->pid,
		.irq_ns = ns32(shot->irq_ns),
		.deferred_ns = ns32(shot->deferred_ns),
		.thread_ns = ns32(thread_ns),
		.cpu = l->number,
		.rt_priority = priority,
		.over = 1,
	};

	tipme_record(&r);
}

static void record_user(const struct cpu_latency *l, const struct shot *shot, u64 user_ns,
			u8 priority)
{
	struct tipme_latency_user r = {
		.ts_ns = shot->expiry_ns + shot->irq_ns + shot->deferred_ns + user_ns,
		.type = TIPME_LATENCY_USER,
		.tid = current->pid,
		.user_ns = ns32(user_ns),
		.cpu = l->number,
		.rt_priority = priority,
		.over = 1,
		.expiry_ns = shot->expiry_ns,
	};

	tipme_record(&r);
}

/*
 * In the late thread, bound to its CPU. Causes that nobody has taken stay; the samples go into the
 * ring all the same.
 */
static void causes_keep(struct cpu_latency *l, const struct shot *shot,
			enum tipme_latency_stage stage, u64 stage_ns, u64 end_ns)
{
	u32 lost = 0, n;

	mutex_lock(&l->causes_mutex);
	n = tipme_sampler_copy(shot->expiry_ns, end_ns, l->samples, l->causes_kept ? 0 : CAUSES,
			       &lost);
	if (!l->causes_kept) {
		l->sample_count = n;
		l->causes = (struct tipme_latency_causes){
			.cpu = l->number,
			.lost = lost,
			.expiry_ns = shot->expiry_ns,
			.irq_ns = ns32(shot->irq_ns),
			.deferred_ns = ns32(shot->deferred_ns),
			.thread_ns = ns32(stage_ns),
			.stage = stage,
		};
		l->causes_kept = true;
	}
	mutex_unlock(&l->causes_mutex);
}

/* Counts a thread's stage and its sum, and does what is due above the threshold. In that thread. */
static void arrived(struct cpu_latency *l, const struct shot *shot, enum tipme_latency_stage stage,
		    u64 now, u8 priority)
{
	u64 ns = now > shot->from_ns ? now - shot->from_ns : 0,
	    total = shot->irq_ns + shot->deferred_ns + ns;
	struct histogram *sum = &l->histogram[total_of(stage)];

	count(&l->histogram[stage], ns, shot->expiry_ns);
	count(sum, total, shot->expiry_ns);
	if (!threshold_ns || total <= threshold_ns)
		return;
	WRITE_ONCE(sum->over, sum->over + 1);
	if (stage == TIPME_STAGE_USER)
		record_user(l, shot, ns, priority);
	else
		record(l, shot, ns, priority);
	causes_keep(l, shot, stage, ns, now);
	tipme_trigger(TIPME_TRIGGER_LATENCY, l->number, total);
}

/* --- the stages --- */

/* Hard interrupt, also on real-time kernels. The clock first: what comes after is not latency. */
static enum hrtimer_restart on_expiry(struct hrtimer *timer)
{
	u64 now = ktime_get_ns();
	struct cpu_latency *l = container_of(timer, struct cpu_latency, timer);
	u64 expiry = ktime_to_ns(hrtimer_get_expires(timer)),
	    late = now > expiry ? now - expiry : 0;
	/* from the expiry, so nothing drifts */
	u64 passed = hrtimer_forward(timer, ns_to_ktime(now), period);

	count(&l->histogram[TIPME_STAGE_IRQ], late, expiry);
	if (passed > 1)
		skip(l, TIPME_STAGE_IRQ, passed - 1);
	tipme_sampler_timer();
	/* partner: the tasklet's store, after its last look at the shot */
	if (smp_load_acquire(&l->deferred_taken)) {
		skip(l, TIPME_STAGE_DEFERRED, 1);
		return HRTIMER_RESTART;
	}
	l->shot = (struct shot){ .expiry_ns = expiry, .irq_ns = late, .from_ns = now };
	/* after the shot; partner: the next expiry's load, scheduling orders for the tasklet */
	smp_store_release(&l->deferred_taken, true);
	tasklet_hi_schedule(&l->deferred);
	return HRTIMER_RESTART;
}

static void thread_wake(struct cpu_latency *l, struct thread *t)
{
	/* partner: the thread's store, after its last look at the shot */
	if (smp_load_acquire(&t->taken)) {
		skip(l, t->stage, 1);
		return;
	}
	t->shot = l->shot;
	t->shot.from_ns = ktime_get_ns();
	/* partner: the thread's load; wake_up_process() orders against its set_current_state() */
	smp_store_release(&t->taken, true);
	wake_up_process(t->task);
}

static void user_wake(struct cpu_latency *l)
{
	/* partner: the waiter's stores, after its last look at the shot */
	int state = smp_load_acquire(&l->user);

	if (state == USER_WAITS) {
		l->user_shot = l->shot;
		l->user_shot.from_ns = ktime_get_ns();
		/* A signal may have taken the waiter away meanwhile. */
		if (cmpxchg_release(&l->user, USER_WAITS, USER_TAKEN) == USER_WAITS)
			swake_up_one(&l->wait);
	} else if (state == USER_TAKEN) {
		skip(l, TIPME_STAGE_USER, 1);
	}
}

static void on_deferred(struct tasklet_struct *tasklet)
{
	u64 now = ktime_get_ns();
	struct cpu_latency *l = from_tasklet(l, tasklet, deferred);
	struct shot *shot = &l->shot;

	shot->deferred_ns = now > shot->from_ns ? now - shot->from_ns : 0;
	count(&l->histogram[TIPME_STAGE_DEFERRED], shot->deferred_ns, shot->expiry_ns);
	count(&l->histogram[TIPME_STAGE_IRQ_DEFERRED], shot->irq_ns + shot->deferred_ns,
	      shot->expiry_ns);
	thread_wake(l, &l->thread[0]);
	thread_wake(l, &l->thread[1]);
	user_wake(l);
	smp_store_release(&l->deferred_taken, false); /* partner: the expiry's load */
}

static int thread_run(void *data)
{
	struct thread *t = data;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		if (!smp_load_acquire(&t->taken)) { /* partner: the waker's store, after the shot */
			schedule();
			continue;
		}
		__set_current_state(TASK_RUNNING);
		arrived(t->cpu, &t->shot, t->stage, ktime_get_ns(), t->priority);
		smp_store_release(&t->taken, false); /* partner: the waker's load */
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* --- CPUs come and go --- */

static int thread_start(struct cpu_latency *l, struct thread *t, enum tipme_latency_stage stage,
			u8 priority, const char *name)
{
	struct sched_attr attr = { .size = sizeof(attr),
				   .sched_policy = SCHED_FIFO,
				   .sched_priority = priority };
	int err;

	t->cpu = l;
	t->stage = stage;
	t->priority = priority;
	t->taken = false;
	t->task = kthread_create_on_cpu(thread_run, t, l->number, name);
	if (IS_ERR(t->task))
		return PTR_ERR(t->task);
	err = sched_setattr_nocheck(t->task, &attr);
	if (err) {
		kthread_stop(t->task);
		return err;
	}
	wake_up_process(t->task);
	return 0;
}

static int memory_make(struct cpu_latency *l)
{
	if (!l->histogram)
		l->histogram = vzalloc(array_size(TIPME_STAGES, sizeof(*l->histogram)));
	if (!l->samples && options.sample_us)
		l->samples = vmalloc(array_size(CAUSES, sizeof(*l->samples)));
	return l->histogram && (l->samples || !options.sample_us) ? 0 : -ENOMEM;
}

/* On the CPU itself. */
static int latency_cpu_up(unsigned int cpu)
{
	struct cpu_latency *l = per_cpu_ptr(&latencies, cpu);
	int err = memory_make(l);

	if (err)
		return err;
	l->number = cpu;
	l->deferred_taken = false;
	l->user = USER_AWAY;
	err = thread_start(l, &l->thread[0], TIPME_STAGE_HIGH, options.high_priority,
			   "tipme-high/%u");
	if (err)
		return err;
	err = thread_start(l, &l->thread[1], TIPME_STAGE_MEDIUM, options.medium_priority,
			   "tipme-medium/%u");
	if (err)
		goto err_medium;
	err = tipme_sampler_cpu_up(cpu);
	if (err)
		goto err_sampler;
	tasklet_setup(&l->deferred, on_deferred);
	tipme_hrtimer_setup(&l->timer, on_expiry, HRTIMER_MODE_ABS_PINNED_HARD);
	smp_store_release(&l->live, true); /* what was set up goes before */
	hrtimer_start(&l->timer, ktime_add(ktime_get(), period), HRTIMER_MODE_ABS_PINNED_HARD);
	return 0;

err_sampler:
	kthread_stop(l->thread[1].task);
err_medium:
	kthread_stop(l->thread[0].task);
	return err;
}

/*
 * What makes the next thing goes first: the timer schedules the tasklet, and that wakes the
 * threads. Threads copy samples.
 */
static int latency_cpu_down(unsigned int cpu)
{
	struct cpu_latency *l = per_cpu_ptr(&latencies, cpu);

	hrtimer_cancel(&l->timer);
	tasklet_kill(&l->deferred);
	WRITE_ONCE(l->downs, l->downs + 1);
	WRITE_ONCE(l->live, false);
	swake_up_all(&l->wait);
	kthread_stop(l->thread[1].task);
	kthread_stop(l->thread[0].task);
	/* The thread in user space is not ours to stop: it copies samples, or finds none. */
	mutex_lock(&l->causes_mutex);
	tipme_sampler_cpu_down(cpu);
	mutex_unlock(&l->causes_mutex);
	return 0;
}

/* --- the device --- */

static int options_check(const struct tipme_latency_start *s)
{
	if (s->period_us < 100 || s->period_us > 1000000)
		return -EINVAL;
	if (s->sample_us && (s->sample_us < 50 || s->sample_us > 100000))
		return -EINVAL;
	if (!s->medium_priority || s->medium_priority >= s->high_priority || s->high_priority > 98)
		return -EINVAL;
	return 0;
}

static int measure_begin(struct file *file, struct tipme_latency_start *s)
{
	int state;

	lockdep_assert_held(&control);
	if (owner)
		return -EBUSY;
	s->sample_kind = tipme_sampler_open(s->sample_us);
	options = *s;
	period = ns_to_ktime((u64)s->period_us * NSEC_PER_USEC);
	threshold_ns = (u64)s->threshold_us * NSEC_PER_USEC;
	state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "tipme/latency:online", latency_cpu_up,
				  latency_cpu_down);
	if (state < 0) {
		tipme_sampler_close();
		return state;
	}
	hotplug_state = state;
	/*
	 * Last: until then no ioctl of the file comes to the memory, which the caller frees where
	 * this failed. Partner: cpu_of().
	 */
	smp_store_release(&owner, file);
	return 0;
}

static void memory_free(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
	{
		struct cpu_latency *l = per_cpu_ptr(&latencies, cpu);

		vfree(l->histogram);
		vfree(l->samples);
		l->histogram = NULL;
		l->samples = NULL;
		l->causes_kept = false;
	}
}

static long start(struct file *file, struct tipme_latency_start __user *arg)
{
	struct tipme_latency_start s;
	long err;

	if (!perfmon_capable())
		return -EPERM;
	if (copy_from_user(&s, arg, sizeof(s)))
		return -EFAULT;
	err = options_check(&s);
	if (err)
		return err;
	mutex_lock(&control);
	err = measure_begin(file, &s);
	if (err && err != -EBUSY)
		memory_free();
	mutex_unlock(&control);
	if (!err && copy_to_user(arg, &s, sizeof(s)))
		err = -EFAULT;
	return err;
}

/*
 * The CPU, if the file measures and the CPU ever did. Its memory stays as long as the file, which
 * the caller holds.
 */
static struct cpu_latency *cpu_of(struct file *file, u32 cpu)
{
	struct cpu_latency *l;

	/* Partner: measure_begin(). */
	if (smp_load_acquire(&owner) != file)
		return ERR_PTR(-ENODATA);
	if (cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return ERR_PTR(-EINVAL);
	l = per_cpu_ptr(&latencies, cpu);
	return READ_ONCE(l->histogram) ? l : ERR_PTR(-ENODATA);
}

static long read(struct file *file, struct tipme_latency_read __user *arg)
{
	struct tipme_latency_read r;
	const struct histogram *h;
	struct cpu_latency *l;

	if (copy_from_user(&r, arg, sizeof(r)))
		return -EFAULT;
	l = cpu_of(file, r.cpu);
	if (IS_ERR(l))
		return PTR_ERR(l);
	if (r.stage >= TIPME_STAGES)
		return -EINVAL;
	h = &l->histogram[r.stage];
	r.count = READ_ONCE(h->count);
	r.sum_ns = READ_ONCE(h->sum_ns);
	r.min_ns = READ_ONCE(h->min_ns);
	r.max_ns = READ_ONCE(h->max_ns);
	r.max_expiry_ns = READ_ONCE(h->max_expiry_ns);
	r.over = READ_ONCE(h->over);
	r.skipped = READ_ONCE(h->skipped);
	if (r.buckets && copy_to_user(u64_to_user_ptr(r.buckets), h->bucket, sizeof(h->bucket)))
		return -EFAULT;
	return copy_to_user(arg, &r, sizeof(r)) ? -EFAULT : 0;
}

/*
 * The way of the last shot ended when the thread looked at its clock; a time that cannot be is not
 * counted.
 */
static void user_arrived(struct cpu_latency *l, const struct tipme_latency_wait *w)
{
	u64 now = ktime_get_ns();

	if (w->seen_ns >= l->user_shot.from_ns && w->seen_ns <= now)
		arrived(l, &l->user_shot, TIPME_STAGE_USER, w->seen_ns,
			min_t(u32, w->rt_priority, 99));
}

/* The CPU went away, and may be back already. */
static bool user_left(const struct cpu_latency *l, unsigned int downs)
{
	return !READ_ONCE(l->live) || READ_ONCE(l->downs) != downs;
}

static long user_sleep(struct cpu_latency *l, struct tipme_latency_wait *w)
{
	unsigned int downs = READ_ONCE(l->downs);
	int err;

	/* partner: the waker's load: what is left of the last shot was read */
	smp_store_release(&l->user, USER_WAITS);
	err = swait_event_interruptible_exclusive(
		l->wait,
		/* partner of the load: the waker's exchange, after the shot */
		smp_load_acquire(&l->user) == USER_TAKEN || user_left(l, downs));
	if (err) {
		smp_store_release(&l->user, USER_AWAY); /* partner: the waker's load */
		return err;
	}
	if (user_left(l, downs))
		return -ENODEV;
	w->expiry_ns = l->user_shot.expiry_ns;
	w->woken_ns = l->user_shot.from_ns;
	return 0;
}

static long wait(struct file *file, struct tipme_latency_wait __user *arg)
{
	struct tipme_latency_wait w;
	struct cpu_latency *l;
	long err;

	if (copy_from_user(&w, arg, sizeof(w)))
		return -EFAULT;
	l = cpu_of(file, w.cpu);
	if (IS_ERR(l))
		return PTR_ERR(l);
	/* Its samples and its latency are those of one CPU. */
	if (cpumask_weight(current->cpus_ptr) != 1 || !cpumask_test_cpu(w.cpu, current->cpus_ptr))
		return -EXDEV;
	if (test_and_set_bit_lock(0, &l->user_busy))
		return -EBUSY;
	if (w.seen_ns && READ_ONCE(l->user) == USER_TAKEN)
		user_arrived(l, &w);
	err = READ_ONCE(l->live) ? user_sleep(l, &w) : -ENODEV;
	clear_bit_unlock(0, &l->user_busy);
	return err ?: copy_to_user(arg, &w, sizeof(w)) ? -EFAULT : 0;
}

static long causes(struct file *file, struct tipme_latency_causes __user *arg)
{
	struct tipme_latency_causes c;
	struct cpu_latency *l;
	u32 max;
	u64 samples;
	long err = 0;

	if (copy_from_user(&c, arg, sizeof(c)))
		return -EFAULT;
	l = cpu_of(file, c.cpu);
	if (IS_ERR(l))
		return PTR_ERR(l);
	samples = c.samples;
	max = c.max;
	mutex_lock(&l->causes_mutex);
	if (!l->causes_kept) {
		err = -ENODATA;
		goto out;
	}
	c = l->causes;
	c.samples = samples;
	c.max = max;
	c.count = min(max, l->sample_count);
	c.lost += l->sample_count - c.count;
	if (copy_to_user(u64_to_user_ptr(samples), l->samples, c.count * sizeof(*l->samples)) ||
	    copy_to_user(arg, &c, sizeof(c)))
		err = -EFAULT;
	else
		l->causes_kept = false;
out:
	mutex_unlock(&l->causes_mutex);
	return err;
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *p = (void __user *)arg;

	switch (cmd) {
	case TIPME_IOC_LATENCY_START: return start(file, p);
	case TIPME_IOC_LATENCY_READ: return read(file, p);
	case TIPME_IOC_LATENCY_WAIT: return wait(file, p);
	case TIPME_IOC_LATENCY_CAUSES: return causes(file, p);
	}
	return -ENOTTY;
}

/* No ioctl of this file is under way. */
static int device_release(struct inode *inode, struct file *file)
{
	mutex_lock(&control);
	if (owner == file) {
		cpuhp_remove_state(hotplug_state); /* all CPUs go down */
		tipme_sampler_close();
		memory_free();
		WRITE_ONCE(owner, NULL);
	}
	mutex_unlock(&control);
	return 0;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = device_ioctl,
	.release = device_release,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tipme-latency",
	.fops = &operations,
	.mode = 0600,
};

int tipme_latency_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
	{
		struct cpu_latency *l = per_cpu_ptr(&latencies, cpu);

		init_swait_queue_head(&l->wait);
		mutex_init(&l->causes_mutex);
	}
	return misc_register(&device);
}

/* The file is closed: nothing measures. */
void tipme_latency_exit(void)
{
	misc_deregister(&device);
}
