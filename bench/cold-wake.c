// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a write into a pipe until its reader runs, on one CPU: a waking and a switch, so two
 * scheduler records. Before each, the writer goes over so many KiB of memory of its own, as a
 * program does that has work to do. So the kernel's and a recorder's lines have left the nearer
 * caches.
 */
#include "config.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE 64

struct shared {
	uint64_t written_ns;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void work(volatile char *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += LINE)
		memory[i]++;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Ends by itself when the other has gone: its read gives nothing then. */
static void play(int in, int out, struct shared *shared, char *memory, size_t bytes, uint64_t *ns,
		 size_t trips)
{
	char c = 0;

	for (size_t i = 0; i < trips; i++) {
		if (read(in, &c, 1) != 1)
			return;
		ns[i] = now_ns() - shared->written_ns;
		work(memory, bytes);
		shared->written_ns = now_ns();
		if (write(out, &c, 1) != 1)
			return;
	}
}

static int pin(int cpu)
{
	struct sched_param p = { .sched_priority = 10 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) || sched_setscheduler(0, SCHED_FIFO, &p);
}

int main(int argc, char **argv)
{
	size_t trips = argc == 4 ? strtoul(argv[2], NULL, 10) : 0,
	       bytes = argc == 4 ? strtoul(argv[3], NULL, 10) * 1024 : 0;
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t *ns = calloc(trips + 1, sizeof(*ns));
	char *memory = aligned_alloc(4096, bytes + 4096);
	int there[2], back[2];

	if (!trips) {
		fprintf(stderr, "usage: cold-wake CPU TRIPS KIB\n");
		return 64;
	}
	if (shared == MAP_FAILED || !ns || !memory || pipe(there) || pipe(back) ||
	    pin(atoi(argv[1]))) {
		perror("cold-wake: real-time on that CPU");
		return 1;
	}
	memset(memory, 1, bytes + 4096);
	pid_t pid = fork();
	if (pid < 0) {
		perror("cold-wake: fork");
		return 1;
	}
	memset(memory, 2, bytes + 4096); /* each has memory of its own */
	if (!pid) {
		play(there[0], back[1], shared, memory, bytes, ns, trips);
		_exit(0);
	}
	shared->written_ns = now_ns();
	if (write(there[1], "x", 1) != 1)
		return 1;
	play(back[0], there[1], shared, memory, bytes, ns, trips);
	close(there[1]);
	waitpid(pid, NULL, 0);
	qsort(ns, trips, sizeof(*ns), by_value);
	printf("%llu\n", (unsigned long long)ns[trips / 4]);
	return 0;
}
