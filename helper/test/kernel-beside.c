// SPDX-License-Identifier: GPL-2.0-only
/*
 * A source that records what another cannot, beside it: samples and the lives of processes come
 * from it, all else from the first; and a class that each of them records in part.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernel_backend.h"

#define PARTLY TIPME_CLASS_SIGNAL
#define BEGUN (1U << TIPME_CLASS_SAMPLE | 1U << TIPME_CLASS_IDENTITY)
#define WANTED (BEGUN | 1U << TIPME_CLASS_WAYLAND)

static int tests, failures;

static void ok(int good, const char *what)
{
	failures += !good;
	printf("%s %d - %s\n", good ? "ok" : "not ok", ++tests, what);
	fflush(stdout);
}

/* What a copy has, by the source that its sections name. */
struct found {
	unsigned long switches, samples, others;
	/* stacks that records name, by whose table they are of */
	unsigned long stacks_beside, stacks_first;
};

struct seen {
	struct found by[TIPME_SOURCE_KERNEL_MODULE + 1];
	unsigned long records, whole;
	uint32_t a_stack; /* of a sample */
};

static void record_note(struct seen *s, uint32_t source, const struct tipme_head *h)
{
	struct found *f = &s->by[source];
	uint32_t stack = 0;

	s->records++;
	if (h->type == TIPME_SCHED_SWITCH) {
		f->switches++;
	} else if (h->type == TIPME_SAMPLE) {
		stack = ((const struct tipme_sample *)h)->kernel_stack_id;
		s->a_stack = stack ? stack : s->a_stack;
		f->samples++;
	} else if (h->type == TIPME_SCHED_WAKING) {
		stack = ((const struct tipme_sched_waking *)h)->stack_id;
	} else {
		f->others++;
	}
	if (stack)
		*((stack & 0xffff) > TIPME_STACKS_BESIDE ? &f->stacks_beside : &f->stacks_first) +=
			1;
}

static struct seen copy_read(const struct tipme_kernel_copy *c)
{
	const char *p = c->buf, *end = p + c->len;
	struct seen s = { 0 };
	uint32_t source = 0;

	while (p < end) {
		const struct tipme_head *h = (const void *)p;

		if (h->type == TIPME_SECTION)
			source = ((const struct tipme_section *)h)->source;
		else if (source <= TIPME_SOURCE_KERNEL_MODULE)
			record_note(&s, source, h);
		p += (size_t)h->len8 * 8;
	}
	s.whole = p == end;
	return s;
}

/* In a PID namespace the kernel's numbers are not ours: the process is known by its arguments. */
struct lives {
	char name[32];
	uint32_t pid;
	int exec, exited;
};

static int life_note(void *arg, const struct tipme_life *life)
{
	const struct tipme_life_exec *e = (const void *)life;
	struct lives *l = arg;

	if (life->kind == TIPME_LIFE_EXEC && life->args_len &&
	    memmem(e->args, life->args_len, l->name, strlen(l->name))) {
		l->pid = life->pid;
		l->exec++;
	}
	l->exited += life->kind == TIPME_LIFE_EXIT && l->pid && life->pid == l->pid;
	return 0;
}

static int stack_note(void *arg, uint32_t id, const uint64_t *frames, unsigned int count)
{
	return id == *(const uint32_t *)arg && count ? 1 : 0;
}

/*
 * A process that is busy for so long that it is sampled, in its own code and in the kernel. What is
 * told of processes is taken meanwhile: a machine that calls many programs fills what keeps it.
 */
static void busy_child(struct tipme_kernel_source *src, const char *name, struct lives *lives)
{
	pid_t pid;

	tipme_kernel_source_lives_take(src, life_note, lives);
	pid = fork();

	if (!pid) {
		execl("/bin/sh", "/bin/sh", "-c",
		      "i=0; while [ $i -lt 150000 ]; do i=$((i + 1)); : < /dev/null; done", name,
		      (char *)NULL);
		_exit(127);
	}
	while (!waitpid(pid, NULL, WNOHANG)) {
		tipme_kernel_source_lives_take(src, life_note, lives);
		usleep(10000);
	}
}

