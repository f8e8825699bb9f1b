// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits for a lock in interrupts that come while their thread waits for one: threads on two CPUs
 * share a pipe, and have timers that send them signals; another thread keeps the lock of signals
 * busy. Prints the threads' numbers, and goes on until it is ended.
 */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WRITERS 4
#define TIMER_NS 60000

static int ends[2];
static cpu_set_t allowed;

static void nothing(int signal)
{
	(void)signal;
}

/* To the n-th of those two CPUs that we may run on first. */
static void stay(int n)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && !n--) {
			CPU_SET(cpu, &one);
			sched_setaffinity(0, sizeof(one), &one);
			return;
		}
}

static void timer_start(int tid)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN };
	struct itimerspec often = { { 0, TIMER_NS }, { 0, TIMER_NS } };
	timer_t timer;

	event._sigev_un._tid = tid;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &often, NULL)) {
		perror("lock-nest: timer");
		exit(1);
	}
}

static void *writer(void *arg)
{
	int tid = (int)syscall(SYS_gettid);
	char byte = 0;

	stay((int)(size_t)arg % 2);
	printf("%d\n", tid);
	fflush(stdout);
	timer_start(tid);
	/* Who finds it full, or empty, does not wait for that. */
	for (;;)
		if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
			continue;
	return NULL;
}

int main(void)
{
	const struct sigaction no_more = { .sa_handler = nothing, .sa_flags = SA_RESTART };
	pthread_t thread;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	sigaction(SIGRTMIN, &no_more, NULL);
	signal(SIGURG, SIG_IGN);
	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC)) {
		perror("lock-nest: pipe");
		return 1;
	}
	for (size_t i = 0; i < WRITERS; i++)
		if (pthread_create(&thread, NULL, writer, (void *)i)) {
			fprintf(stderr, "lock-nest: no thread\n");
			return 1;
		}
	for (;;)
		kill(getpid(), SIGURG);
}
