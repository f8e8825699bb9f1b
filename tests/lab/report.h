/* SPDX-License-Identifier: GPL-2.0-only */
/* Times, work and the truth file: what all programs of the laboratory share. */
#ifndef LAB_REPORT_H
#define LAB_REPORT_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline int64_t clock_ns(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline int64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline void sleep_until_ns(int64_t at_ns)
{
	struct timespec t = { .tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

static inline void sleep_ns(int64_t ns)
{
	sleep_until_ns(now_ns() + ns);
}

/* CPU time of this thread, not wall time: the same under load. */
static inline void compute_ns(int64_t ns)
{
	int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static inline void compute_until_ns(int64_t at_ns)
{
	while (now_ns() < at_ns)
		;
}

/*
 * One line into the truth file, which is a file in memory: many write to it, each line by one call.
 */
__attribute__((format(printf, 1, 2))) static inline void report(const char *format, ...)
{
	const char *path = getenv("LAB_TRUTH");
	char line[256];
	va_list args;
	int fd, len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fd = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	if (fd < 0 || write(fd, line, (size_t)len) != len)
		perror(path ? path : "LAB_TRUTH");
	if (fd >= 0)
		close(fd);
}

/* What was done from..to (wall), and how much of it was this thread's computing. */
static inline void report_span(const char *what, int tid, int64_t from_ns, int64_t to_ns,
			       int64_t cpu_ns)
{
	report("span %s %d %d %lld %lld %lld\n", what, (int)getpid(), tid, (long long)from_ns,
	       (long long)to_ns, (long long)cpu_ns);
}

#endif
