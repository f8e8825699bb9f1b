// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies the kernel pool while it is written to: no lock, no allocation, no system call; what is
 * copied is whole.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel_copy.h"
#include "pool.h"

#define LOAD(p) (*(const volatile __typeof__(*(p)) *)(p))
/* x86 keeps the order of loads; only the compiler has to be told. */
#define READ_BARRIER() __asm__ volatile("" ::: "memory")

/* One sub-buffer as it was found: its header, and how far it is copied. */
struct sub_state {
	uint64_t gen;
	uint64_t seq;
	uint64_t first_ns;
	uint32_t cpu;
	uint32_t closed; /* given back: every slot must be whole */
};

struct sub_seen {
	uint64_t gen; /* copied under this generation */
	uint32_t slots; /* so many from the beginning */
	uint32_t done;
};

/* The sub-buffer of a CPU that was copied last. */
struct cpu_run {
	uint64_t seq; /* 0: none yet */
	int whole; /* to its last slot: the next sub-buffer follows without a gap */
	/*
	 * Full ones with a record that was still being written when later ones were copied: they
	 * may become whole.
	 */
	/* where this run and, but for them, its coverage begin */
	uint64_t from_seq, before_holes_ns;
	unsigned int holes;
	/*
	 * not 0: the copy of this CPU ends here, since something later found no room, or was
	 * overwritten
	 */
	uint64_t until_ns;
	uint64_t last_ns; /* newest record copied */
};

struct tipme_kernel_seen {
	struct sub_state *state; /* of each sub-buffer, this time */
	struct sub_seen *seen;
	uint32_t *order;
	struct cpu_run *run; /* of each CPU */
	size_t count, next; /* of order: in this pass, and done of it */
	size_t used; /* of seen: behind these it is empty */
	size_t kept; /* sub-buffers for which there is always memory */
	size_t bytes; /* mapped for each of state, seen and order, one behind the other */
	int more; /* the pass appends to a copy */
};

/*
 * What a copy needs at once is there from the start; what comes after it is made when it is
 * written.
 */
#define READY_BYTES (1U << 20)

static unsigned int slots_of(const struct tipme_pool_view *v)
{
	return (v->subbuf_bytes - sizeof(struct tipme_pool_header)) / TIPME_POOL_SLOT_BYTES;
}

/* Of so many sub-buffers, each with its section. */
static size_t bytes_of(const struct tipme_pool_view *v, size_t subs)
{
	return (sizeof(struct tipme_section) + (size_t)slots_of(v) * TIPME_POOL_SLOT_BYTES) * subs;
}

size_t tipme_pool_copy_bytes(const struct tipme_pool_view *v)
{
	size_t subs = tipme_pool_subs_most(v);

	return bytes_of(v, subs + subs / 2 + 2 * v->cpus);
}

static void *touched(size_t n, size_t size)
{
	void *p = malloc(n * size);

	if (p)
		memset(p, 0, n * size);
	return p;
}

static void *mapped(size_t size, size_t touched)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	memset(p, 0, touched);
	return p;
}

void tipme_pool_seen_free(struct tipme_kernel_seen *s)
{
	if (!s)
		return;
	if (s->state)
		munmap(s->state, 3 * s->bytes);
	free(s->run);
	free(s);
}

/*
 * Room for each sub-buffer that there may be. What the pool has not grown to yet is address space
 * alone: where all memory was locked, tipme_pool_seen_release() makes it so again.
 */
struct tipme_kernel_seen *tipme_pool_seen_alloc(const struct tipme_pool_view *v)
{
	struct tipme_kernel_seen *s = touched(1, sizeof(*s));
	size_t subs = tipme_pool_subs(v), page = (size_t)sysconf(_SC_PAGESIZE);

	if (!s)
		return NULL;
	s->kept = subs;
	s->bytes = (tipme_pool_subs_most(v) * sizeof(*s->state) + page - 1) / page * page;
	s->state = mapped(3 * s->bytes, subs * sizeof(*s->state));
	s->run = touched(v->cpus, sizeof(*s->run));
	if (!s->state || !s->run) {
		tipme_pool_seen_free(s);
		return NULL;
	}
	s->seen = (void *)((char *)s->state + s->bytes);
	s->order = (void *)((char *)s->state + 2 * s->bytes);
	memset(s->seen, 0, subs * sizeof(*s->seen));
	memset(s->order, 0, subs * sizeof(*s->order));
	return s;
}

