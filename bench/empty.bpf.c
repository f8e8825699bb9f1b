// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that do nothing on the tracepoints of the scheduler, and such that only read the clock:
 * what any BPF recorder costs at least. Two more unwind who has slept for a millisecond. One more
 * that does nothing where a probe in a program is.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sched_switch") int empty_switch(void *ctx)
{
	return 0;
}
SEC("tp_btf/sched_waking") int empty_waking(void *ctx)
{
	return 0;
}

__u64 tipme_clock_ns;
SEC("tp_btf/sched_switch") int clock_switch(void *ctx)
{
	tipme_clock_ns = bpf_ktime_get_ns();
	return 0;
}
SEC("tp_btf/sched_waking") int clock_waking(void *ctx)
{
	tipme_clock_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("uprobe") int probe_call(void *ctx)
{
	return 0;
}

/* --- a stack of each sleeper, as deep as ours, and nothing kept of it --- */

#define SLEEPS 32768
#define LONG_NS 1000000
#define FRAMES 16

__u64 tipme_slept_ns[SLEEPS];
__u64 tipme_frames; /* of all stacks: so that they are not left out */

SEC("tp_btf/sched_switch") int stack_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];

	tipme_slept_ns[(__u32)prev->pid % SLEEPS] = ctx[0] || !ctx[3] ? 0 : bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_waking") int stack_waking(__u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	__u64 now = bpf_ktime_get_ns(), since = tipme_slept_ns[(__u32)p->pid % SLEEPS];
	__u64 frames[FRAMES];

	if (p->on_cpu || !since || now < since + LONG_NS)
		return 0;
	tipme_slept_ns[(__u32)p->pid % SLEEPS] = 0;
	long bytes = bpf_get_task_stack(p, frames, sizeof(frames), 0);

	if (bytes > 0)
		tipme_frames += bytes / sizeof(*frames);
	return 0;
}
