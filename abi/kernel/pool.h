/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writers of the kernel pool, in any context, wait-free; compiled for BPF and, for its stress
 * tests, for user space.
 */
#ifndef TIPME_POOL_H
#define TIPME_POOL_H

/*
 * A pool is cut into sub-buffers (pool_header, then slots of 32 bytes). A sub-buffer is always in
 * one of four states:
 *
 *   queued    in the queue; all its slots are whole; it is read at leisure
 *   taken     out of the queue, belongs to one writer, which fills in its header (gen first)
 *   current   named by the cursor of one CPU; the writers of this CPU fill its slots
 *   retired   full, on the pending list of its CPU until no writer can be inside; then queued, at
 * the end
 *
 * The queue is in order of retirement. So what a taker overwrites was finished before anything that
 * is still queued, and all CPUs keep the same seconds however unlike their loads are; an idle CPU
 * keeps its current sub-buffer as long as it likes. (When a writer that is preempted, or
 * interrupted by whole sub-buffers, keeps several pending, they are queued newest first: a CPU's
 * coverage may then begin behind a gap among them.)
 *
 * One word a CPU, the cursor, holds the number of the current sub-buffer, the number of writers
 * inside, and the next slot: one fetch-and-add enters and reserves a slot, another leaves. Writers
 * of one CPU nest (an interrupt inside a task's record) and on preemptible real-time kernels may
 * also interleave; nothing here depends on last-in-first-out.
 *
 * A writer that runs with interrupts off (and no NMI writes) needs none of this: no other writer of
 * its CPU begins, goes on or ends before it has ended. It loads the cursor and stores the next
 * slot, without a locked instruction, and is not counted as inside:
 *
 *   - Those it may have interrupted change the cursor by single instructions, which an interrupt
 * does not split, and a compare-and-swap of theirs that it came into fails and is tried again. They
 * find one slot less, as after any nested writer.
 *   - Its sub-buffer stays current until it has ended, for only writers of this CPU turn to
 * another, and only they queue what is retired. So it does not matter that nobody could count it.
 *   - When the sub-buffer is full or something is pending it enters, turns, settles and leaves as
 * the others do. It has left before it fills its slot: nobody is there to see.
 *
 * Where NMIs write, too (TIPME_POOL_NMI), they come between any two instructions of a writer with
 * interrupts off. So it takes its slot by one instruction, which an NMI does not split, and an
 * NMI's writer leaves by tipme_pool_end_nmi(), which queues nothing: what it retires waits for the
 * next other writer of this CPU, and that one begins only after the interrupted one has ended. Such
 * writers may try the one instruction first (tipme_pool_try_irqs_off()): where it gave them a slot
 * they look at nothing else, so what is pending waits on for the next writer that turns, or is
 * counted as inside. A cursor whose slot is below the last names a sub-buffer that is there.
 *
 * A retired sub-buffer may be queued by a writer that is alone inside: whoever was inside when it
 * was retired has then left, and whoever came later took the slot from the new cursor. A writer
 * takes it off the list before it looks whether it is alone, for the other order would let one in
 * between.
 *
 * Where the pool grows while it is written (TIPME_POOL_GROWS) there is a second queue, of spare
 * sub-buffers: takers look there first, so that what is new is used before anything is overwritten.
 * One thread of user space alone fills it (helper/source/kernel_growth.c): the store of a cell
 * makes a sub-buffer spare, and that thread may stop at any point without holding anybody up. It
 * takes sub-buffers off the queues as every other taker does. What it has taken is nobody's, and
 * may leave the pool.
 *
 * Readers take no part: they compare the header's gen before and after (see tipme_pool_copy(),
 * helper/source/kernel_copy.c). All loops are bounded; who runs out of attempts counts the record
 * as lost.
 *
 * The includer defines, before this file: tipme_pool_slots (slots of a sub-buffer), struct
 * tipme_pool_queue *tipme_pool_queue(void), struct tipme_pool_header *tipme_pool_sub(__u32 sub) and
 * __u64 *tipme_pool_cell(__u64 position), each NULL for what is not there;
 * __u64 tipme_pool_clock(void), the records' clock; with TIPME_POOL_NMI also
 * tipme_pool_sub_there(), the same for a sub-buffer that is surely there; with TIPME_POOL_GROWS
 * also tipme_pool_spare() and tipme_pool_spare_cell(), the second queue. A queue has at least as
 * many cells as the pool can have sub-buffers, so a cell is free when its turn comes.
 */

