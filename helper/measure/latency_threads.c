// SPDX-License-Identifier: GPL-2.0-only
/* A real-time thread on each CPU. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "latency_threads.h"

/* Locked in memory, so as much as is used and no more. */
#define STACK_BYTES (256 << 10)

static int thread_start(struct tipme_latency_thread *t, unsigned int priority, void *(*run)(void *))
{
	struct sched_param param = { .sched_priority = (int)priority };
	pthread_attr_t attr;
	cpu_set_t set;
	int err;

	CPU_ZERO(&set);
	CPU_SET(t->all->cpu_number[t->index], &set);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	t->priority = priority;
	err = pthread_create(&t->thread, &attr, run, t);
	if (err == EPERM) {
		/*
		 * Without real-time the figures are those of an ordinary thread, and the result
		 * says so.
		 */
		t->priority = 0;
		pthread_attr_setinheritsched(&attr, PTHREAD_INHERIT_SCHED);
		err = pthread_create(&t->thread, &attr, run, t);
	}
	pthread_attr_destroy(&attr);
	return -err;
}

/* What was measured up to now becomes a minute. An error of reading shows at the end, as ever. */
static void minute(struct tipme_latencies *all, int fd, const struct tipme_latency_work *work,
		   int ended)
{
	if (!all->minute || (work->refresh && work->refresh(all, fd)))
		return;
	all->minute(all, ended);
}

/*
 * A page fault would be a latency of our own; where memory may not be locked, it is one. Who may
 * lock so much and no more gets no memory at all beyond that, if what comes is to be locked, too.
 */
static void memory_lock(void)
{
	struct rlimit limit;

	if (!geteuid() || (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur == RLIM_INFINITY))
		mlockall(MCL_CURRENT | MCL_FUTURE);
	else
		mlockall(MCL_CURRENT);
}

int tipme_latency_threads(struct tipme_latencies *all, const struct tipme_latency_options *opt,
			  int fd, const struct tipme_latency_work *work)
{
	uint64_t begun = tipme_clock_ns(), end = begun + opt->duration_s * 1000000000ULL;
	uint64_t every = opt->every_s * 1000000000ULL, next = begun + every;
	struct tipme_latency_thread *thread = calloc(all->cpus, sizeof(*thread));
	unsigned int started = 0;
	int err = thread ? 0 : -ENOMEM;

	memory_lock();
	all->begun_ns = begun;
	minute(all, fd, work, 0);
	while (!err && started < all->cpus) {
		thread[started] = (struct tipme_latency_thread){
			.all = all,
			.index = started,
			.fd = fd,
			.period_ns = opt->period_us * 1000ULL,
			.threshold_ns = opt->threshold_us * 1000ULL,
		};
		err = thread_start(&thread[started], opt->user_priority, work->run);
		started += !err;
	}
	while (!err && !tipme_latency_ended && tipme_clock_ns() < end) {
		nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
		if (work->meanwhile)
			work->meanwhile(all, fd);
		if (tipme_clock_ns() >= next) {
			minute(all, fd, work, 0);
			next += every;
		}
	}
	tipme_latency_ended = 1;
	for (unsigned int i = 0; i < started; i++) {
		pthread_join(thread[i].thread, NULL);
		err = err ? err : thread[i].err;
	}
	all->ended_ns = tipme_clock_ns();
	if (work->meanwhile)
		work->meanwhile(all, fd);
	minute(all, fd, work, 1);
	free(thread);
	return err;
}
