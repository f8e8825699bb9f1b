// SPDX-License-Identifier: GPL-2.0-only
/*
 * A load of known size: threads that sleep in several ways, and pairs of processes that pass a
 * byte, both at a rate.
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (32 << 10)
#define TRIPS_AT_ONCE 20

static unsigned int sleep_ms = 100;

static void *sleeper(void *arg)
{
	unsigned int way = (unsigned int)(uintptr_t)arg % 5, word = 0;
	int epoll = way == 3 ? epoll_create1(EPOLL_CLOEXEC) : -1;
	struct timespec t = { sleep_ms / 1000, (long)(sleep_ms % 1000) * 1000000 };
	struct epoll_event event;

	for (;;) {
		struct timeval tv = { t.tv_sec, t.tv_nsec / 1000 };

		if (!sleep_ms)
			pause();
		else if (way == 0)
			nanosleep(&t, NULL);
		else if (way == 1)
			poll(NULL, 0, (int)sleep_ms);
		else if (way == 2)
			select(0, NULL, NULL, NULL, &tv);
		else if (way == 3)
			epoll_wait(epoll, &event, 1, (int)sleep_ms);
		else
			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
	}
	return NULL;
}

static int sleepers_start(unsigned int n)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (uintptr_t i = 0; i < n; i++) {
		int err = pthread_create(&thread, &attr, sleeper, (void *)i);

		if (err)
			return -err;
	}
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void echo(int in, int out)
{
	char byte;

	while (read(in, &byte, 1) == 1 && write(out, &byte, 1) == 1)
		;
	_exit(0);
}

/* So many round trips a second, some at once; until the time is over. */
static int pass(unsigned int trips_per_s, uint64_t end_ns)
{
	uint64_t begin_ns = now_ns(), trips = 0;
	int there[2], back[2];
	char byte = 0;

	if (pipe(there) || pipe(back))
		return -errno;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		close(there[1]);
		close(back[0]);
		echo(there[0], back[1]);
	}
	while (now_ns() < end_ns) {
		for (int i = 0; i < TRIPS_AT_ONCE; i++, trips++)
			if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
				return -EPIPE;
		uint64_t due_ns = begin_ns + trips * 1000000000 / trips_per_s, now = now_ns();

		if (due_ns > now)
			nanosleep(&(struct timespec){ (time_t)((due_ns - now) / 1000000000),
						      (long)((due_ns - now) % 1000000000) },
				  NULL);
	}
	close(there[1]);
	waitpid(pid, NULL, 0);
	return 0;
}

static double ms_of(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

int main(int argc, char **argv)
{
	struct rusage self, children;

	if (argc != 5 || atoi(argv[4]) < 1) {
		fputs("usage: sleepers THREADS MS TRIPS SECONDS\n"
		      "THREADS sleep for MS each time (0: for ever), and TRIPS round trips a second (0: none) go through pipes.\n"
		      "examples: sleepers 100 100 4000 10\n          sleepers 12000 0 0 60\n          sleepers 0 1 5000 5\n",
		      stderr);
		return 64;
	}
	uint64_t end_ns = now_ns() + (uint64_t)atoi(argv[4]) * 1000000000;

	sleep_ms = (unsigned int)atoi(argv[2]);
	int err = sleepers_start((unsigned int)atoi(argv[1]));

	puts("ready");
	fflush(stdout);
	if (!err && atoi(argv[3]))
		err = pass((unsigned int)atoi(argv[3]), end_ns);
	while (!err && now_ns() < end_ns)
		usleep(100000);
	if (err)
		fprintf(stderr, "sleepers: %d\n", err);
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	printf("%.3f\n", ms_of(self.ru_utime) + ms_of(self.ru_stime) + ms_of(children.ru_utime) +
				 ms_of(children.ru_stime));
	return err != 0;
}
