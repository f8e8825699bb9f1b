/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks of sleepers that are known again without being unwound. Unwinding looks up each frame in
 * tables that are in no cache when a thread wakes seldom; here the stack itself is read alone.
 *
 * A return address is looked for where it was when the same stack was unwound. No other stack can
 * be taken for it: how far it is from one return address to the next is a constant of the code that
 * the first one returns into, and the innermost is always as far from the saved stack pointer. So
 * where the first ones are the same, the next one lies at the same place, and we look at just that
 * one. What is a place and what is a constant, is learned with care:
 *
 * - Unwinding tells addresses, not their places, and addresses of earlier calls lie about on each
 *   stack. A place is sure where the innermost and the outermost way to find all addresses, one
 *   after the other, have it alike.
 * - Unwinding leaves out the functions of the scheduler. So all words that may be theirs, from the
 *   saved stack pointer to the first address, are looked at, too. The way from one address to the
 *   next is learned where no such word lies between them; or else these are looked at as well.
 * - An exception inside the kernel aligns the stack: the distance there is none of the code's. It
 *   shows by the stack pointer that is saved beside the address, and is not learned.
 * - The last address must lie right beneath the registers that user space, or the thread's begin,
 *   left on the stack, so that nothing lies beyond; and the stack must be as long as it was.
 * - The kernel moves its stack by a random amount at each system call, in a function that the entry
 *   code alone calls. There the length does not count, but the last address has its place from the
 *   other end. A stack that has that function elsewhere is not learned.
 *
 * What compilers align otherwise than to words, gcc gives a second return address: no place is sure
 * there. Where it gives none, as to poll and select of Debian's 6.1, a distance is seen to differ:
 * such a stack is never known.
 */

#define TIPME_KNOWN 256 /* stacks; another takes the place of one that had it for a second */
#define TIPME_KNOWN_FRAMES 32
#define TIPME_KNOWN_HIDDEN 16 /* words that may be the scheduler's */
#define TIPME_KNOWN_WORDS 512 /* of a stack that is learned */
#define TIPME_KNOWN_INNER 256 /* of one that is known: all but its last address */
#define TIPME_KNOWN_CHECKS (TIPME_KNOWN_HIDDEN + TIPME_KNOWN_FRAMES)
#define TIPME_KNOWN_IDLE_NS 1000000000ULL
#define TIPME_KNOWN_TOUCH_NS 100000000ULL /* no stack makes room for others so soon */
/* One that cannot be learned yet is looked at so often; later less */
#define TIPME_KNOWN_AGAIN_NS 20000000ULL
#define TIPME_KNOWN_LATER_NS 500000000ULL
#define TIPME_KNOWN_TRIES 100
#define TIPME_KNOWN_STRICT 10
#define TIPME_KNOWN_BEYOND 64 /* bytes from saved registers to what was there before, at most */

/* What the library finds out: where the kernel's code is. 0: nothing is known again. */
const volatile struct tipme_known_code tipme_known_code = {};

enum {
	TIPME_KNOWN_NOT, /* not learned yet */
	TIPME_KNOWN_AT, /* with this distance from its end */
	TIPME_KNOWN_ANYWHERE, /* with any */
	TIPME_KNOWN_NEVER
};

/*
 * What each waking looks at: one line of the cache, and one or two more of words. These are checked
 * by their lower halves, whose sign is the upper one, with the place in the upper half of the check
 * (words from the saved stack pointer). seq is odd while it is written: who reads it then, or sees
 * it change, knows nothing.
 */
struct tipme_known {
	__u32 seq;
	__u32 how;
	__u32 stack_id;
	__u32 checks; /* all words that are looked at, but for the last address */
	__u32 bytes; /* from the saved stack pointer that have them all */
	__u32 begins; /* bytes from the lower end of the memory to the saved stack pointer */
	__u32 ends; /* and to the last address */
	__u32 last;
	__u64 key; /* of the stack's entry */
	__u64 touched_ns; /* when that was last told that the stack is used */
	__u64 all; /* hash of all frames; the stack's entry has some of them */
	__u64 again_ns; /* not before is it looked at again */
	__u64 check[TIPME_KNOWN_CHECKS];
};

TIPME_MAP(tipme_knowns, sizeof(struct tipme_known), TIPME_KNOWN);

/* What is learned of each, meanwhile. */
struct tipme_known_lesson {
	__u32 tries;
	__u16 way[TIPME_KNOWN_FRAMES]; /* to the next address, as far as that is learned; 0: not */
};

TIPME_MAP(tipme_known_lessons, sizeof(struct tipme_known_lesson), TIPME_KNOWN);

/*
 * Interrupts are off where sleeps end: see recorder.bpf.h. What a search counts is in memory, as
 * the verifier follows each value of a register apart.
 */
struct tipme_known_work {
	__u64 word[TIPME_KNOWN_WORDS];
	__u64 frame[TIPME_KNOWN_FRAMES];
	__u64 hidden[TIPME_KNOWN_HIDDEN * 2];
	__u64 all; /* hash of the frames */
	__u64 end; /* what is a pointer to the verifier comes out of memory as a number */
	__u16 place[TIPME_KNOWN_FRAMES];
	__u16 hidden_place[TIPME_KNOWN_HIDDEN * 2];
	__u8 hidden_before[TIPME_KNOWN_HIDDEN * 2]; /* which frame */
	__u8 between[TIPME_KNOWN_FRAMES]; /* a word that may be the scheduler's lies before it */
	__u8 look[TIPME_KNOWN_FRAMES]; /* such words have to be looked at */
	__u8 unsure[TIPME_KNOWN_FRAMES];
	__u32 count; /* of frames */
	__u32 words, found, hiddens, place_next;
	__u32 unfit; /* a word that has another upper half */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tipme_known_work);
} tipme_known_works SEC(".maps");