static void tail_release(char *table, size_t kept, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), from = (kept + page - 1) / page * page;

	if (from >= bytes)
		return;
	munlock(table + from, bytes - from);
	madvise(table + from, bytes - from, MADV_DONTNEED);
}

void tipme_pool_seen_release(struct tipme_kernel_seen *s)
{
	tail_release((char *)s->state, s->kept * sizeof(*s->state), s->bytes);
	tail_release((char *)s->seen, s->kept * sizeof(*s->seen), s->bytes);
	tail_release((char *)s->order, s->kept * sizeof(*s->order), s->bytes);
}

int tipme_pool_copy_alloc(const struct tipme_pool_view *v, struct tipme_kernel_copy *c)
{
	memset(c, 0, sizeof(*c));
	c->cpus = v->cpus;
	c->size = tipme_pool_copy_bytes(v);
	c->kept = c->size < READY_BYTES ? c->size : READY_BYTES;
	c->seen = tipme_pool_seen_alloc(v);
	c->buf = mapped(c->size, c->kept);
	c->coverage = touched(v->cpus, sizeof(*c->coverage));
	if (c->seen && c->buf && c->coverage)
		return 0;
	tipme_kernel_copy_free(c);
	return -ENOMEM;
}

void tipme_kernel_copy_free(struct tipme_kernel_copy *c)
{
	if (c->second)
		tipme_kernel_copy_free(c->second);
	free(c->second);
	tipme_pool_seen_free(c->seen);
	if (c->buf)
		munmap(c->buf, c->size);
	free(c->coverage);
	memset(c, 0, sizeof(*c));
}

/* The part that is made when it is written, in whole pages; 0: there is none. */
static size_t spare_of(const struct tipme_kernel_copy *c, void **begin)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE),
		  from = ((uintptr_t)c->buf + c->kept + page - 1) & ~(page - 1);
	uintptr_t end = (uintptr_t)c->buf + c->size;

	*begin = (void *)from;
	return c->buf && from < end ? end - from : 0;
}

void tipme_kernel_copy_spare_hide(struct tipme_kernel_copy *c)
{
	void *begin;
	size_t bytes = spare_of(c, &begin);

	if (bytes)
		mprotect(begin, bytes, PROT_NONE);
}

void tipme_kernel_copy_spare_release(struct tipme_kernel_copy *c)
{
	void *begin;
	size_t bytes = spare_of(c, &begin);

	if (c->seen)
		tipme_pool_seen_release(c->seen);
	if (!bytes)
		return;
	munlock(begin, bytes); /* what is locked is not given back */
	madvise(begin, bytes, MADV_DONTNEED);
	madvise(begin, bytes, MADV_HUGEPAGE); /* fewer faults while it is written */
	mprotect(begin, bytes, PROT_READ | PROT_WRITE);
}

/*
 * Reads a header. Returns 0 if nothing was ever behind it, or if it is just changing: then its
 * records are newer than this copy.
 */
static int sub_look(const struct tipme_pool_view *v, uint32_t sub, struct sub_state *st)
{
	const struct tipme_pool_header *h = tipme_pool_at(v, sub);
	uint64_t retired, slot_gen;
	uint32_t owner;

	st->gen = LOAD(&h->gen);
	READ_BARRIER();
	slot_gen = LOAD(&h->slot_gen);
	READ_BARRIER();
	owner = LOAD(&h->owner);
	retired = LOAD(&h->retired_ns);
	st->cpu = LOAD(&h->cpu);
	st->seq = LOAD(&h->seq);
	st->first_ns = LOAD(&h->first_ns);
	st->closed = !owner;
	READ_BARRIER();
	if (slot_gen != 1 + st->gen % 65535 || (!owner && !retired) || st->cpu >= v->cpus)
		return 0;
	return LOAD(&h->gen) == st->gen;
}

