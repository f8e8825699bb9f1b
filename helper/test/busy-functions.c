// SPDX-License-Identifier: GPL-2.0-only
/*
 * Computes for some seconds of CPU time in one function, called by another, called by main: what
 * samples of it must say is known. Then it calls the program named, if one is.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Of its own CPU time: on a machine with other work it gets as much as without. */
static double seconds_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

__attribute__((noinline)) static unsigned long innermost(unsigned long x)
{
	/* else one that calls nobody would have no frame */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (int i = 0; i < 20000000; i++) {
		x = x * 6364136223846793005UL + 1442695040888963407UL;
		__asm__ volatile("" : "+r"(x)); /* the loop stays a loop */
	}
	return x;
}

__attribute__((noinline)) static unsigned long caller(unsigned long x, double end)
{
	while (seconds_now() < end)
		x += innermost(x);
	return x + 1;
}

int main(int argc, char **argv)
{
	printf("%lu\n",
	       caller((unsigned long)argc, seconds_now() + (argc > 1 ? atof(argv[1]) : 1.0)));
	fflush(stdout);
	if (argc > 2)
		execv(argv[2], argv + 2);
	return argc > 2;
}
