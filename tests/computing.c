// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into any program: at the real-time signal SIGNAL the thread that takes it computes, for
 * as many milliseconds of its CPU time as TIPME_COMPUTE_MS says.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define SIGNAL 44 /* of those that no library has for itself */

static long long ms;
static int (*next)(int, const struct sigaction *, struct sigaction *);

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void compute(int signal)
{
	long long end = cpu_ns() + ms * 1000000;

	(void)signal;
	while (cpu_ns() < end)
		for (volatile int i = 0; i < 100000; i++)
			;
}

static void find_next(void)
{
	void *found = dlsym(RTLD_NEXT, "sigaction");

	*(void **)&next = found;
}

/* Some programs give all signals back to the system when they begin. */
int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	if (signal == SIGNAL)
		return 0;
	if (!next)
		find_next();
	return next(signal, action, old);
}

__attribute__((constructor)) static void begin(void)
{
	struct sigaction action = { .sa_handler = compute, .sa_flags = SA_RESTART };
	const char *text = getenv("TIPME_COMPUTE_MS");

	ms = text ? atoll(text) : 0;
	find_next();
	next(SIGNAL, &action, NULL);
}