#define TIPME_POOL_SLOT_BYTES 32

/* cursor: sub-buffer 24 bits, writers inside 12 bits, next slot 28 bits */
#define TIPME_POOL_HEAD_MASK ((1ULL << 28) - 1)
#define TIPME_POOL_ENTER (1ULL << 28)
#define TIPME_POOL_INSIDE_MASK (0xfffULL << 28)
#define TIPME_POOL_SUB_SHIFT 40
#define TIPME_POOL_NO_SUB 0xffffffU
/*
 * A CPU that has written nothing stands behind the last slot of no sub-buffer: its first record
 * takes one.
 */
#define TIPME_POOL_CURSOR_START (((__u64)TIPME_POOL_NO_SUB << TIPME_POOL_SUB_SHIFT) | (1ULL << 27))

/*
 * queue cell: its position + 1 in 40 bits, so that a stale one is known, and the sub-buffer in 24
 */
#define TIPME_POOL_CELL_SHIFT 24
#define TIPME_POOL_CELL(pos, sub) ((((pos) + 1) << TIPME_POOL_CELL_SHIFT) | (sub))

#define TIPME_POOL_TAKE_ATTEMPTS 128
#define TIPME_POOL_TURN_ATTEMPTS 4
#define TIPME_POOL_SWAP_ATTEMPTS 16

struct tipme_pool_cpu {
	__u64 cursor;
	__u64 pending; /* sub-buffer + 1, first of a list; 0: empty */
	__u64 taken; /* sub-buffers that became current here */
	__u64 lost_pool;
	__u64 lost_nested;
	__u64 pad0[3];
};

struct tipme_pool_queue {
	__u64 head;
	__u64 pad0[7]; /* takers and givers do not share a cache line */
	__u64 tail;
	__u64 pad1[7];
};

#endif /* TIPME_POOL_H */

/* The writer, for those who ask for it and have defined what it needs. */
#if defined(TIPME_POOL_WRITER) && !defined(TIPME_POOL_WRITER_H)
#define TIPME_POOL_WRITER_H

#define tipme_pool_load(p) (*(const volatile __typeof__(*(p)) *)(p))
#define tipme_pool_store(p, v) (*(volatile __typeof__(*(p)) *)(p) = (v))
/* x86 keeps the order of stores; only the compiler has to be told. */
#define tipme_pool_barrier() __asm__ volatile("" ::: "memory")

#ifndef TIPME_POOL_INLINE
#define TIPME_POOL_INLINE static inline __attribute__((always_inline))
#define TIPME_POOL_SLOW static __attribute__((noinline))
#endif

/*
 * Calls one(0, about), one(1, about) and so on until it returns 1, `times` times at most. BPF has
 * a call of the kernel for that: of a loop its verifier follows each round.
 */
#ifndef TIPME_POOL_ATTEMPTS
#define TIPME_POOL_ATTEMPT TIPME_POOL_INLINE
#define TIPME_POOL_ATTEMPTS(times, one, about)                                                 \
	do {                                                                                   \
		__u32 attempt_;                                                                \
		for (attempt_ = 0; attempt_ < (times) && !one(attempt_, about); attempt_++) {} \
	} while (0)
#endif

TIPME_POOL_INLINE __u32 tipme_pool_cursor_sub(__u64 cursor)
{
	return cursor >> TIPME_POOL_SUB_SHIFT;
}

TIPME_POOL_INLINE int tipme_pool_alone(struct tipme_pool_cpu *c)
{
	return (tipme_pool_load(&c->cursor) & TIPME_POOL_INSIDE_MASK) == TIPME_POOL_ENTER;
}

