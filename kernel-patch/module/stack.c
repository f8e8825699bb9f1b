// SPDX-License-Identifier: GPL-2.0-only
/* Stacks of sleeping threads, each kept once in a table that user space reads. */
#include <linux/sched/task_stack.h>
#include <asm/unwind.h>

#include "ring.h"

/*
 * Claims an entry that shows `key`. Its id is the place in the lower half and the number of claims
 * in the upper.
 */
static u32 stack_claim(struct tipme_stack_entry *e, u32 i, u64 key, u64 hash, const u64 *frames,
		       u32 count, u64 now)
{
	int k;

	if (cmpxchg(&e->key, key, TIPME_STACK_BUSY) != key)
		return 0;
	WRITE_ONCE(e->gen, e->gen + 1);
	e->count = count;
	e->used_ns = now;
	for (k = 0; k < TIPME_STACK_FRAMES; k++)
		e->frames[k] = k < count ? frames[k] : 0;
	/* partner: the reader loads key first and compares it again last */
	smp_store_release(&e->key, hash);
	return tipme_rule_stack_id(e->gen, i, 0);
}

void tipme_stacks_old(u64 before_ns)
{
	WRITE_ONCE(tipme_ring.stack_old_ns, before_ns);
}

u32 tipme_stack_put(const u64 *frames, u32 count, u64 now)
{
	struct tipme_kernel_cpu *c;
	u32 probe, id = 0;
	u64 hash;

	preempt_disable_notrace();
	c = __this_cpu_read(tipme_this_cpu);
	if (!c || !count)
		goto out;
	hash = tipme_rule_stack_hash(frames, count, TIPME_STACK_FRAMES, 0);
	for (probe = 0; probe < TIPME_STACK_PROBES && !id; probe++) {
		u32 i = (hash + probe) & tipme_ring.stack_mask;
		struct tipme_stack_entry *e = &tipme_ring.stacks[i];
		/*
		 * before key: a claim in between gives an id that finds nothing, never a wrong
		 * stack
		 */
		u32 gen = READ_ONCE(e->gen);
		/* partner: the store of the key in the claim */
		u64 key = smp_load_acquire(&e->key);

		if (key == hash) {
			WRITE_ONCE(e->used_ns, now);
			id = tipme_rule_stack_id(gen, i, 0);
		} else if (key != TIPME_STACK_BUSY &&
			   (!key || tipme_rule_stack_is_old(READ_ONCE(e->used_ns), now,
							    READ_ONCE(tipme_ring.stack_old_ns),
							    tipme_ring.stack_keep_ns))) {
			id = stack_claim(e, i, key, hash, frames, count, now);
		}
	}
	if (!id)
		__sync_fetch_and_add(&c->lost_stack, 1);
out:
	preempt_enable_notrace();
	return id;
}

/* The last of `count` frames stand in `outer`, in turns. Returns how many frames there are now. */
static u32 both_ends(u64 *frames, const u64 *outer, u32 count)
{
	u32 k, to = TIPME_STACK_FRAMES - TIPME_STACK_OUTER;

	if (count <= TIPME_STACK_FRAMES)
		return count;
	frames[to - 1] = TIPME_STACK_GAP;
	for (k = 0; k < TIPME_STACK_OUTER; k++)
		frames[to + k] = outer[(count + k) % TIPME_STACK_OUTER];
	return TIPME_STACK_FRAMES;
}

/*
 * The scheduler's own functions say nothing about what was waited for. Which they are, no module is
 * told: user space reads it in /proc/kallsyms. No reference on the stack is taken (the function
 * that gives it back is not exported), nor is one needed: the caller keeps the thread from waking,
 * so it does not exit.
 */
u32 tipme_stack_of_sleeper(struct task_struct *p, u64 now)
{
	u64 frames[TIPME_STACK_FRAMES], outer[TIPME_STACK_OUTER];
	struct unwind_state state;
	u32 count = 0;

	if (!task_stack_page(p))
		return 0;
	for (unwind_start(&state, p, NULL, NULL);
	     !unwind_done(&state) && count < TIPME_STACK_DEEPEST; unwind_next_frame(&state)) {
		unsigned long ip = unwind_get_return_address(&state);

		if (!ip)
			break;
		if (ip >= tipme_ring.sched_text_start && ip < tipme_ring.sched_text_end)
			continue;
		if (count < TIPME_STACK_FRAMES)
			frames[count] = ip;
		outer[count++ % TIPME_STACK_OUTER] = ip;
	}
	return tipme_stack_put(frames, both_ends(frames, outer, count), now);
}
