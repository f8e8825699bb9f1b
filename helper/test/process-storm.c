// SPDX-License-Identifier: GPL-2.0-only
/*
 * As many processes as this machine makes in some seconds, on every CPU at once; each ends, or
 * calls a program that does. Prints how many, and in what time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* vfork() gives the same births, calls and ends as fork(), in less time. */
static unsigned long storm(double end_s, int exec)
{
	static char *const nothing[] = { (char *)"true", NULL };
	/* volatile: whoever comes back from vfork() finds it as it was */
	volatile unsigned long n = 0;

	while (now_s() < end_s) {
		pid_t pid = exec ? vfork() : fork();

		if (pid < 0)
			continue;
		if (!pid) {
			if (exec)
				execve("/bin/true", nothing, NULL);
			_exit(exec);
		}
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		n = n + 1;
	}
	return n;
}

int main(int argc, char **argv)
{
	double seconds = argc == 3 ? atof(argv[1]) : 0, begin_s = now_s();
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), exec = argc == 3 && !strcmp(argv[2], "exec");
	unsigned long sum = 0,
		      *count = mmap(NULL, (size_t)cpus * sizeof(*count), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (seconds <= 0 || count == MAP_FAILED) {
		fprintf(stderr, "usage: process-storm SECONDS exit|exec\n");
		return 64;
	}
	for (int i = 0; i < cpus; i++) {
		if (!fork()) {
			count[i] = storm(begin_s + seconds, exec);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < cpus; i++)
		sum += count[i];
	printf("%lu %.6f\n", sum, now_s() - begin_s);
	return 0;
}
