// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client that is fed in cycles and computes in deferred work: a timer whose work is done in a
 * softirq, again and again.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "latency_model_maps.h"
#include "map.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define CLOCK_MONOTONIC 1

/* The kernel knows it by its name and size. */
struct bpf_timer {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct tipme_model_clock {
	struct bpf_timer timer;
};

TIPME_MAP(tipme_model, sizeof(struct tipme_model_work), 1);

/* Memory with timers in it cannot be mapped by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct tipme_model_clock);
	__uint(max_entries, 1);
} tipme_clock SEC(".maps");

/* Sixteen steps that wait for each other, so that the call costs little beside them. */
static int compute_step(__u32 i, __u64 *sum)
{
	__u64 s = *sum + i;

#pragma unroll
	for (int k = 0; k < 16; k++)
		s = s * 6364136223846793005ULL + 1442695040888963407ULL;
	*sum = s;
	return 0;
}

static int work(void *map, __u32 *key, struct tipme_model_clock *c)
{
	__u64 begun = bpf_ktime_get_ns(), due, done, sum = begun, missed;
	struct tipme_model_work *w = bpf_map_lookup_elem(&tipme_model, key);
	struct tipme_model_cycle *to;

	if (!w || w->stop || !w->cycle_ns)
		return 0;
	bpf_loop(w->loops, compute_step, &sum, 0);
	due = w->due_ns;
	done = bpf_ktime_get_ns();
	to = &w->cycle[w->written & (TIPME_MODEL_CYCLES - 1)];
	to->due_ns = due;
	to->begun_ns = begun;
	to->done_ns = done;
	w->sink = sum;
	__sync_fetch_and_add(&w->written, 1);
	/* A real client goes on with the next buffer; what is over is over. */
	due += w->cycle_ns;
	missed = done > due ? (done - due) / w->cycle_ns : 0;
	due += missed * w->cycle_ns;
	w->due_ns = due;
	done = bpf_ktime_get_ns();
	bpf_timer_start(&c->timer, due > done ? due - done : 0, 0);
	return 0;
}

SEC("syscall")
int tipme_model_begin(struct tipme_model_trial *ctx)
{
	__u32 zero = 0;
	struct tipme_model_clock *c = bpf_map_lookup_elem(&tipme_clock, &zero);
	struct tipme_model_work *w = bpf_map_lookup_elem(&tipme_model, &zero);
	__u64 now;

	if (!c || !w)
		return 1;
	bpf_timer_init(&c->timer, &tipme_clock, CLOCK_MONOTONIC);
	if (bpf_timer_set_callback(&c->timer, work))
		return 2;
	now = bpf_ktime_get_ns();
	return bpf_timer_start(&c->timer, w->due_ns > now ? w->due_ns - now : 0, 0) ? 3 : 0;
}

/* How long the same loops take here. */
SEC("syscall")
int tipme_model_try(struct tipme_model_trial *ctx)
{
	__u64 begun = bpf_ktime_get_ns(), sum = begun;

	bpf_loop((__u32)ctx->loops, compute_step, &sum, 0);
	ctx->took_ns = bpf_ktime_get_ns() - begun;
	/* Never: the sum has to be wanted. */
	return sum == 0;
}
