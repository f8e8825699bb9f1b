// SPDX-License-Identifier: GPL-2.0-only
/*
 * tipme bench: the two interactive microbenchmarks of TIPME (2000), sections 4.1.1 and 4.2.1, and
 * what their worst interval was.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "explain.h"
#include "intervals.h"
#include "loads.h"
#include "memory_group.h"
#include "translate.h"

#define NS_PER_MS 1000000ULL
#define MEMORY_SLEEP_NS (100 * NS_PER_MS)
#define MEMORY_BUFFER_BYTES (4ULL << 20)
#define SCHED_COMPUTE_NS (10 * NS_PER_MS)
#define SCHED_SLEEP_NS (50 * NS_PER_MS)
#define EXIT_OVER 2
#define EXIT_USAGE 64

static const char usage[] = N_(
	"usage: tipme bench run|compare|report|merge|memory|sched [options]\n"
	"run times small tasks and applications, and says where the time went; compare, report\n"
	"and merge read its results: see tipme bench run --help, tipme-bench(1).\n"
	"memory and sched time one task, again and again, beside a load, and show the intervals.\n\n"
	"  memory  sleeps 100 ms, then reads one word of 4 MB; beside it children write to more memory than\n"
	"          there is\n"
	"  sched   computes 10 ms, then sleeps 50 ms; beside it one hog, or a new hog every two seconds\n\n"
	"  --intervals N     how many (200)\n"
	"  --children N      memory: writers (4)\n"
	"  --limit-mib N     memory: all of it in a cgroup of so much (64); needs root\n"
	"  --whole-machine   memory: no cgroup: press on the whole machine, which may hang for minutes\n"
	"  --factor F        memory: the writers' memory over what there is (1.5)\n"
	"  --folder DIR      memory: write to files in DIR; without it, to anonymous memory if there is\n"
	"                    swap for it, else to files in /var/tmp\n"
	"  --load KIND       sched: hog, forks or none (forks)\n"
	"  --cpu N           sched: all of it on this CPU (0); -1: on any\n"
	"  --threshold-ms N  end with 2 if an interval was longer\n"
	"  --explain         have the running recorder save the worst interval, and say what it was\n"
	"  --json            results as JSON\n"
	"  run, compare, report, merge: --output --name --budget --rounds --folder --here\n"
	"  --no-recorder --keep-episodes --list --margin --picture --html --pictures --png\n\n"
	"Examples:\n"
	"  sudo tipme bench memory --intervals 10000\n"
	"  tipme bench run -o before.json\n"
	"  sudo tipme start && sudo tipme bench memory --explain\n");

struct options {
	unsigned int intervals;
	unsigned int limit_mib;
	bool whole_machine;
	double factor;
	const char *load;
	int cpu;
	unsigned int threshold_ms;
	bool explain, json;
	struct tipme_load_options load_opt;
};

struct run {
	const char *name;
	struct options opt;
	struct tipme_intervals all;
	struct tipme_load load;
	struct tipme_memory_group group;
	struct tipme_explain explain;
	uint64_t memory_bytes; /* that there is for it */
	uint64_t skip_ns; /* see struct bench */
	bool in_group; /* that memory is a cgroup's */
	unsigned int ended; /* children that were gone before the end */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

static int fail(const char *name, const char *what)
{
	fprintf(stderr, "tipme: bench: %s: %s\n", name, what);
	return 1;
}

/* --- timing --- */

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / TIPME_NS_PER_S), (long)(ns % TIPME_NS_PER_S) };

	nanosleep(&ts, NULL);
}

static void progress(const struct run *run)
{
	if (isatty(STDERR_FILENO) && run->all.count % 10 == 0)
		fprintf(stderr, "\r%u of %u intervals ", run->all.count, run->opt.intervals);
}

/*
 * One interval more; the worst so far is offered for explanation. Nothing of this is done between
 * sleep and time stamp.
 */
static void stamp(struct run *run, uint64_t *last_ns)
{
	uint64_t now_ns = tipme_clock_ns();
	struct tipme_interval at = { *last_ns, now_ns };
	char words[96];

	if (tipme_intervals_add(&run->all, at.from_ns, at.to_ns) >
		    run->all.nominal_ns + run->all.nominal_ns / 10 &&
	    run->opt.explain) {
		snprintf(words, sizeof(words), "tipme bench %s: interval of %.1f ms", run->name,
			 (double)(at.to_ns - at.from_ns) / NS_PER_MS);
		at.from_ns += run->skip_ns;
		tipme_explain_offer(&run->explain, &at, words);
	}
	progress(run);
	*last_ns = tipme_clock_ns();
}

