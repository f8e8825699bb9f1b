/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stack of a sleeper, known again without unwinding it: the same return addresses lie where
 * they lay when it was unwound.
 *
 * A return address says how much stack its function has, so it says where the next one lies. The
 * first is at the saved stack pointer. If each is found where it was, the unwinder would find the
 * same. Only the entry of a system call has a stack of random size. What lies beyond it, one
 * address, is looked for from the upper end.
 *
 * The unwinder does not tell where addresses lie, and old words look the same. So places are
 * guessed, and count once TIPME_AGAIN_SURE more unwindings have found all addresses there. What a
 * stack holds besides differs from one system call to the next.
 */

/* A stack of the kernel, which lies at a multiple of that; its top has the registers of user space.
 * Below them is where the entry of a system call will go on. */
#define TIPME_AGAIN_STACK 16384
#define TIPME_AGAIN_END (TIPME_AGAIN_STACK - 21 * 8 - 8)
#define TIPME_AGAIN_SURE 8
#define TIPME_AGAIN_GIVE_UP 100
#define TIPME_AGAIN_GUESSES 8192 /* by tid; a power of two */

const volatile bool tipme_again_check = false; /* unwinds what it knows, and compares */

struct tipme_again_guess tipme_again_guesses[TIPME_AGAIN_GUESSES];

TIPME_MAP(tipme_again_cpus, sizeof(struct tipme_again_cpu), 1);
TIPME_MAP(tipme_agains, sizeof(struct tipme_again), 1);

/*
 * Whether the table still has the stack with this id: touched, so that it stays. Claimed meanwhile:
 * then the id finds nothing, never another stack.
 */
static __always_inline bool tipme_stack_touch(__u32 id, __u64 now)
{
	__u32 i = ((id & 0xffff) - 1 - tipme_stack_base) & tipme_stack_mask;
	struct tipme_stack_entry *e = bpf_map_lookup_elem(&tipme_stacks, &i);

	if (!e || (__u16)tipme_pool_load(&e->gen) != (__u16)(id >> 16) ||
	    tipme_pool_load(&e->key) <= TIPME_STACK_BUSY)
		return false;
	tipme_pool_store(&e->used_ns, now);
	return true;
}

/* Whether all addresses are where they should be. Global: see tipme_pool_give(). */
__noinline int tipme_again_same(const struct tipme_again_cpu *w, const struct tipme_frames *f,
				const struct tipme_again *a, __u32 count)
{
	if (!w || !f || !a)
		return 0;
	for (int k = 0; k < TIPME_STACK_FRAMES; k++) {
		if (k >= count)
			break;
		if (w->word[a->at[k]] != f->frame[k])
			return 0;
	}
	return 1;
}

/* Guesses where they are: each at the first word behind the one before that shows it. */
struct tipme_again_search {
	const struct tipme_again_cpu *w;
	const struct tipme_frames *f;
	struct tipme_again *a;
	__u32 count; /* of addresses */
	__u32 k; /* so many are found */
	__u32 last; /* where the last was */
};

static long tipme_again_look(__u32 i, struct tipme_again_search *s)
{
	__u32 k = s->k;

	if (k >= s->count || k >= TIPME_STACK_FRAMES || i >= TIPME_AGAIN_WORDS)
		return 1;
	if (s->w->word[i] != s->f->frame[k])
		return 0;
	s->a->at[k] = i;
	s->last = i;
	s->k = k + 1;
	return 0;
}

/* A call for each word: the verifier looks at one, not at all that may follow each other. */
__noinline int tipme_again_place(const struct tipme_again_cpu *w, const struct tipme_frames *f,
				 struct tipme_again *a, __u32 count, __u32 words)
{
	struct tipme_again_search s = { w, f, a, count };

	if (!w || !f || !a || !count || count > TIPME_STACK_FRAMES)
		return 0;
	bpf_loop(words, tipme_again_look, &s, 0);
	/* the last one counts from the end, if it is there */
	if (s.k + 1 >= count &&
	    w->word[TIPME_AGAIN_WORDS] == f->frame[(count - 1) % TIPME_STACK_FRAMES]) {
		a->at[(count - 1) % TIPME_STACK_FRAMES] = TIPME_AGAIN_WORDS;
		s.k = count;
	}
	a->words = s.last + 1;
	return s.k == count;
}

static __always_inline __u64 tipme_again_end(struct task_struct *p)
{
	return (p->thread.sp & ~(TIPME_AGAIN_STACK - 1ULL)) + TIPME_AGAIN_END;
}

/* The words of a stack that is being learnt. Returns how many there are. */
static __always_inline __u32 tipme_again_read(struct task_struct *p, struct tipme_again_cpu *w)
{
	__u64 sp = p->thread.sp, end = tipme_again_end(p) + 8, words = (end - sp) / 8;

	if (end <= sp)
		return 0;
	if (words > TIPME_AGAIN_WORDS)
		words = TIPME_AGAIN_WORDS;
	/* The compiler knows it by now, the verifier does not. */
	__asm__ volatile("" : "+r"(words));
	words &= TIPME_AGAIN_WORDS;
	w->word[TIPME_AGAIN_WORDS] = 0;
	bpf_probe_read_kernel(&w->word[TIPME_AGAIN_WORDS], 8, (void *)tipme_again_end(p));
	return bpf_probe_read_kernel(w->word, words * 8, (void *)sp) ? 0 : words;
}

