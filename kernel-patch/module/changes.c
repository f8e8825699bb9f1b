// SPDX-License-Identifier: GPL-2.0-only
/*
 * Record classes that say what was changed from outside: signals, inherited priority, migrations,
 * frequency, idle states.
 */
#include <linux/cpuidle.h>
#include <linux/sched/signal.h>
#include <linux/signal.h>
#include <trace/events/power.h>
#include <trace/events/sched.h>
#include <trace/events/signal.h>

#include "ring.h"

/* Those that by default end, stop or continue. */
#define SIGNALS                                                                                   \
	(BIT(SIGHUP) | BIT(SIGINT) | BIT(SIGQUIT) | BIT(SIGILL) | BIT(SIGABRT) | BIT(SIGBUS) |    \
	 BIT(SIGFPE) | BIT(SIGKILL) | BIT(SIGSEGV) | BIT(SIGTERM) | BIT(SIGCONT) | BIT(SIGSTOP) | \
	 BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU) | BIT(SIGXCPU) | BIT(SIGXFSZ) | BIT(SIGSYS))

static void on_signal_generate(void *unused, int sig, struct kernel_siginfo *info,
			       struct task_struct *p, int group, int result)
{
	u32 raiser;

	if (sig < 1 || sig > 31 || !(SIGNALS & BIT(sig)))
		return;

	TIPME_NEW_RECORD(tipme_signal, TIPME_SIGNAL, p->pid);

	r.sender_tid = current->pid;
	r.pid = p->tgid;
	r.signal = sig;
	r.context = tipme_context_here(&raiser);
	r.result = result;
	tipme_record(&r);
}

/* Lent by who waits for a lock; what others set, the switch and waking records show. */
static void on_sched_pi_setprio(void *unused, struct task_struct *p, struct task_struct *lender)
{
	int old = p->prio, new = lender ? min(lender->prio, p->normal_prio) : p->normal_prio;

	if (old == new)
		return;

	TIPME_NEW_RECORD(tipme_priority, TIPME_PRIORITY, p->pid);

	r.changer_tid = lender ? lender->pid : 0;
	r.old_prio = old;
	r.new_prio = new;
	r.inherited = 1;
	r.policy = 255;
	tipme_record(&r);
}

static void on_sched_migrate_task(void *unused, struct task_struct *p, int to)
{
	TIPME_NEW_RECORD(tipme_migrate, TIPME_MIGRATE, p->pid);

	r.from_cpu = task_cpu(p);
	r.to_cpu = to;
	r.mover_tid = current->pid;
	tipme_record(&r);
}

#ifdef TIPME_HAS_CFS_BANDWIDTH
/* With our patch only. */
static void throttle_put(u64 cgroup, int cpu, u64 throttled_ns, u8 phase)
{
	TIPME_NEW_RECORD(tipme_cpu_throttle, TIPME_CPU_THROTTLE, current->pid);

	r.cgroup = cgroup;
	r.throttled_us = min_t(u64, throttled_ns / NSEC_PER_USEC, U32_MAX);
	r.cpu = cpu;
	r.phase = phase;
	tipme_record(&r);
}

static void on_sched_cfs_throttle(void *unused, u64 cgroup, int cpu, u64 throttled_ns)
{
	throttle_put(cgroup, cpu, 0, TIPME_PHASE_BEGIN);
}

static void on_sched_cfs_unthrottle(void *unused, u64 cgroup, int cpu, u64 throttled_ns)
{
	throttle_put(cgroup, cpu, throttled_ns, TIPME_PHASE_END);
}

#define PROBES_BANDWIDTH(P) P(sched_cfs_throttle, THROTTLE) P(sched_cfs_unthrottle, THROTTLE)
#else
#define PROBES_BANDWIDTH(P)
#endif

static void on_cpu_frequency(void *unused, unsigned int khz, unsigned int cpu)
{
	TIPME_NEW_RECORD(tipme_cpu_frequency, TIPME_CPU_FREQUENCY, 0);

	r.khz = khz;
	r.cpu = cpu;
	tipme_record(&r);
}

/* --- cpu_idle: waking up from a state that takes long to leave --- */

#define IDLE_LATENCY_MIN_US 50

/* With preemption off: the driver does not go meanwhile. */
static u32 idle_latency_ns(unsigned int state)
{
	struct cpuidle_driver *drv = cpuidle_get_driver();

	if (!drv || state >= drv->state_count ||
	    drv->states[state].exit_latency < IDLE_LATENCY_MIN_US)
		return 0;
	return drv->states[state].exit_latency * NSEC_PER_USEC;
}

static void on_cpu_idle(void *unused, unsigned int state, unsigned int of_cpu)
{
	struct tipme_kernel_cpu *c = __this_cpu_read(tipme_this_cpu);

	if (state != PWR_EVENT_EXIT) {
		c->idle_state = state;
		c->idle_begin_ns = idle_latency_ns(state) ? tipme_now() : 0;
		return;
	}
	if (!c->idle_begin_ns)
		return;

	TIPME_NEW_RECORD(tipme_cpu_idle, TIPME_CPU_IDLE, 0);

	r.idle_ns = min_t(u64, r.ts_ns - c->idle_begin_ns, U32_MAX);
	r.exit_latency_ns = idle_latency_ns(c->idle_state);
	r.state = c->idle_state;
	r.cpu = of_cpu;
	c->idle_begin_ns = 0;
	tipme_record(&r);
}

#define PROBES(P)                      \
	P(signal_generate, SIGNAL)     \
	P(sched_pi_setprio, PRIORITY)  \
	P(sched_migrate_task, MIGRATE) \
	P(cpu_frequency, FREQUENCY) P(cpu_idle, IDLE) PROBES_BANDWIDTH(P)

#define CHECK(name, of_class) TIPME_PROBE_CHECK(name);
static void __maybe_unused check(void)
{
	PROBES(CHECK)
}

#define ROW(name, of_class) TIPME_PROBE(name, TIPME_CLASS_##of_class, false),
static struct tipme_probe probes[] = { PROBES(ROW) };
struct tipme_probes tipme_changes_probes = { probes, ARRAY_SIZE(probes) };