static void classes(struct tipme_kernel_source *src)
{
	uint32_t able, on;

	on = tipme_kernel_source_classes(src, &able);
	ok(!on && (able & WANTED) == WANTED,
	   "what one of the two can record, both can; nothing is on");
	ok(!tipme_kernel_source_class_set(src, TIPME_CLASS_SAMPLE, 1) &&
		   !tipme_kernel_source_class_set(src, TIPME_CLASS_IDENTITY, 1),
	   "classes of the second begin");
	ok(tipme_kernel_source_classes(src, &able) == BEGUN, "and are told to be on");
}

static void recording(struct tipme_kernel_source *src, struct tipme_kernel_copy *c)
{
	struct found *first, *beside;
	struct lives lives = { 0 };
	struct seen s, t;

	snprintf(lives.name, sizeof(lives.name), "beside-%d", (int)getpid());
	busy_child(src, lives.name, &lives);
	tipme_kernel_source_copy(src, c);
	s = copy_read(c);
	busy_child(src, "another", &lives);
	tipme_kernel_source_copy_more(src, c);
	t = copy_read(c);
	first = &t.by[TIPME_SOURCE_KERNEL_BPF];
	beside = &t.by[TIPME_SOURCE_KERNEL_MODULE];
	ok(s.whole && t.whole && s.records && t.records > s.records,
	   "two phases of a copy are whole, and the second has more");
	ok(t.records == c->records, "as many records as were counted");
	ok(first->switches > 10 && !first->samples, "the first records switches, and no samples");
	ok(beside->samples > 10 && !beside->switches && !beside->others,
	   "the second records samples, and nothing else");
	ok(beside->stacks_beside && !beside->stacks_first && !first->stacks_beside,
	   "their stacks are told apart by their ids");
	ok(tipme_kernel_source_stacks(src, stack_note, &t.a_stack) == 1,
	   "a sample's stack is found among those of both");
	ok(c->second && c->second->coverage[0].first_ns && !c->second->torn,
	   "the second's coverage is told");
	/*
	 * What stands behind a record that somebody is just writing is read when he has done so; on
	 * a busy machine he may have lost his CPU.
	 */
	for (int i = 0; i < 18000 && !lives.exited; i++) {
		tipme_kernel_source_lives_take(src, life_note, &lives);
		usleep(10000);
	}
	ok(lives.exec == 1 && lives.exited == 1,
	   "a process is told with its arguments and its end");
	printf("# %lu samples, %lu of them in the kernel\n", beside->samples,
	       beside->stacks_beside);
	printf("# told %d times to have begun, %d times to have ended\n", lives.exec, lives.exited);
	ok(!tipme_kernel_source_class_set(src, TIPME_CLASS_SAMPLE, 0) &&
		   !tipme_kernel_source_class_set(src, TIPME_CLASS_IDENTITY, 0),
	   "classes of the second end");
}

static struct tipme_kernel_backend partly;
static struct tipme_kernel_source *second;

/* How many descriptors are open, and the highest of them. */
static int descriptors(int *highest)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int n = 0;

	*highest = -1;
	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (*entry->d_name == '.' || fd == dirfd(dir))
			continue;
		n++;
		*highest = fd > *highest ? fd : *highest;
	}
	if (dir)
		closedir(dir);
	return n;
}

static void descriptors_limit(rlim_t most)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = most ? most : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* No gap is left below the highest, so that a limit above it says how many more there may be. */
static void gaps_fill(int highest)
{
	int fd;

	while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0 && fd < highest)
		continue;
	if (fd > highest)
		close(fd);
}

/*
 * Each program that is attached is a descriptor: with room for those of the second alone, the
 * kernel refuses the first its own.
 */
