// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads write as CPUs, signals interrupt them in the middle and write, too, while copies are
 * taken without a pause: no torn record may be accepted, none twice, and what is missing must be
 * what was counted as lost. Both kinds of writers are mixed. Compiled with TIPME_POOL_NMI a third
 * signal is a non-maskable interrupt: it comes into writers that have interrupts off, and writes.
 * Without arguments 2 x 10^7 records, with --all or TIPME_TEST_ALL=1 10^8 in the first part.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>

#include "pool-test.h"

#define MOST_WRITERS 8

struct writer {
	pthread_t thread;
	uint32_t cpu;
	uint64_t records;
	int alone; /* no other thread writes for this CPU */
	struct tasks *tasks; /* NULL: one */
	int ended;
};

struct part {
	const char *name;
	/* several writers of one CPU take turns at any point, as on a preemptible kernel */
	unsigned int cpus, writers;
	uint32_t subs;
	uint64_t records; /* of each writer */
	int two_tasks; /* interrupts preempt one by the other */
};

static struct writer writers[MOST_WRITERS];
static uint64_t numbers[TEST_CPUS * 8]; /* next number of each CPU, a cache line apart */
static __thread uint32_t my_cpu;
static __thread unsigned int my_signals;
/* interrupts that come now have not come; so at first, until my_cpu is known */
static __thread volatile sig_atomic_t irqs_off = 1;
#ifdef TIPME_POOL_NMI
static __thread unsigned int my_nmis;
static __thread volatile sig_atomic_t nmi_comes; /* my_cpu is known */
#endif
static __thread int may_be_off; /* no other thread writes for my CPU */
static __thread struct tasks *my_tasks;
static volatile int stop, looked; /* enough was seen of them while they wrote */
static int tests, failures;

static void ok(int good, const char *part, const char *what)
{
	failures += !good;
	printf("%s %d - %s: %s\n", good ? "ok" : "not ok", ++tests, part, what);
	fflush(stdout);
}

static void write_one(void)
{
	uint64_t number = __atomic_fetch_add(&numbers[my_cpu * 8], 1, __ATOMIC_RELAXED);

	test_write(my_cpu, test_now(), number);
}

static void write_one_irqs_off(void)
{
	int were_off = irqs_off;
	uint64_t number;

	irqs_off = 1;
	number = __atomic_fetch_add(&numbers[my_cpu * 8], 1, __ATOMIC_RELAXED);
	test_write_irqs_off(my_cpu, test_now(), number);
	irqs_off = were_off;
}

static void write_some(unsigned int n, int off)
{
	while (n--)
		off ? write_one_irqs_off() : write_one();
}

/*
 * Two tasks of one CPU, of which an interrupt lets now one run, now the other: what one has begun
 * waits while the other begins and ends, and the other way round. On the way there is a record of
 * the switch, made with interrupts off.
 */
struct tasks {
	ucontext_t context[2];
	int running;
	volatile int over; /* no more switches: the second task ends what it is in, and itself */
	char stack[1 << 18];
};

static void tasks_switch(struct tasks *t)
{
	int prev;

	irqs_off = 1;
	prev = t->running;
	write_one_irqs_off();
	t->running = !prev;
	swapcontext(&t->context[prev], &t->context[!prev]);
	irqs_off = 0;
}

static void second_task_run(void)
{
	struct tasks *t = my_tasks;

	irqs_off = 0;
	while (!t->over)
		write_one();
	irqs_off = 1;
	setcontext(&t->context[0]);
}

/*
 * An interrupt: a few records; now and then more than three sub-buffers of them, so that full ones
 * must wait for whom we interrupted. Half of them run with interrupts off, the others are
 * themselves interrupted.
 */
static void on_signal(int sig)
{
	unsigned int n, off;

	if (irqs_off)
		return;
	n = ++my_signals % 64 ? 1 + my_signals % 3 : 400;
	off = may_be_off && my_signals & 4;
	irqs_off = off;
	write_some(n, off);
	irqs_off = 0;
	if (my_tasks && !my_tasks->over && my_signals % 4 == 1)
		tasks_switch(my_tasks);
}

#ifdef TIPME_POOL_NMI
/*
 * Nothing interrupts an NMI. Now and then it fills more than a sub-buffer, so that what it retires
 * must wait for whom it interrupted.
 */
