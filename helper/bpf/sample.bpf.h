/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples: what each busy CPU does, 99 times a second, by a timer of the kernel; the idle thread is
 * left out by the event itself.
 */

/*
 * A hardware counter would come by NMI, and so into writers that have interrupts off and take no
 * precautions (see pool.h): the timer cannot. What runs with interrupts off is seen when they come
 * back on, at that instruction.
 */

const volatile __u32 tipme_user_stack_mask = 4095;
const volatile __u32 tipme_sample_period_us = 10101;

static __always_inline __u32 tipme_user_claim(struct tipme_user_stack_entry *e, __u32 i, __u64 key,
					      __u64 hash, const __u64 *frames, __u32 count,
					      __u64 space, __u64 now)
{
	int k;

	if (__sync_val_compare_and_swap(&e->key, key, TIPME_STACK_BUSY) != key)
		return 0;
	tipme_pool_store(&e->gen, e->gen + 1);
	e->count = count;
	e->used_ns = now;
	e->pid = bpf_get_current_pid_tgid() >> 32;
	e->space = space;
	e->first_ns = now;
	for (k = 0; k < TIPME_USER_FRAMES; k++)
		e->frames[k] = k < count ? frames[k] : 0;
	tipme_pool_barrier();
	tipme_pool_store(&e->key, hash);
	return (e->gen << 16) | (i + 1);
}

struct tipme_user_stack_frames {
	__u64 frame[TIPME_USER_FRAMES];
};

/* As tipme_stack_at(). */
static long tipme_user_at(__u32 probe, struct tipme_stack_look *l)
{
	__u32 i = (l->hash + probe) & tipme_user_stack_mask;
	struct tipme_user_stack_entry *e = bpf_map_lookup_elem(&tipme_user_stacks, &i);
	__u32 gen;
	__u64 key;

	if (!e)
		return 1;
	gen = tipme_pool_load(&e->gen);
	key = tipme_pool_load(&e->key);
	if (key == l->hash) {
		tipme_pool_store(&e->used_ns, l->now);
		l->id = (gen << 16) | (i + 1);
		return 1;
	}
	if (key != TIPME_STACK_BUSY &&
	    (!key || tipme_stack_is_old(tipme_pool_load(&e->used_ns), l->now)))
		l->id = tipme_user_claim(e, i, key, l->hash, l->frames, l->count, l->space, l->now);
	return l->id != 0;
}

/* As tipme_stack_put(). */
__noinline __u32 tipme_user_put(const struct tipme_user_stack_frames *f, __u32 count, __u64 space,
				__u64 now)
{
	struct tipme_stack_look l = { .now = now, .space = space, .count = count };

	if (!f)
		return 0;
	l.frames = f->frame;
	l.hash = tipme_rule_stack_hash(l.frames, count, TIPME_USER_FRAMES, space);
	bpf_loop(TIPME_STACK_PROBES, tipme_user_at, &l, 0);
	return l.id;
}

static __noinline __u32 tipme_sample_user(struct bpf_perf_event_data *ctx, __u64 now)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct tipme_user_stack_frames frames = {};
	long bytes;

	if (p->flags & TIPME_PF_KTHREAD)
		return 0;
	bytes = bpf_get_stack(ctx, &frames, sizeof(frames), BPF_F_USER_STACK);
	if (bytes <= 0)
		return 0;
	return tipme_stack_counted(tipme_user_put(&frames, bytes / 8, tipme_space_of(p), now));
}

static __noinline __u32 tipme_sample_kernel(struct bpf_perf_event_data *ctx, __u64 now)
{
	struct tipme_frames frames = {};
	long bytes = bpf_get_stack(ctx, &frames, sizeof(frames), 0);

	return bytes > 0 ? tipme_stack_counted(tipme_stack_put(&frames, bytes / 8, now)) : 0;
}

SEC("perf_event")
int tipme_sample_clock(struct bpf_perf_event_data *ctx)
{
	__u64 at = bpf_ktime_get_ns();
	__u32 kernel = tipme_sample_kernel(ctx, at), user = tipme_sample_user(ctx, at);

	TIPME_RECORD(tipme_sample, TIPME_SAMPLE, tipme_current_tid());
	if (r) {
		r->ts_ns = at;
		r->kernel_stack_id = kernel;
		r->user_stack_id = user;
		r->period_us = tipme_sample_period_us;
		r->cpu = cpu;
		r->kind = TIPME_SAMPLE_KIND_CLOCK;
		r->context = c->softirq_depth ? tipme_softirq_context(c) : TIPME_CONTEXT_TASK;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}