/* What an unwinding has found confirms places, or has them guessed anew. */
static __noinline int tipme_again_learn(struct task_struct *p, struct tipme_again_cpu *w, __u32 id,
					const struct tipme_frames *f, __u32 count)
{
	__u32 i = ((id & 0xffff) - 1 - tipme_stack_base) & tipme_stack_mask, words;
	struct tipme_again *a = bpf_map_lookup_elem(&tipme_agains, &i);

	if (!a)
		return 0;
	if (a->id != id) {
		a->sure = 0;
		a->failed = 0;
	} else if (a->sure >= TIPME_AGAIN_SURE || a->failed >= TIPME_AGAIN_GIVE_UP) {
		return 0;
	}
	words = tipme_again_read(p, w);
	if (a->id == id && tipme_again_same(w, f, a, count)) {
		a->sure++;
		return 0;
	}
	tipme_pool_store(&a->id, 0);
	a->sure = 0;
	a->failed++;
	tipme_pool_barrier();
	/* No place, as for stacks deeper than we look: then it is one that no words can have. */
	if (!tipme_again_place(w, f, a, count, words))
		a->words = 0;
	tipme_pool_barrier();
	tipme_pool_store(&a->id, id);
	return 0;
}

/* The id, if p sleeps on that stack; 0: nobody knows. */
static __always_inline __u32 tipme_again_try(struct task_struct *p, struct tipme_again_cpu *w,
					     __u32 id, __u64 now)
{
	__u32 i = ((id & 0xffff) - 1 - tipme_stack_base) & tipme_stack_mask, words, count;
	struct tipme_stack_entry *e = bpf_map_lookup_elem(&tipme_stacks, &i);
	struct tipme_again *a = bpf_map_lookup_elem(&tipme_agains, &i);

	if (!id || !e || !a || tipme_pool_load(&a->id) != id || a->sure < TIPME_AGAIN_SURE)
		return 0;
	words = a->words;
	count = e->count;
	if (!words || words > TIPME_AGAIN_WORDS || !count || count > TIPME_STACK_FRAMES)
		return 0;
	__asm__ volatile("" : "+r"(words));
	words &= TIPME_AGAIN_WORDS;
	if (bpf_probe_read_kernel(w->word, words * 8, (void *)p->thread.sp))
		return 0;
	if (a->at[(count - 1) % TIPME_STACK_FRAMES] == TIPME_AGAIN_WORDS &&
	    bpf_probe_read_kernel(&w->word[TIPME_AGAIN_WORDS], 8, (void *)tipme_again_end(p)))
		return 0;
	if (!tipme_again_same(w, (void *)e->frames, a, count) || tipme_pool_load(&a->id) != id)
		return 0;
	/* It may have been claimed for another while we compared. */
	return tipme_stack_touch(id, now) ? id : 0;
}

/* Unwinds; with places to learn, where the words are ours. */
static __noinline __u32 tipme_again_unwind(struct task_struct *p, struct tipme_again_cpu *w,
					   __u64 now)
{
	struct tipme_frames frames = {};
	long bytes = bpf_get_task_stack(p, &frames, sizeof(frames), 0);
	__u32 id, count = (__u64)bytes / 8;

	if (bytes <= 0 || count > TIPME_STACK_FRAMES)
		return 0;
	id = tipme_stack_counted(tipme_stack_put(&frames, count, now));
	if (id && w)
		tipme_again_learn(p, w, id, &frames, count);
	return id;
}

/*
 * The stack of a sleeper that somebody wakes, who has its lock: it does not move, and interrupts
 * are off, so the words of this CPU are ours.
 */
static __noinline __u32 tipme_stack_again(struct task_struct *p, __u64 now)
{
	struct tipme_again_guess *g = &tipme_again_guesses[(__u32)p->pid % TIPME_AGAIN_GUESSES];
	__u32 cpu = bpf_get_smp_processor_id(), id;
	struct tipme_again_cpu *w = bpf_map_lookup_elem(&tipme_again_cpus, &cpu);

	if (!w)
		return 0;
	id = tipme_again_try(p, w, g->id[0], now);
	id = id ? id : tipme_again_try(p, w, g->id[1], now);
	if (id) {
		w->known++;
		if (tipme_again_check && tipme_again_unwind(p, 0, now) != id)
			w->wrong++;
		return id;
	}
	w->unwound++;
	id = tipme_again_unwind(p, w, now);
	if (id && g->id[0] != id) {
		g->id[1] = g->id[0];
		g->id[0] = id;
	}
	return id;
}
