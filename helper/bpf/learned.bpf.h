/* SPDX-License-Identifier: GPL-2.0-only */
/* How a stack is learned that will be known again; known.bpf.h says why no other is taken for it.
 */

#define TIPME_KNOWN_STEP 8 /* words that are looked at in one call */

static __always_inline bool tipme_known_in(__u64 address, const volatile __u64 *span)
{
	return address - span[0] < span[1] - span[0];
}

/* Whether unwinding leaves this address out. */
static __always_inline bool tipme_known_hidden(__u64 address)
{
	return tipme_known_in(address, tipme_known_code.sched) ||
	       tipme_known_in(address, tipme_known_code.lock);
}

static __always_inline bool tipme_known_syscall(__u64 address)
{
	return tipme_known_in(address, tipme_known_code.syscall);
}

/* A word of the stack that may be the scheduler's, before frame f. */
static __always_inline int tipme_known_hide(struct tipme_known_work *w, __u32 f, __u32 i,
					    __u64 word)
{
	__u32 h = tipme_pool_load(&w->hiddens);

	w->between[f % TIPME_KNOWN_FRAMES] = 1;
	tipme_pool_store(&w->hiddens, h + 1);
	h %= TIPME_KNOWN_HIDDEN * 2;
	w->hidden[h] = word;
	w->hidden_place[h] = i;
	w->hidden_before[h] = f;
	return 0;
}

static __always_inline void tipme_known_inner(struct tipme_known_work *w, __u32 i)
{
	__u32 f = tipme_pool_load(&w->found);
	__u64 word = w->word[i % TIPME_KNOWN_WORDS];

	if (word && word == w->frame[f % TIPME_KNOWN_FRAMES]) {
		w->place[f % TIPME_KNOWN_FRAMES] = i;
		tipme_pool_store(&w->found, f + 1);
	} else if (tipme_known_hidden(word)) {
		tipme_known_hide(w, f, i, word);
	}
}

static long tipme_known_step_inner(__u32 step, void *nothing)
{
	struct tipme_known_work *w = tipme_known_work();
	__u32 i;

	if (!w)
		return 1;
	for (i = 0; i < TIPME_KNOWN_STEP; i++)
		if (step * TIPME_KNOWN_STEP + i < w->words)
			tipme_known_inner(w, step * TIPME_KNOWN_STEP + i);
	return 0;
}

static __always_inline __u32 tipme_known_steps(__u32 words)
{
	return (words + TIPME_KNOWN_STEP - 1) / TIPME_KNOWN_STEP;
}

/*
 * The innermost way to find all frames in the first `words` words. Returns how many it found. The
 * verifier follows each round of a loop; of bpf_loop() it follows one. Each round of that is a
 * call, whose return some CPUs are kept from predicting: so it looks at some words.
 */
__noinline int tipme_known_find_inner(__u32 words)
{
	struct tipme_known_work *w = tipme_known_work();
	__u32 i;

	if (!w)
		return 0;
	w->found = 0;
	w->words = words;
	w->hiddens = 0;
	for (i = 0; i < TIPME_KNOWN_FRAMES; i++) {
		w->between[i] = 0;
		w->unsure[i] = 0;
	}
	bpf_loop(tipme_known_steps(words), tipme_known_step_inner, NULL, 0);
	return w->found;
}

static __always_inline void tipme_known_outer(struct tipme_known_work *w, __u32 at)
{
	__u32 f = tipme_pool_load(&w->found) - 1;

	if (w->word[at % TIPME_KNOWN_WORDS] != w->frame[f % TIPME_KNOWN_FRAMES])
		return;
	w->unsure[f % TIPME_KNOWN_FRAMES] = w->place[f % TIPME_KNOWN_FRAMES] != at;
	tipme_pool_store(&w->found, f);
}

static long tipme_known_step_outer(__u32 step, void *nothing)
{
	struct tipme_known_work *w = tipme_known_work();
	__u32 i;

	if (!w || !w->found)
		return 1;
	for (i = 0; i < TIPME_KNOWN_STEP; i++)
		if (step * TIPME_KNOWN_STEP + i < w->words && tipme_pool_load(&w->found))
			tipme_known_outer(w, w->words - 1 - step * TIPME_KNOWN_STEP - i);
	return 0;
}

