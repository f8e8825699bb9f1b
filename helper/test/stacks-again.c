// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sleeper's stack that is known again by its words is the one that unwinding finds: while threads
 * sleep in many ways, each known stack is unwound besides, and compared.
 */
#include "config.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon-tap.h"
#include "kernel_backend.h"

#define KNOWN_AT_LEAST 5000
/* As long as a busy machine may take; only a hang is meant to reach it. */
#define PATIENCE_S 180

/* --- sleeps of some milliseconds --- */

static int pipes[2], sockets[2];

static void way_nanosleep(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL);
}

static void way_poll(void)
{
	poll(NULL, 0, 3);
}

static void way_poll_pipe(void)
{
	struct pollfd fds[8];

	for (int i = 0; i < 8; i++)
		fds[i] = (struct pollfd){ .fd = pipes[0], .events = POLLPRI };
	poll(fds, 8, 3);
}

static void way_select(void)
{
	struct timeval tv = { .tv_usec = 3000 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(sockets[0], &set);
	select(sockets[0] + 1, NULL, NULL, &set, &tv);
}

static void way_epoll(void)
{
	struct epoll_event event = { .events = EPOLLPRI };
	int fd = epoll_create1(EPOLL_CLOEXEC);

	epoll_ctl(fd, EPOLL_CTL_ADD, pipes[0], &event);
	epoll_wait(fd, &event, 1, 3);
	close(fd);
}

static void way_futex(void)
{
	static unsigned int word;

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &(struct timespec){ .tv_nsec = 3000000 },
		NULL, 0);
}

static void way_pipe(void)
{
	char byte;

	if (read(pipes[0], &byte, 1) < 0)
		way_nanosleep();
}

static void way_socket(void)
{
	char byte;

	if (recv(sockets[0], &byte, 1, 0) < 0)
		way_nanosleep();
}

static void way_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		way_nanosleep();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void way_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigtimedwait(&set, NULL, &(struct timespec){ .tv_nsec = 3000000 });
}

static void way_disk(void)
{
	static __thread int fd;
	char name[] = "/var/tmp/tipme-stacks-XXXXXX";

	if (!fd) {
		fd = mkstemp(name);
		unlink(name);
	}
	if (fd < 0 || pwrite(fd, name, sizeof(name), 0) < 0 || fdatasync(fd))
		way_nanosleep();
}

static void way_file_lock(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX))
		return;
	way_nanosleep();
	close(fd);
}

static void (*const ways[])(void) = {
	way_nanosleep, way_poll,   way_poll_pipe, way_select, way_epoll, way_futex,
	way_pipe,      way_socket, way_child,	  way_signal, way_disk,	 way_file_lock,
};

#define WAYS (sizeof(ways) / sizeof(*ways))

static void *sleep_one_way(void *way)
{
	for (;;)
		ways[(uintptr_t)way]();
	return NULL;
}

/* What it sleeps on changes each time, and so do its stack's old words. */
static void *sleep_all_ways(void *seed)
{
	unsigned int x = (unsigned int)(uintptr_t)seed;

	for (;;) {
		x = x * 1664525 + 1013904223;
		ways[(x >> 16) % WAYS]();
	}
	return NULL;
}

static void *feed(void *arg)
{
	for (;;) {
		way_nanosleep();
		if (write(pipes[1], "", 1) < 0 || send(sockets[1], "", 1, 0) < 0)
			return arg;
	}
}

static pid_t sleepers_begin(void)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pipe2(pipes, O_CLOEXEC) || socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets))
		_exit(1);
	for (uintptr_t i = 0; i < WAYS; i++)
		pthread_create(&thread, NULL, sleep_one_way, (void *)i);
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&thread, NULL, sleep_all_ways, (void *)i);
	feed(NULL);
	_exit(1);
}

/* --- the test --- */

static struct tipme_kernel_stats stats_of(struct tipme_kernel_source *src)
{
	struct tipme_kernel_stats st = { 0 };

	tipme_kernel_source_stats(src, &st);
	return st;
}

/* Until enough are known; seconds: as argument, for long runs. */
static struct tipme_kernel_stats watched(struct tipme_kernel_source *src, time_t at_least_s)
{
	struct tipme_kernel_stats st = stats_of(src);
	time_t begin = time(NULL), passed = 0;

	while (passed < at_least_s || (st.stacks_known < KNOWN_AT_LEAST && passed < PATIENCE_S)) {
		nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
		st = stats_of(src);
		passed = time(NULL) - begin;
	}
	return st;
}

int main(int argc, char **argv)
{
	struct tipme_kernel_options opt = { .source = TIPME_SOURCE_KERNEL_BPF, .stacks_check = 1 };
	struct tipme_kernel_source *src;
	char why[512];

	if (tipme_kernel_source_open(&src, &opt, why, sizeof(why))) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	pid_t pid = sleepers_begin();
	struct tipme_kernel_stats st = watched(src, argc > 1 ? atoi(argv[1]) : 0);

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("# %llu known again, %llu unwound, %llu wrong; %llu found no room\n",
	       (unsigned long long)st.stacks_known, (unsigned long long)st.stacks_unwound,
	       (unsigned long long)st.stacks_wrong, (unsigned long long)st.lost.stack_table);
	if (st.stacks_known)
		ok(st.stacks_known >= KNOWN_AT_LEAST, "stacks of sleepers are known again");
	else
		printf("ok %d # SKIP this kernel has its stacks otherwise: all are unwound\n",
		       ++tap_done);
	ok(!st.stacks_wrong, "each is the one that unwinding finds");
	tipme_kernel_source_close(src);
	return tap_end();
}
