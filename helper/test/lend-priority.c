// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lends priority: so many times a real-time thread waits for a lock that an ordinary one holds.
 * Prints both threads' numbers.
 */
#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock;
static sem_t held, again;
static int times;

static void nap_ms(int ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}

/* What we run with now: below 0 is real-time. */
static long own_priority(void)
{
	char text[1024] = "";
	FILE *f = fopen("/proc/thread-self/stat", "re");
	const char *end = f && fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
	long prio = 0;

	if (end)
		sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %ld",
		       &prio);
	if (f)
		fclose(f);
	return prio;
}

/* Until the other one waits for the lock: for minutes, if it does not get a CPU. */
static void await_loan(void)
{
	for (int ms = 0; ms < 180000 && own_priority() >= 0; ms++)
		nap_ms(1);
}

static void *holder(void *arg)
{
	(void)arg;
	printf("holder %ld\n", (long)syscall(SYS_gettid));
	fflush(stdout);
	for (int i = 0; i < times; i++) {
		pthread_mutex_lock(&lock);
		sem_post(&held);
		await_loan();
		pthread_mutex_unlock(&lock);
		sem_wait(&again);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sched_param param = { .sched_priority = 5 };
	pthread_mutexattr_t attr;
	pthread_t thread;

	times = argc > 1 ? atoi(argv[1]) : 10;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&lock, &attr);
	sem_init(&held, 0, 0);
	sem_init(&again, 0, 0);
	if (pthread_create(&thread, NULL, holder, NULL))
		return 1;
	if (syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &param)) {
		perror("lend-priority: SCHED_FIFO");
		_exit(77);
	}
	printf("lender %ld\n", (long)syscall(SYS_gettid));
	fflush(stdout);
	for (int i = 0; i < times; i++) {
		sem_wait(&held);
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		sem_post(&again);
	}
	pthread_join(thread, NULL);
	return 0;
}
