// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two real-time processes on CPU 0 pass a byte to and fro through pipes; prints nanoseconds a round
 * trip: two switches, two wake-ups.
 */
#include "config.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Of equal fixed priority, neither preempts the other: each round trip is the same. */
static int pin(void)
{
	struct sched_param param = { .sched_priority = 10 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	return sched_setaffinity(0, sizeof(set), &set) || sched_setscheduler(0, SCHED_FIFO, &param);
}

static int pass(int from, int to)
{
	char c;

	return read(from, &c, 1) == 1 && write(to, &c, 1) == 1;
}

int main(int argc, char **argv)
{
	long trips = argc == 2 ? atol(argv[1]) : 0;
	int there[2], back[2];
	uint64_t begin;
	pid_t echo;

	if (trips <= 0) {
		fprintf(stderr, "usage: pingpong ROUND_TRIPS\n");
		return 64;
	}
	if (pin() || pipe(there) || pipe(back) || (echo = fork()) < 0) {
		perror("pingpong");
		return 1;
	}
	if (!echo) {
		close(there[1]);
		while (pass(there[0], back[1]))
			;
		_exit(0);
	}
	begin = now_ns();
	if (write(there[1], "x", 1) != 1)
		return 1;
	for (long i = 1; i < trips; i++)
		if (!pass(back[0], there[1]))
			return 1;
	if (read(back[0], &(char){ 0 }, 1) != 1)
		return 1;
	printf("%.1f\n", (double)(now_ns() - begin) / (double)trips);
	close(there[1]);
	waitpid(echo, NULL, 0);
	return 0;
}