static int time_memory(struct run *run)
{
	volatile char *buf = tipme_load_buffer(MEMORY_BUFFER_BYTES, run->opt.load_opt.folder);
	uint64_t at = 0, last_ns;

	if (!buf)
		return -errno;
	for (uint64_t i = 0; i < MEMORY_BUFFER_BYTES; i += TIPME_LOAD_STRIDE)
		buf[i] = 1;
	last_ns = tipme_clock_ns();
	while (run->all.count < run->opt.intervals && !interrupted) {
		sleep_ns(MEMORY_SLEEP_NS);
		/* The read itself is what is timed. */
		(void)*(volatile unsigned int *)(buf + at);
		at = (at + TIPME_LOAD_STRIDE) % MEMORY_BUFFER_BYTES;
		stamp(run, &last_ns);
	}
	return 0;
}

static int time_sched(struct run *run)
{
	uint64_t last_ns = tipme_clock_ns();

	while (run->all.count < run->opt.intervals && !interrupted) {
		tipme_compute(SCHED_COMPUTE_NS);
		sleep_ns(SCHED_SLEEP_NS);
		stamp(run, &last_ns);
	}
	return 0;
}

/* --- preparation --- */

/* Where the writers' memory goes when it is taken away, and how much each has. */
static int memory_sizes(struct run *run, char *why, size_t why_len)
{
	struct options *opt = &run->opt;
	uint64_t total;

	run->memory_bytes = tipme_memory_available();
	total = (uint64_t)((double)run->memory_bytes * opt->factor);
	opt->load_opt.child_bytes =
		total / opt->load_opt.children / TIPME_LOAD_STRIDE * TIPME_LOAD_STRIDE;
	if (!opt->load_opt.folder && tipme_swap_free() < total)
		opt->load_opt.folder = "/var/tmp";
	if (run->memory_bytes && opt->load_opt.child_bytes)
		return 0;
	snprintf(why, why_len, "it is not known how much memory there is: is /proc mounted?");
	return -EINVAL;
}

static int memory_prepare(struct run *run, char *why, size_t why_len)
{
	struct options *opt = &run->opt;
	int err = opt->whole_machine
			  ? 0
			  : tipme_memory_group_enter(&run->group, (uint64_t)opt->limit_mib << 20,
						     why, why_len);

	err = err ? err : memory_sizes(run, why, why_len);
	if (err)
		return err;
	err = tipme_load_memory(&run->load, &opt->load_opt);
	if (err)
		snprintf(why, why_len, "the writers cannot be started: %s", strerror(-err));
	return err;
}

static int sched_prepare(struct run *run, char *why, size_t why_len)
{
	struct options *opt = &run->opt;
	cpu_set_t one;
	int err = 0;

	CPU_ZERO(&one);
	if (opt->cpu >= 0)
		CPU_SET(opt->cpu, &one);
	if (opt->cpu >= 0 && sched_setaffinity(0, sizeof(one), &one)) {
		snprintf(why, why_len, "CPU %d: %s: choose another with --cpu", opt->cpu,
			 strerror(errno));
		return -errno;
	}
	opt->load_opt.forking = !strcmp(opt->load, "forks");
	if (strcmp(opt->load, "none"))
		err = tipme_load_hog(&run->load, &opt->load_opt);
	if (err)
		snprintf(why, why_len, "the load cannot be started: %s", strerror(-err));
	return err;
}

static const struct bench {
	const char *name;
	uint64_t nominal_ns;
	/* that each interval begins with by its own wish: not what has to be explained */
	uint64_t skip_ns;
	int (*prepare)(struct run *run, char *why, size_t why_len);
	int (*time)(struct run *run);
} benches[] = {
	{ "memory", MEMORY_SLEEP_NS, MEMORY_SLEEP_NS, memory_prepare, time_memory },
	{ "sched", SCHED_COMPUTE_NS + SCHED_SLEEP_NS, 0, sched_prepare, time_sched },
	{ 0 },
};

/* --- results --- */

static double ms(uint64_t ns)
{
	return (double)ns / NS_PER_MS;
}

static void describe(const struct run *run)
{
	const struct tipme_load_options *load = &run->opt.load_opt;

	if (!strcmp(run->name, "memory"))
		printf("memory: %u writers of %.1f MiB in %.1f MiB %s, %s\n", load->children,
		       (double)load->child_bytes / (1 << 20), (double)run->memory_bytes / (1 << 20),
		       run->in_group ? "of a memory cgroup" : "of the whole machine",
		       load->folder ? "backed by files" : "backed by swap");
	else if (run->opt.cpu >= 0)
		printf("sched: load %s, all on CPU %d\n", run->opt.load, run->opt.cpu);
	else
		printf("sched: load %s, on any CPU\n", run->opt.load);
}

