// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stacks of sleepers that are known again without being unwound (known.bpf.h): each one is unwound
 * besides, and must be the same. Sleeps of many kinds, in system calls and in page faults, those of
 * user space and those within system calls among them.
 *
 * How many of these are known tells nothing: a thread is looked for on the stack that it slept on
 * last, and here each has another one now and then, and many threads are new. Of threads that sleep
 * always alike, in one of five ways, a third must be known when that has been learned. Not more:
 * two of the ways are never learned on Debian's 6.1, where poll and select align the stack, so that
 * their distances are no constants. And sleeps of all others count, too: it is waited for.
 */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon-tap.h"
#include "kernel_bpf.h"

#define THREADS_OF_EACH 3
#define FILE_BYTES (8 << 20)
#define PAGE 4096
#define ENOUGH 5000 /* stacks that were known again */
#define ALIKE 2000 /* stacks of threads that sleep always alike; others' sleeps count, too */
#define ROUNDS 20
#define LEARNED_S 3
#define PATIENCE_S 180 /* only a hang is meant to reach it */

static char path[] = "known-stacks-XXXXXX";
static int file_fd = -1;
static char *mapped;
static int sync_pipe[2];

static void nap_us(unsigned int us)
{
	nanosleep(&(struct timespec){ us / 1000000, (long)(us % 1000000) * 1000 }, NULL);
}

/* --- ways to sleep --- */

static void in_nanosleep(unsigned int n)
{
	nap_us(1000 + n % 7 * 300);
}

static void in_poll(unsigned int n)
{
	struct pollfd p = { sync_pipe[0], POLLIN, 0 };

	poll(n % 3 ? &p : NULL, n % 3 ? 1 : 0, 2);
}

static void in_select(unsigned int n)
{
	struct timeval tv = { 0, 1500 + n % 5 * 100 };

	select(0, NULL, NULL, NULL, &tv);
}

static void in_epoll(unsigned int n)
{
	static __thread int fd = -1;
	struct epoll_event event;

	if (fd < 0)
		fd = epoll_create1(EPOLL_CLOEXEC);
	epoll_wait(fd, &event, 1, 1 + (int)(n % 2));
}

static void in_futex(unsigned int n)
{
	struct timespec t = { 0, 1000000 + n % 3 * 500000 };
	unsigned int word = 0;

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
}

static void in_child(unsigned int n)
{
	pid_t pid = fork();

	if (!pid) {
		nap_us(1000 + n % 3 * 1000);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	nap_us(2000);
}

static void in_pipe(unsigned int n)
{
	int there[2];
	char byte = 0;

	if (pipe(there))
		return;
	pid_t pid = fork();

	if (!pid) {
		nap_us(1000);
		_exit(write(there[1], &byte, 1) != 1);
	}
	if (read(there[0], &byte, 1) != 1)
		perror("read");
	close(there[0]);
	close(there[1]);
	waitpid(pid, NULL, 0);
	nap_us(2000 + n % 3 * 100);
}

/* One of the pages that the cache is told to forget. */
static char *page_away(unsigned int n)
{
	size_t at = (n * 2654435761U >> 4) % (FILE_BYTES / PAGE) * PAGE;

	madvise(mapped + at, PAGE, MADV_DONTNEED);
	posix_fadvise(file_fd, (off_t)at, PAGE, POSIX_FADV_DONTNEED);
	return mapped + at;
}

static void in_fault(unsigned int n)
{
	*(volatile char *)page_away(n);
}

/* The kernel faults for us: in a write and in a read. */
static void in_write_fault(unsigned int n)
{
	int there[2];

	if (pipe(there))
		return;
	if (write(there[1], page_away(n), PAGE) != PAGE)
		perror("write");
	close(there[0]);
	close(there[1]);
}

static void in_name_fault(unsigned int n)
{
	if (access(page_away(n), F_OK))
		nap_us(200);
}

static void in_read(unsigned int n)
{
	char buf[PAGE];
	off_t at = page_away(n) - mapped;

	if (pread(file_fd, buf, sizeof(buf), at) < 0)
		perror("pread");
}

static void in_sync(unsigned int n)
{
	char byte = (char)n;

	if (pwrite(file_fd, &byte, 1, FILE_BYTES + PAGE) == 1)
		fdatasync(file_fd);
	nap_us(1000);
}

static void in_lock(unsigned int n)
{
	static __thread int fd = -1;

	if (fd < 0)
		fd = open(path, O_RDWR | O_CLOEXEC);
	flock(fd, LOCK_EX);
	nap_us(300 + n % 3 * 100);
	flock(fd, LOCK_UN);
}

static void (*const ways[])(unsigned int n) = {
	in_nanosleep, in_poll, in_select,      in_epoll,      in_futex, in_child, in_pipe,
	in_fault,     in_read, in_write_fault, in_name_fault, in_sync,	in_lock,
};
#define WAYS (sizeof(ways) / sizeof(*ways))
#define WAYS_ALIKE 5 /* the first ones: one system call each */

static void *sleeper(void *arg)
{
	unsigned int which = (unsigned int)(uintptr_t)arg;

	for (unsigned int n = which;; n++) {
		/* now and then another way: the one before is still on the stack */
		ways[n % 5 ? which % WAYS : n / 5 % WAYS](n);
	}
	return NULL;
}

static void *alike(void *arg)
{
	unsigned int which = (unsigned int)(uintptr_t)arg;

	for (unsigned int n = 0;; n++)
		ways[which % WAYS_ALIKE](n);
	return NULL;
}

static pid_t load(void *(*sleeps)(void *), uintptr_t threads)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	for (uintptr_t i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, sleeps, (void *)i))
			_exit(1);
	for (;;)
		pause();
}