/*
 * What began first is copied first, for it is overwritten first. That is also the order of each
 * CPU: a sub-buffer begins when the one before it is full. (Sub-buffers are overwritten in the
 * order in which they were full; where a slow CPU's was begun long before, it is copied earlier
 * than it need be.)
 */
static int before(const struct sub_state *a, const struct sub_state *b)
{
	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns;
	return a->cpu != b->cpu ? a->cpu < b->cpu : a->seq < b->seq;
}

static void sift(const struct tipme_kernel_seen *s, size_t root, size_t n)
{
	size_t child;

	while ((child = 2 * root + 1) < n) {
		uint32_t tmp = s->order[root];

		if (child + 1 < n &&
		    before(&s->state[s->order[child]], &s->state[s->order[child + 1]]))
			child++;
		if (!before(&s->state[tmp], &s->state[s->order[child]]))
			return;
		s->order[root] = s->order[child];
		s->order[child] = tmp;
		root = child;
	}
}

/* Heap sort: the C library's qsort() allocates. */
static void sort_by_age(const struct tipme_kernel_seen *s, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(s, i, n);
	for (size_t end = n; end-- > 1;) {
		uint32_t tmp = s->order[0];

		s->order[0] = s->order[end];
		s->order[end] = tmp;
		sift(s, 0, end);
	}
}

/* Copies one slot if it is whole: gen is loaded first, the rest only then. */
static int slot_read(const uint64_t *slot, uint16_t gen, uint64_t *out)
{
	uint64_t word = LOAD(&slot[1]); /* type, length, gen and tid, at once */

	if ((uint16_t)(word >> 16) != gen)
		return 0;
	READ_BARRIER();
	out[0] = LOAD(&slot[0]);
	out[1] = word & ~0xffff0000ULL;
	out[2] = LOAD(&slot[2]);
	out[3] = LOAD(&slot[3]);
	return 1;
}

struct section_sum {
	uint64_t first_ns, last_ns, count, torn, cut;
	uint32_t end; /* slots that need not be looked at again */
};

/*
 * Where the next section's records go; the end of the buffer where there is no room, or the CPU's
 * copy has ended.
 */
static char *room_at(const struct tipme_kernel_copy *c, uint32_t cpu)
{
	size_t used = c->len + sizeof(struct tipme_section);

	return (char *)c->buf + (c->seen->run[cpu].until_ns || used > c->size ? c->size : used);
}

static void slots_read(const struct tipme_pool_view *v, struct tipme_kernel_copy *c,
		       const struct tipme_pool_header *h, const struct sub_state *st, uint32_t from,
		       struct section_sum *sum)
{
	const uint64_t *slots = (const uint64_t *)(h + 1);
	char *end = (char *)c->buf + c->size;
	char *out = room_at(c, st->cpu);
	uint16_t gen = 1 + st->gen % 65535;
	uint64_t rec[TIPME_POOL_SLOT_BYTES / 8];

	*sum = (struct section_sum){ .first_ns = ~0ULL };
	for (sum->end = from; sum->end < slots_of(v); sum->end++) {
		if (!slot_read(slots + sum->end * (TIPME_POOL_SLOT_BYTES / 8), gen, rec)) {
			if (!st->closed)
				/*
				 * not written yet; this one and what is behind it will be there
				 * next time
				 */
				break;
			sum->torn++;
			continue;
		}
		if (out >= end || (size_t)(end - out) < sizeof(rec)) {
			sum->cut++;
			continue;
		}
		memcpy(out, rec, sizeof(rec));
		out += sizeof(rec);
		sum->count++;
		sum->first_ns = rec[0] < sum->first_ns ? rec[0] : sum->first_ns;
		sum->last_ns = rec[0] > sum->last_ns ? rec[0] : sum->last_ns;
	}
}