/* The outermost way: where it differs, the place is not sure. Returns how many it did not find. */
__noinline int tipme_known_find_outer(__u32 words, __u32 count)
{
	struct tipme_known_work *w = tipme_known_work();

	if (!w)
		return 1;
	w->found = count;
	w->words = words;
	bpf_loop(tipme_known_steps(words), tipme_known_step_outer, NULL, 0);
	return w->found;
}

static __always_inline __u64 tipme_known_word(const struct tipme_known_work *w, __u32 i)
{
	return w->word[i % TIPME_KNOWN_WORDS];
}

/*
 * Whether registers were saved with the address at this place, by an exception in the kernel: code
 * segment, flags, of which one is always set, and stack pointer come next.
 */
static __always_inline bool tipme_known_excepted(const struct tipme_known_work *w, __u32 place,
						 __u64 sp)
{
	__u64 segment = tipme_known_word(w, place + 1), flags = tipme_known_word(w, place + 2);
	__u64 beyond = tipme_known_word(w, place + 3) - (sp + (place + 4) * 8);

	return !((segment | flags) >> 32) && flags & 2 && beyond <= TIPME_KNOWN_BEYOND;
}

static __always_inline struct tipme_known_lesson *tipme_known_lesson(__u32 which)
{
	return bpf_map_lookup_elem(&tipme_known_lessons, &which);
}

/*
 * Learns the ways that this stack shows. Returns how many are missing. `lenient`: where words that
 * may be the scheduler's lie between two addresses, they can be looked at each time.
 */
__noinline int tipme_known_ways(__u32 which, __u64 sp, bool lenient)
{
	struct tipme_known_work *w = tipme_known_work();
	struct tipme_known *k = tipme_known_at(which);
	struct tipme_known_lesson *l = tipme_known_lesson(which);
	__u32 i;

	if (!w || !k || !l)
		return 1;
	tipme_pool_store(&w->found, 0);
	w->look[0] = 1;
	for (i = 0; i < TIPME_KNOWN_FRAMES - 1; i++) {
		bool syscall = tipme_known_syscall(w->frame[i]), sure;
		__u32 way = w->place[i + 1] - w->place[i];

		w->look[i + 1] = 0;
		if (i + 1 >= w->count || (syscall && i + 2 == w->count))
			break;
		sure = !syscall && !w->unsure[i] && !w->unsure[i + 1] &&
		       !tipme_known_excepted(w, w->place[i], sp);
		if (sure && !w->between[i + 1]) {
			if (l->way[i] && l->way[i] != way)
				k->how = TIPME_KNOWN_NEVER;
			l->way[i] = way;
		}
		if (!l->way[i] && !(sure && lenient))
			tipme_pool_store(&w->found, tipme_pool_load(&w->found) + 1);
		w->look[i + 1] = !l->way[i];
	}
	return tipme_pool_load(&w->found);
}

/* One more word that is looked at, at that place. What is counted is in memory: see above. */
static __always_inline void tipme_known_check(struct tipme_known_work *w, struct tipme_known *k,
					      __u32 place, __u64 word)
{
	__u32 i = tipme_pool_load(&k->checks), bytes = (place + 1) * 8;

	if (i >= TIPME_KNOWN_CHECKS || word != tipme_known_whole(word)) {
		w->unfit = 1;
		return;
	}
	k->check[i] = (__u64)place << 32 | (__u32)word;
	tipme_pool_store(&k->checks, i + 1);
	if (bytes > tipme_pool_load(&k->bytes))
		tipme_pool_store(&k->bytes, bytes);
}

/* Where the addresses are that are looked at, when all ways are learned. */
__noinline int tipme_known_places(__u32 which)
{
	struct tipme_known_work *w = tipme_known_work();
	struct tipme_known *k = tipme_known_at(which);
	const struct tipme_known_lesson *l = tipme_known_lesson(which);
	__u32 i;

	if (!w || !k || !l)
		return 0;
	tipme_pool_store(&w->place_next, w->place[0]);
	for (i = 0; i < TIPME_KNOWN_FRAMES - 1; i++) {
		__u32 place = tipme_pool_load(&w->place_next), way = l->way[i];

		if (i + 1 >= w->count)
			break;
		tipme_known_check(w, k, place, w->frame[i]);
		tipme_pool_store(&w->place_next,
				 place + (way ? way : w->place[i + 1] - w->place[i]));
	}
	return 0;
}

