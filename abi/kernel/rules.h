/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tracing programs and the kernel module decide alike: pure functions of numbers, one
 * source for both. A reader must not be able to tell by a record which of the two wrote it. Each is
 * called by both: helper/test/kernel-rules.t looks.
 */
#ifndef TIPME_KERNEL_RULES_H
#define TIPME_KERNEL_RULES_H

#include "tipme_records.h"
#include "tables.h"

#define TIPME_RULE static inline __attribute__((always_inline))

/*
 * Task states as kernels 5.18 to 6.16 have them; the module checks at compile time that its kernel
 * does.
 */
#define TIPME_FLAG_INTERRUPTIBLE 0x1
#define TIPME_FLAG_UNINTERRUPTIBLE 0x2
#define TIPME_FLAG_STOPPED 0x4
#define TIPME_FLAG_TRACED 0x8
#define TIPME_FLAGS_DEAD 0xb0 /* TASK_DEAD, EXIT_ZOMBIE, EXIT_DEAD */
#define TIPME_FLAG_PARKED 0x40
#define TIPME_FLAGS_IDLE 0x402
#define TIPME_FLAG_RTLOCK_WAIT 0x1000
#define TIPME_FLAG_FROZEN 0x8000

/*
 * The state (enum tipme_task_state) of a thread that does not run and is not runnable, by its
 * flags.
 */
TIPME_RULE __u8 tipme_rule_state_of_flags(__u32 s)
{
	if (s & TIPME_FLAGS_DEAD)
		return TIPME_TASK_STATE_DEAD;
	if (s & TIPME_FLAG_TRACED)
		return TIPME_TASK_STATE_TRACED;
	if (s & TIPME_FLAG_STOPPED)
		return TIPME_TASK_STATE_STOPPED;
	if (s & TIPME_FLAG_PARKED)
		return TIPME_TASK_STATE_PARKED;
	if (s & TIPME_FLAG_FROZEN)
		return TIPME_TASK_STATE_FROZEN;
	if (s & TIPME_FLAG_RTLOCK_WAIT)
		return TIPME_TASK_STATE_LOCK_WAIT;
	if ((s & TIPME_FLAGS_IDLE) == TIPME_FLAGS_IDLE)
		return TIPME_TASK_STATE_IDLE;
	if (s & TIPME_FLAG_UNINTERRUPTIBLE)
		return TIPME_TASK_STATE_DISK_SLEEP;
	return s & TIPME_FLAG_INTERRUPTIBLE ? TIPME_TASK_STATE_SLEEPING : TIPME_TASK_STATE_UNKNOWN;
}

/* Whether a thread in this state waits for something but a CPU. */
TIPME_RULE int tipme_rule_is_blocked(__u32 state)
{
	return state != TIPME_TASK_STATE_RUNNABLE && state != TIPME_TASK_STATE_DEAD &&
	       state != TIPME_TASK_STATE_RUNNING;
}

/*
 * The context (enum tipme_context) of a softirq that is served, by who raised it:
 * TIPME_RAISED_BY_... and a tid.
 */
TIPME_RULE __u8 tipme_rule_softirq_context(__u64 serving)
{
	if (!(serving & TIPME_RAISED_BY_TASK))
		return TIPME_CONTEXT_SOFTIRQ_IRQ;
	return serving & (TIPME_RAISED_BY_IRQ | TIPME_RAISED_BY_SEVERAL)
		       ? TIPME_CONTEXT_SOFTIRQ_MIXED
		       : TIPME_CONTEXT_SOFTIRQ_TASK;
}

/*
 * Who has raised a softirq, after one more has: `was` before, the raiser's context and tid, and who
 * raised the softirq that it runs in.
 */
TIPME_RULE __u64 tipme_rule_raised(__u64 was, __u32 context, __u32 tid, __u64 serving)
{
	__u64 by = TIPME_RAISED_BY_IRQ;

	if (context == TIPME_CONTEXT_TASK)
		by = TIPME_RAISED_BY_TASK | tid;
	else if (context == TIPME_CONTEXT_SOFTIRQ_TASK || context == TIPME_CONTEXT_SOFTIRQ_MIXED)
		by = serving;
	if (was & by & TIPME_RAISED_BY_TASK && (__u32)was != (__u32)by)
		by |= TIPME_RAISED_BY_SEVERAL;
	if (!(by & TIPME_RAISED_BY_TASK))
		by |= (__u32)was;
	return by | (was >> 32 << 32);
}

/*
 * The key of a stack's entry: equal frames have one. `most` is the size of the array, a constant,
 * and count at most that. Kernel stacks have no space; the addresses of user stacks mean something
 * in one address space only.
 */
TIPME_RULE __u64 tipme_rule_stack_hash(const __u64 *frames, __u32 count, int most, __u64 space)
{
	__u64 h = space * 0x9e3779b97f4a7c15ULL + count;
	int i;

	for (i = 0; i < most; i++) {
		if ((__u32)i < count)
			h = (h ^ frames[i]) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return h > TIPME_STACK_BUSY ? h : h + 2;
}

/*
 * Whether a stack that was last named at used_ns may make room for another: no record that is kept
 * names it. old_ns is what the library said last, by the pool's reach; keep_ns is for when it says
 * nothing.
 */
TIPME_RULE int tipme_rule_stack_is_old(__u64 used_ns, __u64 now, __u64 old_ns, __u64 keep_ns)
{
	return used_ns < old_ns || now > used_ns + keep_ns;
}

/*
 * The id of the stack at place i, which has been claimed gen times; base: see tipme_stack_base.
 * Never 0.
 */
TIPME_RULE __u32 tipme_rule_stack_id(__u32 gen, __u32 i, __u32 base)
{
	return (gen << 16) | (base + i + 1);
}

/* --- input devices --- */

/* Buttons lie between keys, by linux/input-event-codes.h. */
#define TIPME_CODE_BUTTON 0x100
#define TIPME_CODE_NO_BUTTON 0x160

/* Which kind (enum tipme_input_kind) a key or button is, by its code and whether it went down. */
TIPME_RULE __u8 tipme_rule_kind_of_key(__u32 code, __s32 value)
{
	int button = code >= TIPME_CODE_BUTTON && code < TIPME_CODE_NO_BUTTON;

	if (value == 2)
		return TIPME_INPUT_KIND_KEY_REPEAT;
	if (value)
		return button ? TIPME_INPUT_KIND_BUTTON_PRESS : TIPME_INPUT_KIND_KEY_PRESS;
	return button ? TIPME_INPUT_KIND_BUTTON_RELEASE : TIPME_INPUT_KIND_KEY_RELEASE;
}

/* What a device is, by what it has: axes, and keys. */
struct tipme_device_has {
	__u8 absolute, relative, touch, finger, left, a, enter;
};

TIPME_RULE __u8 tipme_rule_device_class(const struct tipme_device_has *has)
{
	if (has->absolute && has->touch && !has->finger)
		return TIPME_DEVICE_CLASS_TOUCH;
	if (has->relative || has->finger || has->left)
		return TIPME_DEVICE_CLASS_POINTER;
	return has->a && has->enter ? TIPME_DEVICE_CLASS_KEYBOARD : TIPME_DEVICE_CLASS_OTHER;
}

#endif