static void on_nmi(int sig)
{
	unsigned int n = ++my_nmis % 16 ? 1 + my_nmis % 3 : 400;

	while (nmi_comes && n--)
		test_write_nmi(my_cpu, test_now(),
			       __atomic_fetch_add(&numbers[my_cpu * 8], 1, __ATOMIC_RELAXED));
}
#endif

static void tasks_start(struct tasks *t)
{
	getcontext(&t->context[1]);
	t->context[1].uc_stack.ss_sp = t->stack;
	t->context[1].uc_stack.ss_size = sizeof(t->stack);
	makecontext(&t->context[1], second_task_run, 0);
	my_tasks = t;
}

static void tasks_end(struct tasks *t)
{
	irqs_off = 1;
	t->over = 1;
	swapcontext(&t->context[0], &t->context[1]);
	irqs_off = 0;
}

static void *writer_run(void *arg)
{
	struct writer *w = arg;

	my_cpu = w->cpu;
	may_be_off = w->alone;
#ifdef TIPME_POOL_NMI
	nmi_comes = 1;
#endif
	if (w->tasks)
		tasks_start(w->tasks);
	irqs_off = 0;
	/*
	 * On a machine with other work they may be through before anybody has looked: then they go
	 * on.
	 */
	for (uint64_t i = 0; i < w->records || (!looked && i < 100 * w->records); i++)
		write_some(1, i % 2 && may_be_off);
	if (w->tasks)
		tasks_end(w->tasks);
	__atomic_store_n(&w->ended, 1, __ATOMIC_RELEASE);
	while (!stop)
		usleep(1000);
#ifdef TIPME_POOL_NMI
	nmi_comes = 0;
#endif
	return NULL;
}

/* Two signals, neither of which blocks the other: interrupts nest. */
static int kind_of_signal(unsigned int i)
{
#ifdef TIPME_POOL_NMI
	if (i & 16)
		return SIGURG;
#endif
	return i & 8 ? SIGUSR1 : SIGUSR2;
}

static void *interrupter_run(void *arg)
{
	const struct part *p = arg;
	struct timespec pause = { 0, 20000 };

	for (unsigned int i = 0; !stop; i++) {
		struct writer *w = &writers[i % p->writers];

		if (!__atomic_load_n(&w->ended, __ATOMIC_ACQUIRE))
			pthread_kill(w->thread, kind_of_signal(i));
		if (i % 16 == 15)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

/* --- looking at a copy --- */

struct look {
	uint64_t copies, records, torn, bad, twice, gaps_over, in_one_run;
	unsigned char *seen[TEST_CPUS]; /* one byte for each number, modulo size */
};

#define SEEN_SIZE (1U << 22)

/*
 * Of one CPU in one copy. An interrupted writer stores an old number late, so the lowest number
 * says nothing; all numbers from the highest of the first section on must be there.
 */
struct range {
	uint64_t floor, max, count;
	int sections;
};

static void look_at_record(struct look *l, uint32_t cpu, const struct test_record *rec)
{
	unsigned char *seen = &l->seen[cpu][rec->number % SEEN_SIZE];

	l->records++;
	l->bad += !test_holds(cpu, rec);
	l->twice += *seen;
	*seen = 1;
}

typedef void (*section_fn)(struct look *l, struct range *r, uint32_t cpu,
			   const struct test_record *rec, uint64_t count);

static void section_look(struct look *l, struct range *r, uint32_t cpu,
			 const struct test_record *rec, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		look_at_record(l, cpu, &rec[i]);
		r->max = rec[i].number > r->max ? rec[i].number : r->max;
	}
	if (!r->sections++)
		r->floor = r->max;
}

static void section_count(struct look *l, struct range *r, uint32_t cpu,
			  const struct test_record *rec, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		r->count += rec[i].number >= r->floor;
		l->seen[cpu][rec[i].number % SEEN_SIZE] = 0;
	}
}