/* Puts a sub-buffer that no writer is in at the end of the queue. */
TIPME_POOL_SLOW int tipme_pool_give(__u32 sub)
{
	struct tipme_pool_queue *q = tipme_pool_queue();
	struct tipme_pool_header *h = tipme_pool_sub(sub);
	__u64 *cell, pos;

	if (!q || !h)
		return -1;
	tipme_pool_store(&h->owner, 0);
	pos = __sync_fetch_and_add(&q->tail, 1);
	cell = tipme_pool_cell(pos);
	if (!cell)
		return -1;
	tipme_pool_store(cell, TIPME_POOL_CELL(pos, (__u64)sub));
	return 0;
}

TIPME_POOL_INLINE struct tipme_pool_queue *tipme_pool_queue_of(int spare)
{
#ifdef TIPME_POOL_GROWS
	if (spare)
		return tipme_pool_spare();
#endif
	return tipme_pool_queue();
}

TIPME_POOL_INLINE __u64 *tipme_pool_cell_of(int spare, __u64 pos)
{
#ifdef TIPME_POOL_GROWS
	if (spare)
		return tipme_pool_spare_cell(pos);
#endif
	return tipme_pool_cell(pos);
}

/* Which queue something is taken from, and what was taken. */
struct tipme_pool_taking {
	int spare;
	__u32 sub;
};

/* One attempt; returns 1 where there is to be no other. */
TIPME_POOL_ATTEMPT long tipme_pool_take_once(__u32 attempt, struct tipme_pool_taking *t)
{
	struct tipme_pool_queue *q = tipme_pool_queue_of(t->spare);
	__u64 head, v, *cell;

	(void)attempt;
	if (!q)
		return 1;
	head = tipme_pool_load(&q->head);
	cell = tipme_pool_cell_of(t->spare, head);
	if (!cell)
		return 1;
	v = tipme_pool_load(cell);
	/* Where the head has moved another CPU took it: this cell is behind the head now. */
	if (v >> TIPME_POOL_CELL_SHIFT != head + 1)
		return tipme_pool_load(&q->head) == head;
	if (__sync_val_compare_and_swap(&q->head, head, head + 1) != head)
		return 0;
	t->sub = v & 0xffffff;
	return 1;
}

/*
 * Takes what was put into a queue longest ago; TIPME_POOL_NO_SUB if there is none, or its giver is
 * not ready.
 */
TIPME_POOL_INLINE __u32 tipme_pool_take_from(int spare)
{
	struct tipme_pool_taking t = { .spare = spare, .sub = TIPME_POOL_NO_SUB };

	TIPME_POOL_ATTEMPTS(TIPME_POOL_TAKE_ATTEMPTS, tipme_pool_take_once, &t);
	return t.sub;
}

/* What is spare, else the sub-buffer that was given longest ago. */
TIPME_POOL_SLOW __u32 tipme_pool_take(void)
{
#ifdef TIPME_POOL_GROWS
	__u32 sub = tipme_pool_take_from(1);

	if (sub != TIPME_POOL_NO_SUB)
		return sub;
#endif
	return tipme_pool_take_from(0);
}

/*
 * Makes a taken sub-buffer ready for writers. gen changes before all that a reader may be in the
 * middle of, so that it drops what it has; slot_gen comes last, so that who finds the two in
 * agreement finds a whole header. The owner is there before either: a reader must not take what is
 * being prepared for given back.
 */
TIPME_POOL_INLINE void tipme_pool_prepare(struct tipme_pool_header *h, __u32 cpu, __u64 now,
					  __u64 seq)
{
	__u64 gen;

	tipme_pool_store(&h->owner, cpu + 1);
	/* full barrier; partner: the reader's second look at gen */
	gen = __sync_fetch_and_add(&h->gen, 1) + 1;
	tipme_pool_store(&h->cpu, cpu);
	tipme_pool_store(&h->first_ns, now);
	tipme_pool_store(&h->retired_ns, 0);
	tipme_pool_store(&h->seq, seq);
	tipme_pool_store(&h->next, 0);
	tipme_pool_store(&h->slot_gen, 1 + gen % 65535);
}