/* Where the words are that may be the scheduler's. Returns how many they are. */
__noinline int tipme_known_hidden_places(__u32 which)
{
	struct tipme_known_work *w = tipme_known_work();
	struct tipme_known *k = tipme_known_at(which);
	__u32 i;

	if (!w || !k)
		return 0;
	tipme_pool_store(&k->checks, 0);
	tipme_pool_store(&k->bytes, 0);
	w->unfit = 0;
	for (i = 0; i < TIPME_KNOWN_HIDDEN * 2; i++) {
		if (i >= w->hiddens)
			break;
		if (w->look[w->hidden_before[i] % TIPME_KNOWN_FRAMES])
			tipme_known_check(w, k, w->hidden_place[i], w->hidden[i]);
	}
	return k->checks;
}

/* Reads the whole stack, up to the registers, and looks for the frames. Returns its words, or 0. */
static __always_inline __u32 tipme_known_look(struct task_struct *p)
{
	struct tipme_known_work *w = tipme_known_work();
	__u64 sp = p->thread.sp, bytes;
	__u32 count;

	if (!w)
		return 0;
	count = w->count;
	tipme_pool_store(&w->end, (__u64)bpf_task_pt_regs(p));
	bytes = tipme_pool_load(&w->end) - sp;
	if (bytes < 16 || bytes > sizeof(w->word))
		return 0;
	if (bpf_probe_read_kernel(w->word, bytes, (void *)sp))
		return 0;
	if (tipme_known_find_inner(bytes / 8) != count || tipme_known_find_outer(bytes / 8, count))
		return 0;
	/* the last frame, right beneath the registers */
	return w->word[(bytes / 8 - 1) % TIPME_KNOWN_WORDS] ==
			       w->frame[(count - 1) % TIPME_KNOWN_FRAMES]
		       ? bytes / 8
		       : 0;
}

/*
 * What this stack, which has just been unwound, teaches. That it was unwound though it is known
 * means that other words were looked at, so it is learned anew.
 */
static __always_inline void tipme_known_learn(struct task_struct *p, __u32 which,
					      struct tipme_known *k, __u32 begins, __u64 now)
{
	struct tipme_known_work *w = tipme_known_work();
	struct tipme_known_lesson *l = tipme_known_lesson(which);
	__u32 words, try = l ? l->tries++ : 0;
	__u64 last;

	k->again_ns =
		now + (k->how == TIPME_KNOWN_NOT && try < TIPME_KNOWN_TRIES ? TIPME_KNOWN_AGAIN_NS
									    : TIPME_KNOWN_LATER_NS);
	words = tipme_known_look(p);
	if (!w || !words || tipme_known_ways(which, p->thread.sp, try > TIPME_KNOWN_STRICT) ||
	    w->unsure[0] || w->hiddens > TIPME_KNOWN_HIDDEN * 2 || k->how == TIPME_KNOWN_NEVER)
		return;
	k->how = TIPME_KNOWN_NOT;
	if (tipme_known_hidden_places(which) > TIPME_KNOWN_HIDDEN)
		return;
	tipme_known_places(which);
	last = w->frame[(w->count - 1) % TIPME_KNOWN_FRAMES];
	if (w->unfit || last != tipme_known_whole(last))
		return;
	k->last = last;
	k->begins = begins;
	k->ends = begins + (words - 1) * 8;
	k->how = tipme_known_syscall(w->frame[(w->count - 2) % TIPME_KNOWN_FRAMES])
			 ? TIPME_KNOWN_ANYWHERE
			 : TIPME_KNOWN_AT;
}

__noinline int tipme_known_forget(__u32 which)
{
	struct tipme_known *k = tipme_known_at(which);
	struct tipme_known_lesson *l = tipme_known_lesson(which);
	__u32 i;

	if (!k || !l)
		return 0;
	k->how = TIPME_KNOWN_NOT;
	k->again_ns = 0;
	l->tries = 0;
	for (i = 0; i < TIPME_KNOWN_FRAMES; i++)
		l->way[i] = 0;
	return 0;
}