static void walk(struct look *l, struct range *ranges, const struct tipme_kernel_copy *c,
		 section_fn fn)
{
	const char *p = c->buf, *end = p + c->len;

	while (p < end) {
		const struct tipme_section *sec = (const void *)p;

		if (sec->type != TIPME_SECTION || sec->cpu >= TEST_CPUS ||
		    sec->body_len != sec->count * 32 ||
		    sec->body_len > (size_t)(end - p) - sizeof(*sec)) {
			l->bad++;
			return;
		}
		fn(l, &ranges[sec->cpu], sec->cpu, (const void *)(sec + 1), sec->count);
		p += sizeof(*sec) + sec->body_len;
	}
}

/* A number may be missing if its record was lost, or its writer was inside when we looked. */
static void count_gaps(struct look *l, const struct range *r, uint32_t cpus, uint64_t inside)
{
	for (uint32_t i = 0; i < cpus; i++) {
		uint64_t lost = pool.cpus[i].lost_pool + pool.cpus[i].lost_nested;

		if (r[i].sections && r[i].max - r[i].floor + 1 > r[i].count + lost + inside)
			l->gaps_over++;
	}
}

static void check_copy(struct look *l, const struct tipme_kernel_copy *c, uint32_t cpus,
		       uint64_t inside, int in_one_run)
{
	struct range ranges[TEST_CPUS] = { 0 };

	walk(l, ranges, c, section_look);
	walk(l, ranges, c, section_count);
	if (in_one_run)
		count_gaps(l, ranges, cpus, inside);
	l->in_one_run += in_one_run;
	l->copies++;
	l->torn += c->torn;
}

/*
 * Only copies whose coverage has one piece tell about gaps: the sections before a gap are there,
 * too, and others follow them. (A sub-buffer begins when it is taken. The record that it was taken
 * for is older, and may be all that the newest one has: nothing is missing behind that.)
 */
static int one_piece(const struct tipme_kernel_copy *c)
{
	const char *p = c->buf, *end = p + c->len;
	int older[TEST_CPUS] = { 0 };

	for (; p < end;
	     p += sizeof(struct tipme_section) + ((const struct tipme_section *)p)->count * 32) {
		const struct tipme_section *sec = (const void *)p;

		if (older[sec->cpu])
			return 0;
		older[sec->cpu] = sec->last_ns < c->coverage[sec->cpu].first_ns;
	}
	return 1;
}

static int all_ended(const struct part *p)
{
	for (unsigned int i = 0; i < p->writers; i++)
		if (!__atomic_load_n(&writers[i].ended, __ATOMIC_ACQUIRE))
			return 0;
	return 1;
}

static uint64_t written(const struct part *p)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < p->cpus; i++)
		sum += numbers[i * 8];
	return sum;
}

static void writers_start(const struct part *p)
{
	memset(numbers, 0, sizeof(numbers));
	stop = looked = 0;
	for (unsigned int i = 0; i < p->writers; i++) {
		writers[i] = (struct writer){ .cpu = i % p->cpus,
					      .records = p->records,
					      .alone = p->writers <= p->cpus };
		writers[i].tasks = p->two_tasks ? calloc(1, sizeof(*writers[i].tasks)) : NULL;
		if (pthread_create(&writers[i].thread, NULL, writer_run, &writers[i]))
			abort();
	}
}

/*
 * As many records for each CPU as the pool holds, in turn. Interrupted writers keep several
 * sub-buffers pending, which are then queued newest first: until these have been overwritten,
 * coverage may begin behind a gap among them.
 */
static void write_undisturbed(const struct part *p)
{
	for (uint64_t i = 0; i < (uint64_t)p->subs * tipme_pool_slots; i++)
		for (my_cpu = 0; my_cpu < p->cpus; my_cpu++)
			write_one();
}