TIPME_POOL_SLOW int tipme_pool_push(struct tipme_pool_cpu *c, struct tipme_pool_header *h,
				    __u32 sub)
{
	int i;

	if (!c || !h)
		return -1;
	for (i = 0; i < TIPME_POOL_SWAP_ATTEMPTS; i++) {
		__u64 first = tipme_pool_load(&c->pending);

		tipme_pool_store(&h->next, first);
		if (__sync_val_compare_and_swap(&c->pending, first, (__u64)sub + 1) == first)
			return 0;
	}
	/* 16 interrupts in a row, each with a full sub-buffer: this one is not used again */
	__sync_fetch_and_add(&c->lost_nested, 1);
	return -1;
}

/*
 * One that this CPU has retired. Returns 1 if there may be another, 0 if not, or if somebody else
 * is inside.
 */
TIPME_POOL_SLOW int tipme_pool_settle_one(struct tipme_pool_cpu *c)
{
	struct tipme_pool_header *h;
	__u64 first;

	if (!c || !tipme_pool_alone(c))
		return 0;
	first = tipme_pool_load(&c->pending);
	h = first ? tipme_pool_sub(first - 1) : (void *)0;
	if (!h)
		return 0;
	if (__sync_val_compare_and_swap(&c->pending, first, h->next) != first)
		return 1;
	if (!tipme_pool_alone(c)) {
		tipme_pool_push(c, h, first - 1);
		return 0;
	}
	tipme_pool_give(first - 1);
	return 1;
}

/*
 * Queues what this CPU has retired, if no other writer is inside. Only one writer can be alone, so
 * only one takes off the list.
 */
TIPME_POOL_SLOW int tipme_pool_settle(struct tipme_pool_cpu *c)
{
	int i;

	if (!c)
		return -1;
	for (i = 0; i < 8; i++)
		if (!tipme_pool_settle_one(c))
			break;
	return 0;
}

/*
 * Makes `sub` current in place of `full` and reserves its first slot; fails if somebody else has
 * done so.
 */
TIPME_POOL_INLINE int tipme_pool_install(struct tipme_pool_cpu *c, __u32 full, __u32 sub)
{
	int i;

	for (i = 0; i < TIPME_POOL_SWAP_ATTEMPTS; i++) {
		__u64 cur = tipme_pool_load(&c->cursor);
		__u64 next =
			((__u64)sub << TIPME_POOL_SUB_SHIFT) | (cur & TIPME_POOL_INSIDE_MASK) | 1;

		if (tipme_pool_cursor_sub(cur) != full)
			return -1;
		if (__sync_val_compare_and_swap(&c->cursor, cur, next) == cur)
			return 0;
	}
	return -1;
}

TIPME_POOL_INLINE void tipme_pool_retire(struct tipme_pool_cpu *c, __u32 full, __u64 now)
{
	struct tipme_pool_header *h = tipme_pool_sub(full);

	if (!h)
		return;
	tipme_pool_store(&h->retired_ns, now);
	tipme_pool_push(c, h, full);
}

/*
 * The current sub-buffer is full: `cursor` is what we found there. Returns where our slot is in the
 * form of a cursor, or ~0 if lost. The new one begins now, not when our record does: we may have
 * been interrupted since, and what was written then may be overwritten first. While nobody else
 * turns nothing is written, so whatever has its slot before ours was made before the clock is read.
 */