static int file_make(void)
{
	static char text[PAGE];

	memset(text, 'x', sizeof(text));
	file_fd = mkstemp(path);
	if (file_fd < 0 || pipe(sync_pipe))
		return 0;
	for (int i = 0; i < FILE_BYTES / PAGE; i++)
		if (write(file_fd, text, sizeof(text)) != sizeof(text))
			return 0;
	fsync(file_fd);
	mapped = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, file_fd, 0);
	return mapped != MAP_FAILED;
}

/* --- what was known --- */

static struct tipme_kernel_source *opened(void)
{
	struct tipme_kernel_options opt = {
		.source = TIPME_SOURCE_KERNEL_BPF,
		.stack_min_us = 1,
		.window_s = 5,
		.stacks_checked = 1,
	};
	struct tipme_kernel_source *src;
	char why[256] = "";

	if (!tipme_kernel_source_open(&src, &opt, why, sizeof(why)))
		return src;
	printf("1..0 # SKIP %s\n", why);
	exit(0);
}

static struct tipme_known_counts counts(struct tipme_kernel_source *src)
{
	const volatile struct kernel_source_bpf__bss *bss = bpf_of(src)->skel->bss;

	return (struct tipme_known_counts){ bss->tipme_known_count.known,
					    bss->tipme_known_count.unknown,
					    bss->tipme_known_count.wrong };
}

static uint64_t known(struct tipme_known_counts c)
{
	return c.known;
}

static uint64_t seen(struct tipme_known_counts c)
{
	return c.known + c.unknown;
}

/* Waits until so many more of what is counted are there. Returns what came meanwhile. */
static struct tipme_known_counts more(struct tipme_kernel_source *src, uint64_t enough,
				      uint64_t (*counted)(struct tipme_known_counts))
{
	struct tipme_known_counts before = counts(src), c = before;

	for (int i = 0; i < PATIENCE_S * 50; i++) {
		c = counts(src);
		if (counted(c) - counted(before) >= enough)
			break;
		nap_us(20000);
	}
	return (struct tipme_known_counts){ c.known - before.known, c.unknown - before.unknown,
					    c.wrong - before.wrong };
}

static void tell(const char *who, struct tipme_known_counts c)
{
	printf("# %s%" PRIu64 " known again, %" PRIu64 " unwound, %" PRIu64 " known wrongly\n", who,
	       (uint64_t)c.known, (uint64_t)c.unknown, (uint64_t)c.wrong);
}

static void of_all_kinds(struct tipme_kernel_source *src, uint64_t enough)
{
	pid_t pid = load(sleeper, WAYS * THREADS_OF_EACH);

	more(src, enough, known);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	struct tipme_known_counts c = counts(src);

	tell("", c);
	ok(c.known >= enough, "stacks of sleepers are known again");
	ok(!c.wrong, "none for another one");
}

static void of_one_kind_each(struct tipme_kernel_source *src)
{
	pid_t pid = load(alike, WAYS_ALIKE * THREADS_OF_EACH);
	struct tipme_known_counts c = { 0 };
	uint64_t wrong = counts(src).wrong;

	nap_us(LEARNED_S * 1000000);
	/* others may sleep more often for a while */
	for (int i = 0; i < ROUNDS && c.known * 2 <= c.unknown; i++)
		c = more(src, ALIKE, seen);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tell("of sleepers always alike ", c);
	ok(c.known * 2 > c.unknown, "a third, at least, of those who sleep always alike");
	ok(counts(src).wrong == wrong, "none of these for another one");
}

int main(int argc, char **argv)
{
	uint64_t enough = argc > 1 ? strtoull(argv[1], NULL, 10) : ENOUGH;
	struct tipme_kernel_source *src;

	if (geteuid()) {
		printf("1..0 # SKIP recording a kernel takes root\n");
		return 0;
	}
	src = opened();
	if (!bpf_of(src)->skel->rodata->tipme_known_code.sched[0]) {
		printf("1..0 # SKIP the kernel hides where its code is\n");
		return 0;
	}
	ok(file_make(), "a file to read is there");
	of_all_kinds(src, enough);
	of_one_kind_each(src);
	unlink(path);
	tipme_kernel_source_close(src);
	return tap_end();
}
