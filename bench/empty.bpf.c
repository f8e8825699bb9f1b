// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that do nothing on the tracepoints of the scheduler, and such that only read the clock:
 * what any BPF recorder costs at least. One more that does nothing where a probe in a program is.
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