TIPME_POOL_SLOW __u64 tipme_pool_turn(struct tipme_pool_cpu *c, __u32 cpu, __u64 cursor)
{
	__u64 now;
	int i;

	if (!c)
		return ~0ULL;
	for (i = 0; i < TIPME_POOL_TURN_ATTEMPTS; i++) {
		__u32 full = tipme_pool_cursor_sub(cursor);
		struct tipme_pool_header *old = tipme_pool_sub(full);
		__u32 sub = tipme_pool_take();
		struct tipme_pool_header *h = tipme_pool_sub(sub);

		if (!h) {
			__sync_fetch_and_add(&c->lost_pool, 1);
			/*
			 * Take back our step, if we are still the last, lest a long drought
			 * overflow the slot number.
			 */
			__sync_val_compare_and_swap(&c->cursor, cursor + TIPME_POOL_ENTER + 1,
						    cursor + TIPME_POOL_ENTER);
			return ~0ULL;
		}
		now = tipme_pool_clock();
		tipme_pool_prepare(h, cpu, now, old ? old->seq + 1 : 1);
		if (!tipme_pool_install(c, full, sub)) {
			__sync_fetch_and_add(&c->taken, 1);
			tipme_pool_retire(c, full, now);
			return (__u64)sub << TIPME_POOL_SUB_SHIFT;
		}
		/*
		 * An interrupt was faster. Ours goes back, empty: retired_ns 0 and no owner tell
		 * readers so.
		 */
		tipme_pool_give(sub);
		cursor = __sync_fetch_and_add(&c->cursor, 1);
		if ((cursor & TIPME_POOL_HEAD_MASK) < tipme_pool_slots)
			return cursor;
		/* as we found it when we came: the same form for the next round */
		cursor -= TIPME_POOL_ENTER;
	}
	__sync_fetch_and_add(&c->lost_nested, 1);
	return ~0ULL;
}

/*
 * Slot n, which is one, of the sub-buffer that a cursor names: with gen 0, and in *gen what to
 * store there last; NULL if there is none.
 */
TIPME_POOL_INLINE void *tipme_pool_slot_at(__u64 cursor, __u64 n, __u16 *gen)
{
	struct tipme_pool_header *h = tipme_pool_sub(tipme_pool_cursor_sub(cursor));
	struct tipme_head *slot;

	if (!h)
		return (void *)0;
	slot = (void *)((char *)(h + 1) + n * TIPME_POOL_SLOT_BYTES);
	*gen = h->slot_gen;
	tipme_pool_store(&slot->gen, 0);
	tipme_pool_barrier();
	return slot;
}

TIPME_POOL_INLINE void *tipme_pool_slot(__u64 cursor, __u16 *gen)
{
	__u64 n = cursor & TIPME_POOL_HEAD_MASK;

	return n < tipme_pool_slots ? tipme_pool_slot_at(cursor, n, gen) : (void *)0;
}

/* Reserves a slot, or finds that there is none: where, in the form of a cursor. */
TIPME_POOL_INLINE __u64 tipme_pool_enter(struct tipme_pool_cpu *c, __u32 cpu)
{
	__u64 cursor = __sync_fetch_and_add(&c->cursor, TIPME_POOL_ENTER + 1);

	return (cursor & TIPME_POOL_HEAD_MASK) < tipme_pool_slots ? cursor
								  : tipme_pool_turn(c, cpu, cursor);
}

TIPME_POOL_INLINE void tipme_pool_end(struct tipme_pool_cpu *c)
{
	if (tipme_pool_load(&c->pending))
		tipme_pool_settle(c);
	__sync_fetch_and_add(&c->cursor, -TIPME_POOL_ENTER);
}

/*
 * Enters and reserves a slot: returns it, with gen 0, and in *gen what to store there last; NULL if
 * the record is lost. Call tipme_pool_end() in either case.
 */
TIPME_POOL_INLINE void *tipme_pool_begin(struct tipme_pool_cpu *c, __u32 cpu, __u16 *gen)
{
	return tipme_pool_slot(tipme_pool_enter(c, cpu), gen);
}

#ifdef TIPME_POOL_NMI
TIPME_POOL_INLINE void tipme_pool_end_nmi(struct tipme_pool_cpu *c)
{
	__sync_fetch_and_add(&c->cursor, -TIPME_POOL_ENTER);
}

/* Whole for this CPU, and this CPU only: it needs no lock on the bus. */
TIPME_POOL_INLINE __u64 tipme_pool_step(struct tipme_pool_cpu *c)
{
	__u64 cursor = 1;

	__asm__ volatile("xaddq %0, %1" : "+r"(cursor), "+m"(c->cursor) : : "memory", "cc");
	return cursor;
}
#endif

