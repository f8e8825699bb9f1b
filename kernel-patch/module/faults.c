// SPDX-License-Identifier: GPL-2.0-only
/*
 * memory_wait of page faults that had to read. The kernel has no tracepoint for them, but counts
 * them as an event of perf: each is one overflow.
 */
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/workqueue.h>

#include "ring.h"

/* From the end of the sleep to the end of the fault: what the kernel does in between is short. */
#define REST_NS (200 * NSEC_PER_USEC)

static DEFINE_PER_CPU(struct perf_event *, counter);

/*
 * The sleep in which this thread waited for a page is its last one, and has just ended; else (the
 * page was there, or read at once) it waited for none. Preemption is off, so neither the CPU nor
 * the table of sleeps goes.
 */
static u64 waited_ns(const struct tipme_kernel_cpu *c, u32 tid, u64 now)
{
	const struct tipme_disk_sleep *d = tipme_disk_sleep_of(tid);
	const struct tipme_sleep *s = &tipme_ring.sleeps[tid % TIPME_SLEEPS];

	if (d->tid != tid || s->tid != tid || c->running_tid != tid)
		return 0;
	if (s->since_ns != d->end_ns || now - c->switch_ns > REST_NS)
		return 0;
	return now - d->begin_ns;
}

/*
 * The thread itself holds this lock, or that of the area: so waiting would be wrong, and trying
 * does nearly always do.
 */
static u8 kind_of(unsigned long address)
{
	struct mm_struct *mm = current->mm;
	u8 kind = TIPME_MEMORY_WAIT_KIND_FAULT_FILE;
	struct vm_area_struct *vma;

	if (!mm || !mmap_read_trylock(mm))
		return kind;
	vma = find_vma(mm, address);
	if (vma && address >= vma->vm_start && !vma->vm_file)
		kind = TIPME_MEMORY_WAIT_KIND_FAULT_SWAP;
	mmap_read_unlock(mm);
	return kind;
}

/* The fault is over; in the thread that had it, with preemption off. */
static void on_major_fault(struct perf_event *event, struct perf_sample_data *data,
			   struct pt_regs *regs)
{
	const struct tipme_kernel_cpu *c = __this_cpu_read(tipme_this_cpu);

	if (!c)
		return;

	TIPME_NEW_RECORD(tipme_memory_wait, TIPME_MEMORY_WAIT, current->pid);

	r.duration_ns = min_t(u64, waited_ns(c, current->pid, r.ts_ns), U32_MAX);
	r.kind = kind_of(data->addr);
	r.phase = TIPME_PHASE_END;
	tipme_record(&r);
}

static struct perf_event *counter_open(unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
		.size = sizeof(attr),
		.sample_period = 1,
	};

	return perf_event_create_kernel_counter(&attr, cpu, NULL, on_major_fault, NULL);
}

static bool counting; /* tipme_control */

static int counters_open(void)
{
	struct perf_event *event;
	unsigned int cpu;

	lockdep_assert_held(&tipme_control);
	for_each_online_cpu(cpu)
	{
		if (per_cpu(counter, cpu))
			continue;
		event = counter_open(cpu);
		if (PTR_ERR_OR_ZERO(event) == -ENODEV) /* it has just gone */
			continue;
		if (IS_ERR(event))
			return PTR_ERR(event);
		per_cpu(counter, cpu) = event;
	}
	return 0;
}

static void counter_close(unsigned int cpu)
{
	if (per_cpu(counter, cpu))
		perf_event_release_kernel(per_cpu(counter, cpu));
	per_cpu(counter, cpu) = NULL;
}

int tipme_faults_begin(void)
{
	int err = counters_open();

	counting = true;
	if (err)
		tipme_faults_end();
	return err;
}

/*
 * A handler that still runs has preemption off, and writes by tipme_record() alone: see
 * tipme_ring_free().
 */
void tipme_faults_end(void)
{
	unsigned int cpu;

	lockdep_assert_held(&tipme_control);
	for_each_possible_cpu(cpu) counter_close(cpu);
	counting = false;
}

/* --- CPUs that come --- */

/*
 * Perf ends the counters of a CPU that goes, for good. So one that comes gets a new one: by work,
 * not in the callback, for that holds the hotplug lock for writing, and a software event takes it
 * to switch its branch. The mark is set after perf knows the CPU again (it is prepared earlier), so
 * a counter opened later lives, and one opened earlier is opened anew.
 */
static struct cpumask came;
static enum cpuhp_state hotplug_state;

static void on_came(struct work_struct *unused)
{
	unsigned int cpu;
	int err = 0;

	mutex_lock(&tipme_control);
	for_each_possible_cpu(cpu) if (cpumask_test_and_clear_cpu(cpu, &came)) counter_close(cpu);
	if (counting)
		err = counters_open();
	mutex_unlock(&tipme_control);
	if (err)
		pr_warn("page faults of a CPU that has come cannot be recorded (%d): switch the class memory off and on\n",
			err);
}

static DECLARE_WORK(came_work, on_came);

static int cpu_came(unsigned int cpu)
{
	cpumask_set_cpu(cpu, &came);
	schedule_work(&came_work);
	return 0;
}

int tipme_faults_init(void)
{
	int state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "tipme/faults:online", cpu_came,
					      NULL);

	if (state < 0)
		return state;
	hotplug_state = state;
	return 0;
}

/* Nothing records any more: the work that may be on its way finds nothing to do. */
void tipme_faults_exit(void)
{
	cpuhp_remove_state_nocalls(hotplug_state);
	cancel_work_sync(&came_work);
}