static void conclude(const struct part *p, struct tipme_kernel_copy *c,
		     const struct tipme_pool_view *v, struct look *l)
{
	uint64_t lost = 0, stored = 0;
	struct look last = *l;

	for (unsigned int i = 0; i < p->cpus; i++) {
		const struct tipme_pool_cpu *cpu = &pool.cpus[i];
		uint64_t head = cpu->cursor & TIPME_POOL_HEAD_MASK;

		lost += cpu->lost_pool + cpu->lost_nested;
		stored += cpu->taken ? (cpu->taken - 1) * tipme_pool_slots +
					       (head < tipme_pool_slots ? head : tipme_pool_slots)
				     : 0;
	}
	printf("# %s: %" PRIu64 " records, %" PRIu64 " lost, %" PRIu64 " copies (%" PRIu64
	       " without a gap) with %" PRIu64 " records looked at\n",
	       p->name, written(p), lost, l->copies, l->in_one_run, l->records);
	ok(!l->bad && l->records, p->name, "every accepted record proves itself");
	ok(!l->twice, p->name, "none is in a copy twice");
	ok(!l->torn, p->name, "every slot of a full sub-buffer is whole");
	ok(!l->gaps_over && l->in_one_run, p->name,
	   "no more numbers are missing than were lost or in the making");
	ok(stored + lost == written(p), p->name, "stored and lost are all that was written");
	tipme_pool_copy(v, c, test_now(), 0);
	check_copy(&last, c, p->cpus, 0, one_piece(c));
	ok(last.gaps_over == l->gaps_over && last.bad == l->bad && !last.torn, p->name,
	   "a copy at rest is whole");
	write_undisturbed(p);
	tipme_pool_copy(v, c, test_now(), 0);
	check_copy(&last, c, p->cpus, 0, 1);
	ok(last.gaps_over == l->gaps_over && last.bad == l->bad && last.twice == l->twice &&
		   !last.torn && one_piece(c),
	   p->name, "after a round that nobody interrupts there is no gap");
}

static void run(const struct part *p)
{
	struct tipme_kernel_copy c;
	struct tipme_pool_view v;
	struct look l = { 0 };
	pthread_t interrupter;

	pool_setup(p->subs, 4096, 65533);
	v = pool_view(p->cpus, test_now());
	if (tipme_pool_copy_alloc(&v, &c))
		abort();
	for (unsigned int i = 0; i < p->cpus; i++)
		l.seen[i] = calloc(SEEN_SIZE, 1);
	writers_start(p);
	if (pthread_create(&interrupter, NULL, interrupter_run, (void *)p))
		abort();
	while (!all_ended(p)) {
		tipme_pool_copy(&v, &c, test_now(), 0);
		tipme_pool_copy(&v, &c, test_now(), 1);
		check_copy(&l, &c, p->cpus, (p->two_tasks ? 8 : 4) * p->writers, one_piece(&c));
		looked = l.records && l.in_one_run;
	}
	stop = 1;
	/* first: it may still be about to interrupt a writer, who must be there */
	pthread_join(interrupter, NULL);
	for (unsigned int i = 0; i < p->writers; i++) {
		pthread_join(writers[i].thread, NULL);
		free(writers[i].tasks);
	}
	conclude(p, &c, &v, &l);
	for (unsigned int i = 0; i < p->cpus; i++)
		free(l.seen[i]);
	tipme_kernel_copy_free(&c);
}

/* The check itself: a record in which one word is another's must be found out. */
static void check_the_check(void)
{
	struct test_record r = {
		.type = TIPME_FORK, .len8 = 4, .number = 7, .tid = (uint32_t)(7 * 2654435761U)
	};
	int good;

	r.proof = test_proof(1, 7);
	good = test_holds(1, &r);
	r.number = 8;
	good = good && !test_holds(1, &r) && !test_holds(2, &r);
	ok(good, "check", "finds a record made of two");
}

int main(int argc, char **argv)
{
	int all = getenv("TIPME_TEST_ALL") || (argc > 1 && !strcmp(argv[1], "--all"));
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_NODEFER | SA_RESTART };
	const struct part parts[] = {
		{ "four CPUs", 4, 4, 64, all ? 25000000 : 2500000, 0 },
		{ "two CPUs of two writers each", 2, 4, 64, all ? 5000000 : 1250000, 0 },
		{ "two CPUs whose tasks preempt each other", 2, 2, 64, all ? 5000000 : 1250000, 1 },
		{ "hardly any sub-buffers", 4, 4, 5, all ? 5000000 : 1250000, 0 },
	};

	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
#ifdef TIPME_POOL_NMI
	sa.sa_handler = on_nmi;
	sa.sa_flags = SA_RESTART;
	sigfillset(&sa.sa_mask);
	sigaction(SIGURG, &sa, NULL);
#endif
	printf("1..%zu\n", 1 + 7 * sizeof(parts) / sizeof(*parts));
	check_the_check();
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		run(&parts[i]);
	return failures != 0;
}