/* What is pending goes first: it is older than what is about to be retired. */
TIPME_POOL_SLOW __u64 tipme_pool_pass(struct tipme_pool_cpu *c, __u32 cpu)
{
	__u64 cursor;

	if (!c)
		return ~0ULL;
	cursor = __sync_fetch_and_add(&c->cursor, TIPME_POOL_ENTER + 1);
	if (tipme_pool_load(&c->pending))
		tipme_pool_settle(c);
	if ((cursor & TIPME_POOL_HEAD_MASK) >= tipme_pool_slots)
		cursor = tipme_pool_turn(c, cpu, cursor);
	tipme_pool_end(c);
	return cursor;
}

/*
 * The same for a writer that runs with interrupts off until its record is whole. There is no end to
 * call.
 */
TIPME_POOL_INLINE void *tipme_pool_begin_irqs_off(struct tipme_pool_cpu *c, __u32 cpu, __u16 *gen)
{
	__u64 cursor = tipme_pool_load(&c->cursor), slots = tipme_pool_slots,
	      n = cursor & TIPME_POOL_HEAD_MASK;

	if (n < slots && !tipme_pool_load(&c->pending)) {
#ifdef TIPME_POOL_NMI
		cursor = tipme_pool_step(c);
		n = cursor & TIPME_POOL_HEAD_MASK;
		if (n >= slots) { /* an NMI took the last one */
			cursor = tipme_pool_pass(c, cpu);
			n = cursor & TIPME_POOL_HEAD_MASK;
		}
#else
		tipme_pool_store(&c->cursor, cursor + 1);
#endif
	} else {
		cursor = tipme_pool_pass(c, cpu);
		n = cursor & TIPME_POOL_HEAD_MASK;
	}
	return n < slots ? tipme_pool_slot_at(cursor, n, gen) : (void *)0;
}

#ifndef TIPME_POOL_NMI
/*
 * The same where it takes no more than a step; NULL: there is more to do; then nothing is taken,
 * and tipme_pool_begin_irqs_off() does it.
 */
TIPME_POOL_INLINE void *tipme_pool_try_begin_irqs_off(struct tipme_pool_cpu *c, __u16 *gen)
{
	__u64 cursor = tipme_pool_load(&c->cursor), n = cursor & TIPME_POOL_HEAD_MASK;
	void *slot;

	if (n >= tipme_pool_slots || tipme_pool_load(&c->pending))
		return (void *)0;
	slot = tipme_pool_slot_at(cursor, n, gen);
	if (slot)
		tipme_pool_store(&c->cursor, cursor + 1);
	return slot;
}
#endif

#ifdef TIPME_POOL_NMI
/*
 * The same where it takes no more than a step: the slot's address, with its second word (type,
 * length, gen 0, tid) stored. NULL: there is more to do; then nothing is taken, and
 * tipme_pool_begin_irqs_off() does it.
 */
TIPME_POOL_INLINE void *tipme_pool_try_irqs_off(struct tipme_pool_cpu *c, __u64 second_word,
						__u16 *gen)
{
	__u64 cursor = tipme_pool_step(c), n = cursor & TIPME_POOL_HEAD_MASK;
	struct tipme_pool_header *h;
	__u64 *slot;

	if (__builtin_expect(n >= tipme_pool_slots, 0)) {
		/* Take back our step, if nobody has come since. */
		__sync_val_compare_and_swap(&c->cursor, cursor + 1, cursor);
		return (void *)0;
	}
	h = tipme_pool_sub_there(tipme_pool_cursor_sub(cursor));
	slot = (__u64 *)(h + 1) + n * (TIPME_POOL_SLOT_BYTES / 8);
	*gen = h->slot_gen;
	/* gen 0 with it: from here on no reader takes the slot */
	tipme_pool_store(slot + 1, second_word);
	tipme_pool_barrier();
	return slot;
}
#endif

/* Makes the record whole. */
TIPME_POOL_INLINE void tipme_pool_commit(struct tipme_head *slot, __u16 gen)
{
	tipme_pool_barrier(); /* partner: the reader loads gen first, and the body only then */
	tipme_pool_store(&slot->gen, gen);
}

#endif /* TIPME_POOL_WRITER_H */