static void section_write(const struct tipme_pool_view *v, struct tipme_kernel_copy *c,
			  const struct sub_state *st, const struct section_sum *sum)
{
	struct tipme_section sec = {
		.ts_ns = sum->first_ns,
		.type = TIPME_SECTION,
		.len8 = sizeof(sec) / 8,
		.source = v->source,
		.cpu = st->cpu,
		.first_ns = sum->first_ns,
		.last_ns = sum->last_ns,
		.count = sum->count,
		.body_len = sum->count * TIPME_POOL_SLOT_BYTES,
	};

	memcpy((char *)c->buf + c->len, &sec, sizeof(sec));
	c->len += sizeof(sec) + sum->count * TIPME_POOL_SLOT_BYTES;
	c->records += sum->count;
	c->coverage[st->cpu].records += sum->count;
}

static int follows(const struct cpu_run *run, const struct sub_state *st)
{
	return run->seq && (st->seq == run->seq || (run->whole && st->seq == run->seq + 1));
}

/*
 * What was begun when the sub-buffers after it were copied has come: the last such one gives back
 * what they were taken for.
 */
static void hole_fill(struct cpu_run *run, struct tipme_kernel_coverage *coverage,
		      const struct sub_state *st)
{
	if (st->seq >= run->from_seq && run->holes && !--run->holes)
		coverage->first_ns = run->before_holes_ns;
}

/* A CPU is covered from its oldest sub-buffer on, after which no record is missing. */
static void coverage_extend(const struct tipme_pool_view *v, struct tipme_kernel_seen *s,
			    struct tipme_kernel_coverage *coverage, const struct sub_state *st,
			    int whole)
{
	struct tipme_kernel_coverage *cov = &coverage[st->cpu];
	struct cpu_run *run = &s->run[st->cpu];

	if (run->seq && !run->whole && st->seq == run->seq + 1) {
		if (!run->holes++)
			run->before_holes_ns = cov->first_ns;
		cov->first_ns = st->first_ns;
	} else if (!follows(run, st)) {
		run->from_seq = st->seq;
		run->holes = 0;
		cov->first_ns = st->seq == 1 ? v->start_ns : st->first_ns;
	}
	run->seq = st->seq;
	run->whole = whole;
}

/*
 * After the trigger, what was overwritten before we came again ends the copy of its CPU: what led
 * to the trigger must not go.
 */
static void gap_cut(const struct tipme_pool_view *v, struct tipme_kernel_copy *c,
		    const struct sub_state *st)
{
	struct cpu_run *run = &c->seen->run[st->cpu];

	if (run->until_ns || !run->seq || st->seq < run->seq || follows(run, st))
		return;
	run->until_ns = run->last_ns;
	c->cut += (st->seq - run->seq - 1) * slots_of(v);
}

static void sub_copy(const struct tipme_pool_view *v, struct tipme_kernel_copy *c, uint32_t sub,
		     int more)
{
	const struct tipme_pool_header *h = tipme_pool_at(v, sub);
	const struct sub_state *st = &c->seen->state[sub];
	struct sub_seen *seen = &c->seen->seen[sub];
	struct cpu_run *run = &c->seen->run[st->cpu];
	uint32_t from = seen->gen == st->gen ? seen->slots : 0;
	struct section_sum sum;
	int whole;

	if (more)
		gap_cut(v, c, st);
	slots_read(v, c, h, st, from, &sum);
	READ_BARRIER(); /* partner: tipme_pool_prepare(), which changes gen before any slot */
	if (LOAD(&h->gen) != st->gen)
		/*
		 * overwritten meanwhile: it was the oldest, or its new content is newer than this
		 * copy
		 */
		return;
	seen->gen = st->gen;
	seen->slots = sum.end;
	seen->done = st->closed;
	c->torn += sum.torn;
	c->cut += sum.cut;
	whole = sum.end == slots_of(v);
	if (run->seq > st->seq && whole && from < sum.end)
		hole_fill(run, &c->coverage[st->cpu], st);
	else if (run->seq <= st->seq && !run->until_ns)
		coverage_extend(v, c->seen, c->coverage, st, whole);
	run->last_ns = sum.last_ns > run->last_ns ? sum.last_ns : run->last_ns;
	if (sum.cut && !run->until_ns)
		run->until_ns = run->last_ns ? run->last_ns : st->first_ns;
	if (sum.count)
		section_write(v, c, st, &sum);
}