static void print_text(const struct run *run)
{
	const struct tipme_intervals *all = &run->all;
	const struct tipme_interval *worst = tipme_intervals_worst(all);

	describe(run);
	tipme_intervals_print(all, stdout);
	printf("%u intervals of %.0f ms nominal: median %.1f ms, 99 %% within %.1f ms, longest %.1f ms\n",
	       all->count, ms(all->nominal_ns), ms(tipme_intervals_quantile(all, 0.5)),
	       ms(tipme_intervals_quantile(all, 0.99)),
	       worst ? ms(worst->to_ns - worst->from_ns) : 0);
	if (run->ended)
		printf("%u of the load's processes ended before the end: the load was less than asked for\n",
		       run->ended);
}

static void print_json(const struct run *run)
{
	struct json_object *o = tipme_intervals_json(&run->all);

	json_object_object_add(o, "benchmark", json_object_new_string(run->name));
	json_object_object_add(o, "tid", json_object_new_int(gettid()));
	json_object_object_add(o, "load_ended", json_object_new_int((int)run->ended));
	if (run->memory_bytes) {
		json_object_object_add(o, "memory_bytes",
				       json_object_new_int64((int64_t)run->memory_bytes));
		json_object_object_add(
			o, "child_bytes",
			json_object_new_int64((int64_t)run->opt.load_opt.child_bytes));
		json_object_object_add(o, "children",
				       json_object_new_int64(run->opt.load_opt.children));
		json_object_object_add(o, "backing",
				       json_object_new_string(run->opt.load_opt.folder ? "files"
										       : "swap"));
	} else {
		json_object_object_add(o, "load", json_object_new_string(run->opt.load));
	}
	if (run->explain.path[0]) {
		json_object_object_add(o, "episode", json_object_new_string(run->explain.path));
		json_object_object_add(o, "episode_from_ns",
				       json_object_new_int64((int64_t)run->explain.asked.from_ns));
		json_object_object_add(o, "episode_to_ns",
				       json_object_new_int64((int64_t)run->explain.asked.to_ns));
	}
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
						       JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static void seconds(char *text, size_t len, uint64_t ns)
{
	snprintf(text, len, "%llu.%09llu", ns / TIPME_NS_PER_S, ns % TIPME_NS_PER_S);
}

/* The post-mortem is a verb like any other; it prints what it finds. */
static void explain_print(const struct run *run)
{
	char tid[16], from[32], to[32];
	const struct tipme_interval *at = &run->explain.asked;

	snprintf(tid, sizeof(tid), "%d", (int)gettid());
	seconds(from, sizeof(from), at->from_ns);
	seconds(to, sizeof(to), at->to_ns);
	printf("\nwhat the interval of %.1f ms was (episode %s):\n",
	       ms(at->to_ns - at->from_ns + run->skip_ns), run->explain.path);
	fflush(stdout);
	pid_t pid = fork();

	if (!pid) {
		execlp("tipme", "tipme", "diagnose", run->explain.path, "--thread", tid, "--from",
		       from, "--to", to, (char *)NULL);
		fprintf(stderr, "tipme: bench: tipme diagnose: %s: is tipme installed?\n",
			strerror(errno));
		_exit(1);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static int finish(struct run *run)
{
	const struct tipme_interval *worst = tipme_intervals_worst(&run->all);

	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	if (run->opt.explain && tipme_explain_wait(&run->explain))
		fprintf(stderr, "tipme: bench: no interval was explained: %s\n",
			run->explain.refused ? "the recorder refused (one episode in 5 seconds)"
					     : "none was a tenth longer than it should be");
	if (run->opt.json)
		print_json(run);
	else
		print_text(run);
	if (run->explain.path[0] && !run->opt.json)
		explain_print(run);
	return worst && run->opt.threshold_ms &&
			       worst->to_ns - worst->from_ns > run->opt.threshold_ms * NS_PER_MS
		       ? EXIT_OVER
		       : 0;
}

static int run_bench(const struct bench *bench, const struct options *opt)
{
	struct run run = {
		.name = bench->name, .skip_ns = bench->skip_ns, .opt = *opt, .explain.fd = -1
	};
	char why[600] = "";
	int err;

	if (opt->explain && tipme_explain_open(&run.explain))
		return fail(bench->name,
			    "no recorder answers, so nothing can be explained: sudo tipme start");
	err = tipme_intervals_init(&run.all, opt->intervals, bench->nominal_ns);
	if (err)
		return fail(bench->name, "no memory for so many intervals: ask for fewer");
	err = bench->prepare(&run, why, sizeof(why));
	err = err ? err : bench->time(&run);
	run.ended = tipme_load_stop(&run.load);
	/* What explains the result needs memory, too. */
	run.in_group = run.group.path[0];
	tipme_memory_group_leave(&run.group);
	if (err)
		fail(bench->name, why[0] ? why : strerror(-err));
	err = err ? 1 : finish(&run);
	tipme_explain_close(&run.explain);
	tipme_intervals_free(&run.all);
	return err;
}

/* --- options --- */

enum {
	OPT_INTERVALS = 1,
	OPT_CHILDREN,
	OPT_LIMIT,
	OPT_WHOLE,
	OPT_FACTOR,
	OPT_FOLDER,
	OPT_LOAD,
	OPT_CPU,
	OPT_THRESHOLD,
	OPT_EXPLAIN,
	OPT_JSON,
	OPT_HELP
};

static const struct option long_options[] = {
	{ "intervals", required_argument, NULL, OPT_INTERVALS },
	{ "children", required_argument, NULL, OPT_CHILDREN },
	{ "limit-mib", required_argument, NULL, OPT_LIMIT },
	{ "whole-machine", no_argument, NULL, OPT_WHOLE },
	{ "factor", required_argument, NULL, OPT_FACTOR },
	{ "folder", required_argument, NULL, OPT_FOLDER },
	{ "load", required_argument, NULL, OPT_LOAD },
	{ "cpu", required_argument, NULL, OPT_CPU },
	{ "threshold-ms", required_argument, NULL, OPT_THRESHOLD },
	{ "explain", no_argument, NULL, OPT_EXPLAIN },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ 0 },
};

/* Returns 0, or -EINVAL and says what was wrong. */
static int number(const char *name, double least, double most, double *value)
{
	char *end;

	*value = strtod(optarg, &end);
	if (end != optarg && !*end && *value >= least && *value <= most)
		return 0;
	fprintf(stderr,
		"tipme: bench: --%s %s: not a number from %g to %g: see tipme bench --help\n", name,
		optarg, least, most);
	return -EINVAL;
}

static int load_known(const char *name)
{
	if (!strcmp(name, "hog") || !strcmp(name, "forks") || !strcmp(name, "none"))
		return 0;
	fprintf(stderr, "tipme: bench: --load %s: no such load: hog, forks or none\n", name);
	return -EINVAL;
}

static int take_option(struct options *opt, int c, const char *name)
{
	double n = 0;
	int err = 0;

	switch (c) {
	case OPT_INTERVALS:
		err = number(name, 1, 10000000, &n);
		opt->intervals = (unsigned int)n;
		break;
	case OPT_CHILDREN:
		err = number(name, 1, TIPME_LOAD_CHILDREN_MAX, &n);
		opt->load_opt.children = (unsigned int)n;
		break;
	case OPT_LIMIT:
		err = number(name, 16, 1 << 20, &n);
		opt->limit_mib = (unsigned int)n;
		break;
	case OPT_FACTOR: err = number(name, 0.1, 16, &opt->factor); break;
	case OPT_CPU:
		err = number(name, -1, CPU_SETSIZE - 1, &n);
		opt->cpu = (int)n;
		break;
	case OPT_THRESHOLD:
		err = number(name, 1, 1e9, &n);
		opt->threshold_ms = (unsigned int)n;
		break;
	case OPT_LOAD:
		err = load_known(optarg);
		opt->load = optarg;
		break;
	case OPT_WHOLE: opt->whole_machine = true; break;
	case OPT_FOLDER: opt->load_opt.folder = optarg; break;
	case OPT_EXPLAIN: opt->explain = true; break;
	case OPT_JSON: opt->json = true; break;
	default: err = -EINVAL;
	}
	return err;
}

int main(int argc, char **argv)
{
	struct options opt = { .intervals = 200,
			       .limit_mib = 64,
			       .factor = 1.5,
			       .load = "forks",
			       .load_opt.children = 4 };
	int c, index = 0;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "h", long_options, &index)) != -1) {
		if (c == OPT_HELP || c == 'h') {
			fputs(tipme_help(usage), stdout);
			return 0;
		}
		if (c == '?') {
			fprintf(stderr,
				"tipme: bench: %s: no such option, or its value is missing: see tipme bench --help\n",
				argv[optind - 1]);
			return EXIT_USAGE;
		}
		if (take_option(&opt, c, long_options[index].name))
			return EXIT_USAGE;
	}
	for (const struct bench *b = benches; b->name; b++)
		if (optind == argc - 1 && !strcmp(b->name, argv[optind])) {
			signal(SIGINT, on_signal);
			signal(SIGTERM, on_signal);
			return run_bench(b, &opt);
		}
	fputs(tipme_help(usage), stderr);
	return EXIT_USAGE;
}
