// SPDX-License-Identifier: GPL-2.0-only
/*
 * tipme profile idle: the idle-loop instrument of Endo, Wang, Chen and Seltzer (OSDI 1996, section
 * 2.3). One thread of the lowest priority on each CPU does the same work again and again,
 * calibrated to a millisecond. Work that takes longer was interrupted: what it took beyond its
 * usual time, somebody else had.
 *
 * A CPU that changes its frequency makes all loops longer or shorter. So the usual time is the
 * shortest of each tenth of a second; where that is off the calibrated one, it is said. Beside the
 * paper's figure stands the kernel's: wall time less the CPU time of the loop's thread.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "translate.h"

#define MS_NS 1000000ULL
#define MAX_CPUS 256
/* Loops of one block, whose shortest is the usual time. */
#define BLOCK 100
/* Elongations that are kept one by one, of each CPU: an hour of a busy desktop. */
#define KEPT (1U << 18)
/* What is shorter than that is not told from the loop's own scatter. */
#define LEAST_NS 20000
/* By how much the usual time may be off before it is called another frequency: per cent. */
#define DRIFT 3

static const char usage[] = N_(
	"usage: tipme profile idle [-d SECONDS] [-o FILE] [--json]\n"
	"\n"
	"How busy each CPU is, by a loop of the lowest priority that takes a millisecond where\n"
	"nobody else runs: what it takes longer, others had, interrupts included. The method of\n"
	"Endo et al. 1996. It takes all idle time; nobody else waits for it.\n"
	"\n"
	"  -d, --duration SECONDS   1 to 3600 (usually 10)\n"
	"  -o, --output FILE        each elongation: CPU, from, to, taken (ns), divided by tabs\n"
	"  --json                   all numbers\n"
	"\n"
	"Examples:\n"
	"  tipme profile idle\n"
	"  tipme profile idle -d 60 --json\n"
	"  tipme profile idle -d 5 -o elongations.tsv\n");

struct elongation {
	uint64_t from_ns, to_ns, taken_ns;
};

struct cpu {
	pthread_t thread;
	int number;
	uint64_t iterations; /* of one loop */
	uint64_t duration_ns;
	/* usual: sum of the usual times of all loops */
	uint64_t loops, wall_ns, taken_ns, usual_ns;
	/* the usual time: at first, least and most since */
	uint64_t calibrated_ns, least_ns, most_ns;
	uint64_t cpu_ns; /* that the kernel gave us */
	unsigned int blocks, drifted, kept, unkept;
	struct elongation *e;
};

static volatile sig_atomic_t ended, child;
static pthread_barrier_t all_calibrated;

static void on_signal(int sig)
{
	(void)sig;
	ended = 1;
	if (child > 0)
		kill(child, SIGTERM);
}

/*
 * SCHED_IDLE is the lowest priority within a group alone. A kernel with autogroups gives each
 * session an equal part of a CPU, so that the loops would take half of it from programs of other
 * sessions. So they run in a session of their own, whose group has the lowest priority, too.
 * Returns -1 in the process that is to go on, else the exit status of that one.
 */
static int group_of_our_own(void)
{
	int status = 0, fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	close(fd);
	child = fork();
	if (child < 0)
		return -1;
	while (child > 0)
		if (waitpid(child, &status, 0) == child)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
		else if (errno != EINTR)
			return 1;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setsid();
	return -1;
}

/* Once all have calibrated, which nobody does well who has to wait for everybody. */
static void lower_group(void)
{
	int fd = child ? -1 : open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "19", 2) != 2)
		fprintf(stderr,
			"tipme: profile: idle: its group keeps its priority: others may have "
			"waited for it\n");
	if (fd >= 0)
		close(fd);
}

static __attribute__((noinline)) void work(uint64_t iterations)
{
	for (uint64_t i = 0; i < iterations; i++)
		__asm__ volatile("" ::: "memory");
}

static uint64_t least_of(uint64_t iterations, int times)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < times; i++) {
		uint64_t from = tipme_clock_ns();

		work(iterations);
		uint64_t took = tipme_clock_ns() - from;

		least = took < least ? took : least;
	}
	return least;
}

