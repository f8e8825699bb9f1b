// SPDX-License-Identifier: GPL-2.0-only
/*
 * A table of stacks that is full makes room by what only overwritten records name, and by nothing
 * else.
 */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon-tap.h"
#include "kernel_backend.h"

#define ENTRIES 512
#define LOST 200 /* so many that found no place: the table is full */
#define ROOM 100
#define BURNERS 2
/*
 * What will come is waited for as long as a machine may take that others keep busy; only a hang is
 * meant to reach it.
 */
#define PATIENCE_S 180
#define TRIES 4
#define POOL (32ULL << 20) /* more each time, where the first turned over */

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

/* --- load: each value of `way` is another stack --- */

static unsigned long right(unsigned long way, int depth);

__attribute__((noinline)) static unsigned long left(unsigned long way, int depth)
{
	unsigned long x = way;

	if (depth)
		return (way & 1 ? right(way >> 1, depth - 1) : left(way >> 1, depth - 1)) + 1;
	for (int i = 0; i < 1000000; i++) {
		x = x * 6364136223846793005UL + 1;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

__attribute__((noinline)) static unsigned long right(unsigned long way, int depth)
{
	return left(way, depth) + 2;
}

static pid_t burner(unsigned long seed)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (volatile unsigned long way = seed, sum = 0;; way += 0x9e3779b97f4a7c15UL)
		sum += left(way >> 52, 12);
}

static void burners_begin(pid_t pid[BURNERS], unsigned long seed)
{
	for (int i = 0; i < BURNERS; i++)
		pid[i] = burner(seed + (unsigned long)i);
}

static void burners_end(const pid_t pid[BURNERS])
{
	for (int i = 0; i < BURNERS; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
}

/* Records, so that a small pool turns over. */
static void forks(void)
{
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

/* --- the table --- */

static uint64_t lost(struct tipme_kernel_source *src)
{
	struct tipme_kernel_stats st;

	return tipme_kernel_source_stats(src, &st) ? 0 : st.lost.stack_table;
}

struct since {
	uint64_t ns;
	int count;
};

static int count_since(void *arg, const struct tipme_user_frames *f)
{
	struct since *s = arg;

	s->count += f->first_ns > s->ns;
	return 0;
}

static int claimed_since(struct tipme_kernel_source *src, uint64_t ns)
{
	struct since s = { ns, 0 };

	tipme_kernel_source_user_stacks(src, count_since, &s);
	return s.count;
}

struct ids {
	uint32_t id[ENTRIES];
	int count;
};

static int id_note(void *arg, const struct tipme_user_frames *f)
{
	struct ids *ids = arg;

	if (ids->count < ENTRIES)
		ids->id[ids->count++] = f->stack_id;
	return 0;
}

static int gone(const struct ids *before, const struct ids *after)
{
	int n = 0;

	for (int i = 0; i < before->count; i++) {
		int k = 0;

		while (k < after->count && after->id[k] != before->id[i])
			k++;
		n += k == after->count;
	}
	return n;
}

static struct tipme_kernel_source *opened(uint64_t pool_bytes)
{
	struct tipme_kernel_options opt = {
		.source = TIPME_SOURCE_KERNEL_BPF,
		.classes_given = 1,
		.classes = 1U << TIPME_CLASS_SAMPLE,
		.stack_entries = ENTRIES,
		.window_s = 600,
		.rate = 1000,
		.pool_bytes = pool_bytes,
		.subbuf_bytes = 4096,
	};
	struct tipme_kernel_source *src;
	char why[256] = "";

	if (!tipme_kernel_source_open(&src, &opt, why, sizeof(why)))
		return src;
	printf("1..0 # SKIP %s\n", why);
	exit(0);
}

/* Until so many stacks more found no place. */
static int fill(struct tipme_kernel_source *src, unsigned long seed, uint64_t more)
{
	uint64_t end = clock_ns() + PATIENCE_S * 1000000000ULL, before = lost(src);
	pid_t pid[BURNERS];

	burners_begin(pid, seed);
	while (lost(src) < before + more && clock_ns() < end)
		nap();
	burners_end(pid);
	return lost(src) >= before + more;
}

static void check_overwritten(void)
{
	struct tipme_kernel_source *src = opened(24 * 4096);
	uint64_t end = clock_ns() + PATIENCE_S * 1000000000ULL, full_ns, before;
	pid_t pid[BURNERS];

	ok(fill(src, 1, LOST), "a table of stacks is full");
	full_ns = clock_ns();
	while (tipme_pool_reach_ns(&src->view) < full_ns + 3000000000ULL && clock_ns() < end)
		forks();
	tipme_kernel_source_stacks_age(src, 0);
	full_ns = clock_ns();
	before = lost(src);
	burners_begin(pid, 1UL << 40);
	while (claimed_since(src, full_ns) < ROOM && lost(src) < before + LOST && clock_ns() < end)
		nap();
	burners_end(pid);
	ok(claimed_since(src, full_ns) >= ROOM,
	   "when all that it has is named by overwritten records only, others find a place");
	printf("# %d claimed, %" PRIu64 " lost\n", claimed_since(src, full_ns), lost(src) - before);
	tipme_kernel_source_close(src);
}

/* A pool may reach back much further than it is meant to. */
static void check_kept(struct tipme_kernel_source *src)
{
	uint64_t full_ns = clock_ns(), end = full_ns + PATIENCE_S * 1000000000ULL;
	pid_t pid[BURNERS];

	burners_begin(pid, 1UL << 42);
	while (claimed_since(src, full_ns) < ROOM && clock_ns() < end) {
		tipme_kernel_source_stacks_age(src, clock_ns());
		nap();
	}
	burners_end(pid);
	ok(claimed_since(src, full_ns) >= ROOM, "but what none has named in the seconds to keep");
}

/*
 * Fills the table twice. Returns whether the pool has kept all records meanwhile: where others make
 * so many that it turns over, what was named may go.
 */
static int filled_twice(struct tipme_kernel_source *src, struct ids *before, struct ids *after)
{
	uint64_t begin_ns = clock_ns();

	before->count = after->count = 0;
	fill(src, 2, LOST);
	tipme_kernel_source_user_stacks(src, id_note, before);
	tipme_kernel_source_stacks_age(src, 0);
	fill(src, 1UL << 41, LOST);
	tipme_kernel_source_user_stacks(src, id_note, after);
	return tipme_pool_reach_ns(&src->view) <= begin_ns;
}

static void check_named(void)
{
	struct tipme_kernel_source *src = opened(0);
	struct ids before, after;

	for (int try = 1; !filled_twice(src, &before, &after) && try < TRIES; try++) {
		tipme_kernel_source_close(src);
		src = opened(POOL << try);
	}
	ok(before.count > ENTRIES / 2 && !gone(&before, &after),
	   "what records of the pool name stays");
	printf("# %d were there, %d have gone\n", before.count, gone(&before, &after));
	check_kept(src);
	tipme_kernel_source_close(src);
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP recording a kernel takes root\n");
		return 0;
	}
	check_overwritten();
	check_named();
	return tap_end();
}