static void in_part(struct tipme_kernel_source *src)
{
	const uint32_t bit = 1U << PARTLY;
	int before, with, alone, highest;
	uint32_t able;

	descriptors(&highest);
	gaps_fill(highest);
	before = descriptors(&highest);
	ok(!tipme_kernel_source_class_set(second, PARTLY, 1), "the second alone begins its part");
	alone = descriptors(&highest) - before;
	ok(alone > 0 && !tipme_kernel_source_class_set(second, PARTLY, 0) &&
		   descriptors(&highest) == before,
	   "and ends it");
	ok(!tipme_kernel_source_class_set(src, PARTLY, 1), "of a class in two parts, both begin");
	with = descriptors(&highest) - before;
	ok(with > alone, "each with programs of its own");
	ok(!tipme_kernel_source_class_set(src, PARTLY, 0) && descriptors(&highest) == before,
	   "and both end");
	descriptors_limit((rlim_t)highest + 1 + (rlim_t)alone);
	ok(tipme_kernel_source_class_set(src, PARTLY, 1) < 0,
	   "where the kernel refuses the first its part, the class does not begin");
	descriptors_limit(0);
	ok(descriptors(&highest) == before,
	   "and the part of the second, which had begun, is taken back");
	ok(!(tipme_kernel_source_classes(src, &able) & bit) && able & bit,
	   "the class is told to be off, and possible");
	ok(!tipme_kernel_source_class_set(src, PARTLY, 1) && descriptors(&highest) - before == with,
	   "later it begins whole");
	ok(!tipme_kernel_source_class_set(src, PARTLY, 0), "and ends");
}

/* None is there yet: the class waits for one. */
static int no_library(const char *path, struct tipme_wayland_library *lib)
{
	(void)path;
	(void)lib;
	return -ENOENT;
}

/* Profiles are made from this ring, whoever of the two has it. */
static void wayland(struct tipme_kernel_source *src)
{
	uint64_t memory;

	ok(tipme_kernel_source_wayland_fd(src, &memory) < 0, "no ring of a class that is off");
	ok(!tipme_kernel_source_class_set(src, TIPME_CLASS_WAYLAND, 1) &&
		   tipme_kernel_source_wayland_fd(src, &memory) >= 0 &&
		   memory == second->view.start_ns,
	   "the ring of the second is there while its class is on");
	ok(!tipme_kernel_source_class_set(src, TIPME_CLASS_WAYLAND, 0), "which ends");
}

/*
 * What tipme_kernel_source_open() does where there is the module; here the tracing programs stand
 * in for it, with no class but the core.
 */
static struct tipme_kernel_source *both_open(char *why, size_t len)
{
	struct tipme_kernel_options opt = { .source = TIPME_SOURCE_KERNEL_BPF,
					    .classes_given = 1,
					    .rate = 100000,
					    .wayland_open = no_library,
					    .stack_entries = 32768 };
	struct tipme_kernel_source *first, *both = NULL;

	if (tipme_kernel_source_open(&first, &opt, why, len))
		return NULL;
	partly = tipme_kernel_bpf;
	partly.classes_partly = 1U << PARTLY;
	first->backend = &partly;
	first->classes_able = partly.classes_partly;
	if (!tipme_kernel_bpf.open_beside(&second, &opt, WANTED | partly.classes_partly, why,
					  len)) {
		second->backend = &tipme_kernel_bpf;
		second->view.source = TIPME_SOURCE_KERNEL_MODULE; /* any other than the first's */
		second->pool = second;
		both = tipme_kernel_pair(first, second);
	}
	if (!both)
		tipme_kernel_source_close(first);
	return both;
}

int main(void)
{
	struct tipme_kernel_source *src;
	struct tipme_kernel_copy copy;
	char why[512] = "";

	if (geteuid()) {
		printf("1..0 # SKIP recording a kernel takes root\n");
		return 0;
	}
	src = both_open(why, sizeof(why));
	if (!src) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	ok(second->classes_able == (WANTED | 1U << PARTLY),
	   "the second can record what it was asked for, and no more");
	in_part(src);
	classes(src);
	wayland(src);
	ok(!tipme_kernel_copy_alloc(src, &copy) && copy.size == tipme_kernel_source_copy_bytes(src),
	   "memory for copies of both");
	recording(src, &copy);
	tipme_kernel_copy_free(&copy);
	tipme_kernel_source_close(src);
	printf("1..%d\n", tests);
	return failures != 0;
}