/* So many iterations that the shortest of some loops takes a millisecond, to the hundredth. */
static void calibrate(struct cpu *c)
{
	c->iterations = 100000;
	for (int i = 0; i < 20; i++) {
		uint64_t took = least_of(c->iterations, 20);

		if (took > MS_NS * 99 / 100 && took < MS_NS * 101 / 100)
			break;
		c->iterations = c->iterations * MS_NS / (took ? took : 1) + 1;
	}
	c->calibrated_ns = least_of(c->iterations, 20);
	c->least_ns = c->most_ns = c->calibrated_ns;
}

static void keep(struct cpu *c, uint64_t from_ns, uint64_t to_ns, uint64_t taken_ns)
{
	if (c->kept == KEPT) {
		c->unkept++;
		return;
	}
	c->e[c->kept++] = (struct elongation){ from_ns, to_ns, taken_ns };
}

/* The time stamps of one block, one more than it has loops. */
static void block_end(struct cpu *c, const uint64_t *at, int loops)
{
	uint64_t usual = UINT64_MAX;

	for (int i = 0; i < loops; i++)
		usual = at[i + 1] - at[i] < usual ? at[i + 1] - at[i] : usual;
	/* A block in which each loop was interrupted tells no usual time. */
	if (usual > c->calibrated_ns * 3 / 2)
		usual = c->calibrated_ns;
	for (int i = 0; i < loops; i++) {
		uint64_t took = at[i + 1] - at[i], taken = took > usual ? took - usual : 0;

		c->taken_ns += taken;
		c->usual_ns += took - taken;
		if (taken > LEAST_NS)
			keep(c, at[i], at[i + 1], taken);
	}
	c->loops += (uint64_t)loops;
	c->wall_ns += at[loops] - at[0];
	c->least_ns = usual < c->least_ns ? usual : c->least_ns;
	c->most_ns = usual > c->most_ns ? usual : c->most_ns;
	c->blocks++;
	c->drifted += usual * 100 > c->calibrated_ns * (100 + DRIFT) ||
		      usual * 100 < c->calibrated_ns * (100 - DRIFT);
}

static void *loop(void *arg)
{
	struct cpu *c = arg;
	struct sched_param param = { 0 };
	uint64_t at[BLOCK + 1];
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(c->number, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	calibrate(c);
	/* Only then: nobody calibrates well whom everybody may interrupt. */
	pthread_setschedparam(pthread_self(), SCHED_IDLE, &param);
	if (pthread_barrier_wait(&all_calibrated) == PTHREAD_BARRIER_SERIAL_THREAD)
		lower_group();
	uint64_t end_ns = tipme_clock_ns() + c->duration_ns;
	uint64_t cpu_from = tipme_clock_of_ns(CLOCK_THREAD_CPUTIME_ID);

	at[0] = tipme_clock_ns();
	/* One loop at least, or a CPU that was never idle would have no figure. */
	do {
		int n = 0;

		do {
			work(c->iterations);
			at[++n] = tipme_clock_ns();
		} while (n < BLOCK && at[n] < end_ns && !ended);
		block_end(c, at, n);
		at[0] = at[n];
	} while (at[0] < end_ns && !ended);
	c->cpu_ns = tipme_clock_of_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_from;
	return NULL;
}

/* --- what comes out --- */

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static uint64_t by_kernel(const struct cpu *c)
{
	return c->wall_ns > c->cpu_ns ? c->wall_ns - c->cpu_ns : 0;
}

static void print_text(const struct cpu *cpus, int count)
{
	bool drifted = false;

	printf("CPU     loops      busy  by the kernel  elongations  a loop takes\n");
	for (int i = 0; i < count; i++) {
		const struct cpu *c = &cpus[i];

		printf("%3d  %8llu  %6.2f %%       %6.2f %%  %11u  %.3f to %.3f ms\n", c->number,
		       (unsigned long long)c->loops, percent(c->taken_ns, c->wall_ns),
		       percent(by_kernel(c), c->wall_ns), c->kept + c->unkept,
		       (double)c->least_ns / 1e6, (double)c->most_ns / 1e6);
		drifted |= c->drifted;
	}
	if (drifted)
		printf("The frequency changed, or another thread of a core was in use: the loop's usual\n"
		       "time is taken anew each tenth of a second.\n");
}

static void print_json(const struct cpu *cpus, int count)
{
	printf("{\"version\": 1, \"cpus\": [");
	for (int i = 0; i < count; i++) {
		const struct cpu *c = &cpus[i];

		printf("%s\n  {\"cpu\": %d, \"loops\": %llu, \"wall_ns\": %llu, \"busy_ns\": %llu, "
		       "\"usual_ns\": %llu, \"by_kernel_ns\": %llu, \"calibrated_ns\": %llu, "
		       "\"least_ns\": %llu, \"most_ns\": %llu, \"blocks\": %u, \"drifted\": %u, "
		       "\"elongations\": %u, \"not_kept\": %u}",
		       i ? "," : "", c->number, (unsigned long long)c->loops,
		       (unsigned long long)c->wall_ns, (unsigned long long)c->taken_ns,
		       (unsigned long long)c->usual_ns, (unsigned long long)by_kernel(c),
		       (unsigned long long)c->calibrated_ns, (unsigned long long)c->least_ns,
		       (unsigned long long)c->most_ns, c->blocks, c->drifted, c->kept, c->unkept);
	}
	printf("\n]}\n");
}

static int write_elongations(const char *file, const struct cpu *cpus, int count)
{
	FILE *f = fopen(file, "we");

	if (!f)
		return -errno;
	fprintf(f, "cpu\tfrom_ns\tto_ns\ttaken_ns\n");
	for (int i = 0; i < count; i++)
		for (unsigned int k = 0; k < cpus[i].kept; k++)
			fprintf(f, "%d\t%llu\t%llu\t%llu\n", cpus[i].number,
				(unsigned long long)cpus[i].e[k].from_ns,
				(unsigned long long)cpus[i].e[k].to_ns,
				(unsigned long long)cpus[i].e[k].taken_ns);
	return fclose(f) ? -errno : 0;
}

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "tipme: profile: idle: %s: %s\n", what, why);
	return 1;
}