static __always_inline struct tipme_stack_entry *tipme_known_entry(__u32 stack_id)
{
	__u32 i = tipme_known_index(stack_id);

	return bpf_map_lookup_elem(&tipme_stacks, &i);
}

/* Whether nobody has slept on it for a while, or nothing is there. */
static __always_inline bool tipme_known_is_idle(const struct tipme_known *k, __u64 now)
{
	const struct tipme_stack_entry *e = tipme_known_entry(k->stack_id);

	return !k->all || !e || now > tipme_pool_load(&e->used_ns) + TIPME_KNOWN_IDLE_NS;
}

/* Changes what is known of the stack that p sleeps on, which has just been unwound. */
static __always_inline int tipme_known_change(struct task_struct *p, __u32 which, __u32 id,
					      __u64 now)
{
	struct tipme_known_work *w = tipme_known_work();
	const struct tipme_stack_entry *e = tipme_known_entry(id);
	struct tipme_known *k = tipme_known_at(which);
	__u32 seq;

	if (!w || !e || !k)
		return 0;
	seq = tipme_pool_load(&k->seq);
	if (seq & 1 || __sync_val_compare_and_swap(&k->seq, seq, seq + 1) != seq)
		return 0;
	if (k->all != w->all)
		tipme_known_forget(which);
	k->all = w->all;
	k->stack_id = id;
	k->key = tipme_pool_load(&e->key);
	k->touched_ns = now; /* by who unwound it */
	if (now >= k->again_ns)
		tipme_known_learn(p, which, k, p->thread.sp - tipme_known_base(p, w), now);
	tipme_pool_barrier();
	tipme_pool_store(&k->seq, seq + 2);
	return 0;
}

/* Where a stack is known, or may be: one of two places. */
static __always_inline __u32 tipme_known_place(__u64 all, __u64 now)
{
	__u32 which = all % TIPME_KNOWN;
	const struct tipme_known *k = tipme_known_at(which), *other = tipme_known_at(which ^ 1);

	if (!k || !other)
		return TIPME_KNOWN;
	if (k->all == all || (other->all != all && tipme_known_is_idle(k, now)))
		return which;
	return other->all == all || tipme_known_is_idle(other, now) ? which ^ 1 : TIPME_KNOWN;
}

/* The frames that were unwound, with nothing after them, and what they are found by. */
__noinline int tipme_known_take(void)
{
	struct tipme_known_work *w = tipme_known_work();
	__u32 waking = TIPME_DEEP_WAKING, i;
	const struct tipme_deep *deep = bpf_map_lookup_elem(&tipme_deeps, &waking);

	if (!w || !deep)
		return 0;
	w->count = deep->count;
	for (i = 0; i < TIPME_KNOWN_FRAMES; i++)
		w->frame[i] = i < w->count ? deep->frame[i] : 0;
	w->all = tipme_rule_stack_hash(w->frame, TIPME_KNOWN_FRAMES, TIPME_KNOWN_FRAMES, 0);
	return w->count > 1 && w->count <= TIPME_KNOWN_FRAMES;
}

/*
 * p sleeps on the stack `id`, which has just been unwound: it may be known later. Returns where it
 * is known, and one more; 0: nowhere.
 */
static __noinline __u32 tipme_known_note(struct task_struct *p, __u32 id, __u64 now)
{
	struct tipme_known_work *w = tipme_known_work();
	const struct tipme_known *k;
	__u32 which;

	if (!w || !id || !tipme_known_take())
		return 0;
	which = tipme_known_place(w->all, now);
	k = tipme_known_at(which);
	if (!k)
		return 0;
	if (k->all != w->all || k->stack_id != id ||
	    (k->how != TIPME_KNOWN_NEVER && now >= k->again_ns))
		tipme_known_change(p, which, id, now);
	return k->how == TIPME_KNOWN_AT || k->how == TIPME_KNOWN_ANYWHERE ? which + 1 : 0;
}
