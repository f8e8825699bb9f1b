// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way of one expiry on stock kernels: the timer on which a thread of tipme-latency sleeps, the
 * interrupt that it expires in, the waking, and the switch to the thread. Beside it, a timer with
 * the same expiry whose work is deferred to a softirq.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "latency_stages_maps.h"
#include "map.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define CLOCK_MONOTONIC 1

/* The kernel knows it by its name and size. */
struct bpf_timer {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct tipme_deferred {
	struct bpf_timer timer;
};

/* Sized when the number of CPUs is known. */
TIPME_MAP(tipme_stages, sizeof(struct tipme_stages_slot), 1);

/* Memory with timers in it cannot be mapped by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct tipme_deferred);
	__uint(max_entries, 1);
} tipme_deferred SEC(".maps");

static __always_inline struct tipme_stages_slot *this_slot(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&tipme_stages, &cpu);
}

/* In a softirq, which is raised by the interrupt that the timer expires in. */
static int deferred_work(void *map, __u32 *cpu, struct tipme_deferred *d)
{
	struct tipme_stages_slot *s = bpf_map_lookup_elem(&tipme_stages, cpu);

	if (s)
		s->deferred_ns = bpf_ktime_get_ns();
	return 0;
}

/*
 * Run by the thread itself. Timers of this kind take a distance only, so the expiry is what the
 * kernel makes of it.
 */
SEC("syscall")
int tipme_stages_arm(struct tipme_stages_arm *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct tipme_stages_slot *s = bpf_map_lookup_elem(&tipme_stages, &cpu);
	struct tipme_deferred *d = bpf_map_lookup_elem(&tipme_deferred, &cpu);
	__u64 now;

	if (!s || !d)
		return 1;
	s->tid = (__u32)bpf_get_current_pid_tgid();
	bpf_timer_init(&d->timer, &tipme_deferred, CLOCK_MONOTONIC);
	if (bpf_timer_set_callback(&d->timer, deferred_work))
		return 2;
	s->phase = TIPME_PHASE_ARMING;
	now = bpf_ktime_get_ns();
	return bpf_timer_start(&d->timer, ctx->expiry_ns > now ? ctx->expiry_ns - now : 0, 0) ? 3
											      : 0;
}

/* Of the timers that are started while our thread runs, those of interrupts among them. */
SEC("tp_btf/hrtimer_start")
int BPF_PROG(tipme_stages_start, struct hrtimer *timer)
{
	struct tipme_stages_slot *s = this_slot();
	__u64 expires;

	if (!s || (s->phase != TIPME_PHASE_ARMING && s->phase != TIPME_PHASE_SLEEPING))
		return 0;
	if ((__u32)bpf_get_current_pid_tgid() != s->tid)
		return 0;
	expires = timer->_softexpires;
	if (s->phase == TIPME_PHASE_ARMING && timer->is_soft && expires >= s->due_ns) {
		s->due_ns = expires;
		s->phase = TIPME_PHASE_NONE;
	} else if (s->phase == TIPME_PHASE_SLEEPING && !timer->is_soft && expires == s->due_ns) {
		s->timer = (__u64)timer;
		s->phase = TIPME_PHASE_WAITING;
	}
	return 0;
}

/* Only where the machine's timers come by an interrupt of this kind. */
SEC("tp_btf/local_timer_entry")
int tipme_stages_interrupt(void *ctx)
{
	struct tipme_stages_slot *s = this_slot();

	if (s && s->phase == TIPME_PHASE_WAITING)
		s->interrupt_ns = bpf_ktime_get_ns();
	return 0;
}

/* What expires later in other interrupts is not of this one. */
SEC("tp_btf/local_timer_exit")
int tipme_stages_interrupt_end(void *ctx)
{
	struct tipme_stages_slot *s = this_slot();

	if (s)
		s->interrupt_ns = 0;
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(tipme_stages_expire, struct hrtimer *timer)
{
	struct tipme_stages_slot *s = this_slot();

	if (!s || s->phase != TIPME_PHASE_WAITING || (__u64)timer != s->timer)
		return 0;
	s->irq_ns = bpf_ktime_get_ns();
	s->entry_ns = s->interrupt_ns;
	s->phase = TIPME_PHASE_EXPIRED;
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(tipme_stages_waking, struct task_struct *p)
{
	struct tipme_stages_slot *s = this_slot();

	if (!s || s->phase != TIPME_PHASE_EXPIRED || (__u32)p->pid != s->tid)
		return 0;
	s->waking_ns = bpf_ktime_get_ns();
	s->phase = TIPME_PHASE_WOKEN;
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(tipme_stages_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct tipme_stages_slot *s = this_slot();

	if (!s || s->phase != TIPME_PHASE_WOKEN || (__u32)next->pid != s->tid)
		return 0;
	s->switch_ns = bpf_ktime_get_ns();
	s->phase = TIPME_PHASE_ON_CPU;
	return 0;
}