/* For the test: each stack that is known is unwound besides. */
const volatile bool tipme_known_checked = false;
struct tipme_known_counts tipme_known_count;

static __always_inline struct tipme_known_work *tipme_known_work(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&tipme_known_works, &zero);
}

/* A word of the kernel's code by its lower half. */
static __always_inline __u64 tipme_known_whole(__u64 half)
{
	return (__u64)((__s64)(half << 32) >> 32);
}

static __always_inline __u32 tipme_known_index(__u32 stack_id)
{
	return (stack_id & 0xffff) - tipme_stack_base - 1;
}

/*
 * The id, if its entry in the table of stacks is still that one, which then stays. It does not go
 * while it has just been touched: two seconds are kept beyond what the pool reaches back to.
 */
static __always_inline __u32 tipme_known_id(struct tipme_known *k, __u64 now)
{
	__u32 id = k->stack_id, i = tipme_known_index(id);
	struct tipme_stack_entry *e;

	if (now - tipme_pool_load(&k->touched_ns) < TIPME_KNOWN_TOUCH_NS)
		return id;
	e = bpf_map_lookup_elem(&tipme_stacks, &i);
	if (!e || tipme_pool_load(&e->key) != k->key ||
	    tipme_rule_stack_id(tipme_pool_load(&e->gen), i, tipme_stack_base) != id)
		return 0;
	tipme_pool_store(&e->used_ns, now);
	tipme_pool_store(&k->touched_ns, now);
	return id;
}

/* The lower end of its stack, as a number. */
static __always_inline __u64 tipme_known_base(struct task_struct *p, struct tipme_known_work *w)
{
	tipme_pool_store(&w->end, (__u64)p->stack);
	return tipme_pool_load(&w->end);
}

static __always_inline struct tipme_known *tipme_known_at(__u32 which)
{
	return bpf_map_lookup_elem(&tipme_knowns, &which);
}

/* Whether the words that were read have what is known at its places. Global: see above. */
__noinline int tipme_known_has(__u32 which)
{
	struct tipme_known_work *w = tipme_known_work();
	const struct tipme_known *k = tipme_known_at(which);
	__u32 i;

	if (!w || !k)
		return 0;
	for (i = 0; i < TIPME_KNOWN_CHECKS && i < k->checks; i++) {
		__u64 check = k->check[i];

		if (w->word[(check >> 32) % TIPME_KNOWN_INNER] != tipme_known_whole(check))
			return 0;
	}
	return 1;
}

/* Whether p sleeps on that stack. */
static __always_inline bool tipme_known_is(struct task_struct *p, __u32 which,
					   const struct tipme_known *k, struct tipme_known_work *w)
{
	__u64 base = tipme_known_base(p, w), sp = p->thread.sp, last = 0;
	__u32 begins = sp - base, bytes = k->bytes;

	if (k->how != TIPME_KNOWN_ANYWHERE && (k->how != TIPME_KNOWN_AT || begins != k->begins))
		return false;
	__asm__ volatile("" : "+r"(bytes)); /* what is compared is what is used */
	if (!bytes || bytes > TIPME_KNOWN_INNER * 8 || begins + bytes > k->ends)
		return false;
	return !bpf_probe_read_kernel(w->word, bytes, (void *)sp) &&
	       !bpf_probe_read_kernel(&last, sizeof(last), (void *)(base + k->ends)) &&
	       last == tipme_known_whole(k->last) && tipme_known_has(which);
}

/* The id of the stack that p sleeps on if it is the one it slept on before; 0: unwind it. */
static __always_inline __u32 tipme_known_of(struct task_struct *p, __u32 known, __u64 now)
{
	struct tipme_known_work *w = tipme_known_work();
	__u32 which = known - 1, seq, id;
	struct tipme_known *k = tipme_known_at(which);

	if (!w || !known || !k)
		return 0;
	seq = tipme_pool_load(&k->seq);
	tipme_pool_barrier();
	if (seq & 1 || !tipme_known_is(p, which, k, w))
		return 0;
	id = tipme_known_id(k, now);
	tipme_pool_barrier();
	return tipme_pool_load(&k->seq) == seq ? id : 0;
}

#include "learned.bpf.h"

/* The stack that p, which wakes, has slept on; s is its place in the table of sleeps. */
static __noinline __u32 tipme_stack_slept(struct task_struct *p, struct tipme_sleep *s, __u64 now)
{
	__u32 known, id;

	if (!tipme_known_code.sched[0] || !bpf_core_field_exists(p->thread.sp))
		return tipme_stack_of(p, now, TIPME_DEEP_WAKING);
	known = tipme_known_of(p, s->known, now);
	if (known && !tipme_known_checked)
		return known;
	id = tipme_stack_of(p, now, TIPME_DEEP_WAKING);
	if (tipme_known_checked) {
		__sync_fetch_and_add(&tipme_known_count.known, !!known);
		__sync_fetch_and_add(&tipme_known_count.unknown, !known);
		__sync_fetch_and_add(&tipme_known_count.wrong, known && id && known != id);
	}
	s->known = tipme_known_note(p, id, now);
	return id;
}