/* Those on which we may run. Returns how many. */
static int cpus_make(struct cpu *cpus, uint64_t duration_ns)
{
	cpu_set_t set;
	int count = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 0;
	for (int i = 0; i < CPU_SETSIZE && count < MAX_CPUS; i++) {
		if (!CPU_ISSET(i, &set))
			continue;
		cpus[count].number = i;
		cpus[count].e = malloc(KEPT * sizeof(struct elongation));
		if (!cpus[count].e)
			return 0;
		cpus[count++].duration_ns = duration_ns;
	}
	return count;
}

static int run(struct cpu *cpus, int count)
{
	int started = 0, err = 0;

	pthread_barrier_init(&all_calibrated, NULL, (unsigned int)count);
	for (; started < count && !err; started += !err)
		err = pthread_create(&cpus[started].thread, NULL, loop, &cpus[started]);
	/* Those that have begun wait for all: only the end of the process ends them. */
	if (err)
		exit(complain("a thread", strerror(err)));
	for (int i = 0; i < count; i++)
		pthread_join(cpus[i].thread, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "duration", required_argument, NULL, 'd' },
		{ "output", required_argument, NULL, 'o' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	static struct cpu cpus[MAX_CPUS];
	unsigned long seconds = 10;
	const char *file = NULL;
	bool json = false;

	/* `tipme profile idle ...` calls us with the verb's word. */
	if (argc > 1 && !strcmp(argv[1], "idle")) {
		argc--;
		argv++;
	}
	for (int c; (c = getopt_long(argc, argv, "d:o:h", longs, NULL)) != -1;) {
		switch (c) {
		case 'd': seconds = strtoul(optarg, NULL, 10); break;
		case 'o': file = optarg; break;
		case 'j': json = true; break;
		case 'h': fputs(tipme_help(usage), stdout); return 0;
		default: fputs(tipme_help(usage), stderr); return 64;
		}
	}
	if (optind != argc || seconds < 1 || seconds > 3600) {
		fputs(tipme_help(usage), stderr);
		return 64;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	int status = group_of_our_own();

	if (status >= 0)
		return status;
	int count = cpus_make(cpus, seconds * TIPME_NS_PER_S);

	if (!count)
		return complain("no CPU", "no memory, or none to run on");
	run(cpus, count);
	int err = file ? write_elongations(file, cpus, count) : 0;

	if (json)
		print_json(cpus, count);
	else
		print_text(cpus, count);
	return err ? complain(file, strerror(-err)) : 0;
}