/* Finds the sub-buffers that are not done, the oldest first. Returns how many. */
static size_t survey(const struct tipme_pool_view *v, struct tipme_kernel_seen *s)
{
	size_t n = 0, subs = tipme_pool_subs(v);

	s->used = subs > s->used ? subs : s->used;
	for (uint32_t sub = 0; sub < subs; sub++) {
		if (!sub_look(v, sub, &s->state[sub]))
			continue;
		if (!s->seen[sub].done || s->seen[sub].gen != s->state[sub].gen)
			s->order[n++] = sub;
	}
	sort_by_age(s, n);
	return n;
}

static void coverage_reset(const struct tipme_pool_view *v, struct tipme_kernel_seen *s,
			   struct tipme_kernel_coverage *coverage)
{
	memset(s->run, 0, v->cpus * sizeof(*s->run));
	for (unsigned int i = 0; i < v->cpus; i++)
		coverage[i] = (struct tipme_kernel_coverage){ .first_ns = v->start_ns };
}

static void coverage_until(const struct tipme_pool_view *v, const struct tipme_kernel_seen *s,
			   struct tipme_kernel_coverage *coverage, uint64_t now)
{
	for (unsigned int i = 0; i < v->cpus; i++)
		coverage[i].last_ns = s->run[i].until_ns ? s->run[i].until_ns : now;
}

void tipme_pool_coverage(const struct tipme_pool_view *v, struct tipme_kernel_seen *s,
			 struct tipme_kernel_coverage *coverage, uint64_t now)
{
	size_t n = survey(v, s);

	coverage_reset(v, s, coverage);
	for (size_t i = 0; i < n; i++)
		coverage_extend(v, s, coverage, &s->state[s->order[i]], 1);
	coverage_until(v, s, coverage, now);
}

uint64_t tipme_pool_reach_ns(const struct tipme_pool_view *v)
{
	uint64_t oldest = UINT64_MAX;
	uint32_t subs = tipme_pool_subs(v);

	for (uint32_t sub = 0; sub < subs; sub++) {
		const struct tipme_pool_header *h = tipme_pool_at(v, sub);
		uint64_t retired = LOAD(&h->retired_ns);

		/*
		 * Never used: nothing was overwritten yet. What the pool has grown by says nothing.
		 */
		if (!LOAD(&h->gen) && (!v->subs_first || sub < v->subs_first))
			return v->start_ns;
		if (retired && retired < oldest)
			oldest = retired;
	}
	return oldest == UINT64_MAX ? v->start_ns : oldest;
}

static void copy_reset(const struct tipme_pool_view *v, struct tipme_kernel_copy *c)
{
	c->len = 0;
	c->records = 0;
	c->torn = 0;
	c->cut = 0;
	memset(c->seen->seen, 0, c->seen->used * sizeof(*c->seen->seen));
	c->seen->used = 0;
	coverage_reset(v, c->seen, c->coverage);
}

void tipme_pool_copy_begin(const struct tipme_pool_view *v, struct tipme_kernel_copy *c,
			   uint64_t now, int more)
{
	if (!more)
		copy_reset(v, c);
	c->seen->more = more;
	c->seen->count = survey(v, c->seen);
	c->seen->next = 0;
	c->until_ns = now;
}

int tipme_pool_copy_part(const struct tipme_pool_view *v, struct tipme_kernel_copy *c, size_t bytes)
{
	struct tipme_kernel_seen *s = c->seen;
	size_t end = bytes < SIZE_MAX - c->len ? c->len + bytes : SIZE_MAX;

	while (s->next < s->count && c->len < end)
		sub_copy(v, c, s->order[s->next++], s->more);
	coverage_until(v, s, c->coverage, c->until_ns);
	return s->next < s->count;
}

int tipme_pool_copy(const struct tipme_pool_view *v, struct tipme_kernel_copy *c, uint64_t now,
		    int more)
{
	tipme_pool_copy_begin(v, c, now, more);
	tipme_pool_copy_part(v, c, SIZE_MAX);
	return c->cut ? -ENOSPC : 0;
}
