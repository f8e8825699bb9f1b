// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cause sampler of stock kernels: what each CPU does, many times a millisecond, kept for a
 * moment in a ring of its own.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "latency_sampler_maps.h"
#include "map.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* In struct pt_regs of x86-64. */
#define REG_CS 17
#define REG_FLAGS 18
#define FLAGS_IF 0x200
#define CS_USER 3

/*
 * Sized when the number of CPUs is known: a head for each, and its samples behind those of the CPU
 * before.
 */
TIPME_MAP(tipme_sampler_heads, sizeof(struct tipme_sampler_head), 1);
TIPME_MAP(tipme_sampler_samples, sizeof(struct tipme_latency_sample), 1);

/*
 * One writer on each CPU: the timer's interrupt, or the counter's NMI, which nothing of the same
 * kind interrupts. The reader runs on this CPU, too, and looks at the head before and after it
 * copies; so the compiler's order is all that is needed.
 */
SEC("perf_event")
int tipme_latency_sample(struct bpf_perf_event_data *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id(), i;
	struct tipme_sampler_head *head = bpf_map_lookup_elem(&tipme_sampler_heads, &cpu);
	struct tipme_latency_sample *to;
	long bytes;

	if (!head)
		return 0;
	i = cpu * TIPME_SAMPLER_SAMPLES + (head->count & (TIPME_SAMPLER_SAMPLES - 1));
	to = bpf_map_lookup_elem(&tipme_sampler_samples, &i);
	if (!to)
		return 0;
	to->ts_ns = bpf_ktime_get_ns();
	to->tid = (__u32)bpf_get_current_pid_tgid();
	to->context = 0;
	to->irqs_off = !(ctx->regs[REG_FLAGS] & FLAGS_IF);
	to->user = (ctx->regs[REG_CS] & CS_USER) == CS_USER;
	to->frames = 0;
	bpf_get_current_comm(to->comm, sizeof(to->comm));
	if (!to->user) {
		bytes = bpf_get_stack(ctx, to->frame, sizeof(to->frame), 0);
		if (bytes > 0)
			to->frames = bytes / sizeof(to->frame[0]);
	}
	asm volatile("" ::: "memory");
	*(volatile __u64 *)&head->count = head->count + 1;
	return 0;
}
