// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a record costs is known from the beginning, and found anew whenever the kernel measures
 * programs, for whomever.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "daemon-tap.h"
#include "kernel_backend.h"

/*
 * What will come is waited for as long as a machine may take that others keep busy; only a hang is
 * meant to reach it.
 */
#define PATIENCE_S 180

static time_t now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

/* Births, switches and ends. */
static void forks(void)
{
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

static struct tipme_kernel_stats stats(struct tipme_kernel_source *src)
{
	struct tipme_kernel_stats st = { 0 };

	tipme_kernel_source_stats(src, &st);
	return st;
}

/* Until costs were found after `since_ns`. Returns when they were. */
static uint64_t measured_after(struct tipme_kernel_source *src, uint64_t since_ns)
{
	time_t end = now_s() + PATIENCE_S;

	while (stats(src).measured_ns <= since_ns && now_s() < end)
		forks();
	return stats(src).measured_ns;
}

static void check(struct tipme_kernel_source *src)
{
	uint64_t first_ns = measured_after(src, 0), later_ns;
	struct tipme_kernel_stats st = stats(src);
	int fd;

	ok(first_ns && st.cost[TIPME_CLASSES].ns && !st.measuring,
	   "what a record costs is measured once");
	ok(st.cost[TIPME_CLASSES].low_ns <= st.cost[TIPME_CLASSES].ns &&
		   st.cost[TIPME_CLASSES].ns <= st.cost[TIPME_CLASSES].high_ns,
	   "... as a median between its quartiles");
	printf("# %u ns, %u to %u\n", st.cost[TIPME_CLASSES].ns, st.cost[TIPME_CLASSES].low_ns,
	       st.cost[TIPME_CLASSES].high_ns);
	fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	later_ns = measured_after(src, first_ns);
	ok(later_ns > first_ns, "and again when somebody else has the kernel measure");
	ok(stats(src).cost[TIPME_CLASSES].ns && !stats(src).measuring,
	   "... which is not ours to end");
	printf("# %u ns\n", stats(src).cost[TIPME_CLASSES].ns);
	if (fd >= 0)
		close(fd);
}

int main(void)
{
	struct tipme_kernel_options opt = { .source = TIPME_SOURCE_KERNEL_BPF };
	struct tipme_kernel_source *src;
	char why[256] = "";
	int fd = geteuid() ? -1 : bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (fd < 0) {
		printf("1..0 # SKIP having the kernel measure programs takes root, and CAP_SYS_ADMIN\n");
		return 0;
	}
	close(fd);
	if (tipme_kernel_source_open(&src, &opt, why, sizeof(why))) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	check(src);
	tipme_kernel_source_close(src);
	return tap_end();
}
