// SPDX-License-Identifier: GPL-2.0-only
/* tipme-bench-task: times one task in one process, and prints each repeat as a line of JSON. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "clock.h"
#include "profile.h"
#include "task.h"

#define EMPTY_REPEATS 25U
#define EXIT_UNAVAILABLE 3
#define EXIT_USAGE 64

static const char usage[] =
	"usage: tipme-bench-task [options] NAME [WORD ...]\n"
	"       tipme-bench-task --list\n"
	"Times one task, and prints lines of JSON: what it is, each repeat, and how it ended.\n"
	"`tipme bench run` calls it. Exit status: 0; 1 it failed; 3 this machine cannot do it.\n\n"
	"  --references N        of one repeat\n"
	"  --repeats N           timed ones; one more before them warms up\n"
	"  --folder DIR          where tasks with files make a folder (.)\n"
	"  --programs DIR        where the programs of the tasks lie\n"
	"  --counters-from FILE  a recorded trace of counters in place of the kernel's\n"
	"  --list                all tasks, a line of JSON each\n\n"
	"Examples:\n"
	"  tipme-bench-task syscall/getppid\n"
	"  tipme-bench-task --repeats 3 memory-access/64K\n"
	"  tipme-bench-task --list\n";

volatile sig_atomic_t tipme_task_interrupted;

static const struct tipme_task *const tables[] = { tipme_tasks_cpu,  tipme_tasks_files,
						   tipme_tasks_talk, tipme_tasks_wayland,
#ifdef TIPME_BENCH_X
						   tipme_tasks_x,
#endif
						   tipme_tasks_apps, tipme_tasks_web };
#define TABLES (sizeof(tables) / sizeof(tables[0]))

static void on_signal(int number)
{
	(void)number;
	tipme_task_interrupted = 1;
}

/* Without SA_RESTART: a task that waits is to notice. */
static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	for (size_t i = 0; i < 3; i++)
		sigaction((const int[]){ SIGINT, SIGTERM, SIGHUP }[i], &sa, NULL);
	/* Who asked for it is gone: the folder must not outlive that. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
}

int tipme_task_fail(struct tipme_task_run *r, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->why, sizeof(r->why), format, args);
	va_end(args);
	return err;
}

/* --- where the kernel says that this thread's time went --- */

struct times {
	uint64_t run_ns, wait_ns; /* on a CPU; runnable, without one */
	uint64_t user_ns, kernel_ns;
};

static int schedstat_fd = -1;

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * TIPME_NS_PER_S + (uint64_t)t->tv_usec * 1000;
}

static void take_times(struct times *t)
{
	unsigned long long wait = 0;
	char text[100];
	struct rusage u;
	ssize_t n = schedstat_fd < 0 ? -1 : pread(schedstat_fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = 0;
	sscanf(text, "%*u %llu", &wait);
	getrusage(RUSAGE_THREAD, &u);
	/* The file's first number is as old as the last tick; this clock is not. */
	*t = (struct times){ tipme_clock_of_ns(CLOCK_THREAD_CPUTIME_ID), wait,
			     timeval_ns(&u.ru_utime), timeval_ns(&u.ru_stime) };
}

/* --- results --- */

static void put(struct json_object *o)
{
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
						       JSON_C_TO_STRING_NOSLASHESCAPE));
	fflush(stdout);
	json_object_put(o);
}

static void add_number(struct json_object *o, const char *key, uint64_t n)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)n));
}

static void add_text(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, json_object_new_string(text));
}

static void add_difference(struct json_object *o, const char *key, uint64_t from, uint64_t to)
{
	add_number(o, key, to > from ? to - from : 0);
}

static struct json_object *counts(const struct tipme_counters *c)
{
	struct json_object *o = json_object_new_object();

	for (unsigned int i = 0; i < c->number; i++)
		if (c->at[i].read)
			json_object_object_add(o, c->at[i].name,
					       json_object_new_double(c->at[i].count));
	return o;
}

static void add_reasons(struct json_object *o, const struct tipme_counters *c)
{
	struct json_object *missing = json_object_new_object(), *user = json_object_new_array();

	for (unsigned int i = 0; i < c->number; i++) {
		if (c->at[i].err)
			add_text(missing, c->at[i].name, strerror(c->at[i].err));
		else if (c->at[i].user_only)
			json_object_array_add(user, json_object_new_string(c->at[i].name));
	}
	json_object_object_add(o, "not_available", missing);
	json_object_object_add(o, "user_mode_only", user);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, unsigned int n)
{
	qsort(v, n, sizeof(*v), by_size);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* What a repeat measures in which nothing is done: its part in every other repeat. */
static void add_empty(struct json_object *o, struct tipme_counters *c)
{
	static double ns[EMPTY_REPEATS], count[TIPME_COUNTERS_MAX][EMPTY_REPEATS];
	unsigned int had[TIPME_COUNTERS_MAX] = { 0 };
	struct json_object *empty = json_object_new_object();

	for (unsigned int n = 0; n < EMPTY_REPEATS; n++) {
		tipme_counters_start(c);
		uint64_t from_ns = tipme_clock_ns(), to_ns = tipme_clock_ns();

		tipme_counters_stop(c);
		ns[n] = (double)(to_ns - from_ns);
		for (unsigned int i = 0; i < c->number; i++)
			if (c->at[i].read)
				count[i][had[i]++] = c->at[i].count;
	}
	for (unsigned int i = 0; i < c->number; i++)
		if (had[i])
			json_object_object_add(empty, c->at[i].name,
					       json_object_new_double(median(count[i], had[i])));
	json_object_object_add(o, "empty_ns", json_object_new_double(median(ns, EMPTY_REPEATS)));
	json_object_object_add(o, "empty", empty);
}

static void describe(struct tipme_task_run *r, const char *name)
{
	struct json_object *o = json_object_new_object();

	add_text(o, "task", name);
	add_text(o, "what", r->task->what);
	add_text(o, "unit", r->task->unit);
	add_number(o, "references", r->references);
	add_number(o, "tid", (uint64_t)getpid());
	add_reasons(o, &r->counters);
	add_empty(o, &r->counters);
	put(o);
}

/* --- repeats --- */

static int repeat(struct tipme_task_run *r, int timed)
{
	struct times before, after;
	struct json_object *o;
	int err = r->task->before ? r->task->before(r) : 0;

	if (err)
		return err;
	take_times(&before);
	tipme_counters_start(&r->counters);
	uint64_t from_ns = tipme_clock_ns();

	err = r->task->run(r);
	uint64_t to_ns = tipme_clock_ns();

	tipme_counters_stop(&r->counters);
	take_times(&after);
	err = tipme_task_interrupted ? -EINTR : err;
	if (!err && r->task->after)
		err = r->task->after(r);
	if (err || !timed)
		return err;
	o = json_object_new_object();
	add_number(o, "from_ns", from_ns);
	add_number(o, "to_ns", to_ns);
	add_difference(o, "run_ns", before.run_ns, after.run_ns);
	add_difference(o, "wait_ns", before.wait_ns, after.wait_ns);
	add_difference(o, "user_ns", before.user_ns, after.user_ns);
	add_difference(o, "kernel_ns", before.kernel_ns, after.kernel_ns);
	json_object_object_add(o, "counters", counts(&r->counters));
	put(o);
	return 0;
}

/*
 * Repeats more, which are sampled and not timed, until a share can be told: one may be shorter than
 * a few samples. Where preparing takes long, there is one.
 */
static int profile(struct tipme_task_run *r)
{
	struct json_object *o = json_object_new_object();
	struct tipme_profile p = { 0 };
	unsigned int sampled = 0;
	int err;

	do {
		err = r->task->before ? r->task->before(r) : 0;
		if (err)
			break;
		tipme_profile_begin(&p);
		err = r->task->run(r);
		tipme_profile_end(&p);
		sampled++;
		err = !err && r->task->after ? r->task->after(r) : err;
		err = tipme_task_interrupted ? -EINTR : err;
	} while (!err && !r->task->once && tipme_profile_wants_more(&p));
	if (!err && p.had) {
		add_number(o, "user_samples", p.user_samples);
		add_number(o, "kernel_samples", p.kernel_samples);
	}
	add_number(o, "sampled_repeats", sampled);
	put(o);
	return err;
}

/*
 * The last ones are sampled: the first warms up, which is another mixture of user code and kernel.
 */
static int repeat_all(struct tipme_task_run *r, unsigned int repeats)
{
	int err = repeat(r, 0);

	for (unsigned int i = 0; i < repeats && !err; i++)
		err = tipme_task_interrupted ? -EINTR : repeat(r, 1);
	return err ? err : profile(r);
}

/* --- the folder of tasks with files --- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void remove_folder(struct tipme_task_run *r)
{
	if (r->folder[0])
		nftw(r->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	r->folder[0] = 0;
}

static int make_folder(struct tipme_task_run *r, const char *in)
{
	struct statvfs fs;
	uint64_t mib = (r->task->disk_bytes + (1 << 20) - 1) >> 20;

	if (!r->task->disk_bytes)
		return 0;
	if (statvfs(in, &fs))
		return tipme_task_fail(r, -errno, "%s: %s: name a folder with --folder", in,
				       strerror(errno));
	if ((uint64_t)fs.f_bavail * fs.f_frsize < r->task->disk_bytes)
		return tipme_task_fail(r, -ENOSPC,
				       "%s: %llu MB are free and %llu are needed: name another "
				       "folder with --folder",
				       in, (unsigned long long)fs.f_bavail * fs.f_frsize >> 20,
				       (unsigned long long)mib);
	snprintf(r->folder, sizeof(r->folder), "%s/tipme-bench-XXXXXX", in);
	if (mkdtemp(r->folder))
		return 0;
	r->folder[0] = 0;
	return tipme_task_fail(r, -errno, "%s: %s: name a folder with --folder", in,
			       strerror(errno));
}

/* --- names --- */

static uint64_t size_of(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	return *end == 'K' ? n << 10 : *end == 'M' ? n << 20 : n;
}

/* Calls fn for each name of a row: `a/b/c` is a/b and a/c. Ends with the first that is not 0. */
static int each_name(const struct tipme_task *t, int (*fn)(const char *name, void *arg), void *arg)
{
	const char *slash = strchr(t->name, '/');
	char name[100];
	int found = slash ? 0 : fn(t->name, arg);

	while (slash && !found) {
		const char *next = strchr(slash + 1, '/');
		int len = next ? (int)(next - slash) : (int)strlen(slash);

		snprintf(name, sizeof(name), "%.*s%.*s", (int)strcspn(t->name, "/"), t->name, len,
			 slash);
		found = fn(name, arg);
		slash = next;
	}
	return found;
}

static int is_name(const char *name, void *arg)
{
	return !strcmp(name, arg);
}

static const struct tipme_task *find(char *name)
{
	for (size_t i = 0; i < TABLES; i++)
		for (const struct tipme_task *t = tables[i]; t->name; t++)
			if (each_name(t, is_name, name))
				return t;
	return NULL;
}

static int print_name(const char *name, void *arg)
{
	const struct tipme_task *t = arg;
	struct json_object *o = json_object_new_object();

	add_text(o, "task", name);
	add_text(o, "what", t->what);
	add_text(o, "unit", t->unit);
	add_number(o, "references", t->references);
	add_number(o, "repeats", t->repeats);
	add_number(o, "once", t->once);
	add_number(o, "disk_bytes", t->disk_bytes);
	put(o);
	return 0;
}

static void list(void)
{
	for (size_t i = 0; i < TABLES; i++)
		for (const struct tipme_task *t = tables[i]; t->name; t++)
			each_name(t, print_name, (void *)t);
}

/* --- whole --- */

static int finish(struct tipme_task_run *r, int err)
{
	struct json_object *o = json_object_new_object();

	if (r->task->finish)
		r->task->finish(r);
	remove_folder(r);
	tipme_counters_close(&r->counters);
	if (err)
		add_text(o, err == -ENOTSUP ? "unavailable" : "failed",
			 r->why[0] ? r->why : strerror(-err));
	else
		json_object_object_add(o, "done", json_object_new_boolean(1));
	put(o);
	return err == -ENOTSUP ? EXIT_UNAVAILABLE : err ? 1 : 0;
}

static int open_counters(struct tipme_task_run *r, const char *trace)
{
	int err = 0;

	if (trace)
		err = tipme_counters_open_trace(&r->counters, trace);
	else
		tipme_counters_open(&r->counters);
	if (err)
		return tipme_task_fail(r, err, "%s: %s: a recorded trace of counters is meant",
				       trace, strerror(-err));
	return 0;
}

static int run_task(struct tipme_task_run *r, char *name, unsigned int repeats, const char *folder,
		    const char *trace)
{
	const char *slash = strchr(name, '/');
	/* Before anything is started: what is counted begins here. */
	int err = open_counters(r, trace);

	r->variant = slash ? slash + 1 : "";
	r->size = slash ? size_of(slash + 1) : 0;
	r->references = r->references ? r->references : r->task->references;
	schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	err = err ? err : make_folder(r, folder);
	if (!err)
		describe(r, name);
	if (!err && r->task->prepare)
		err = r->task->prepare(r);
	err = err ? err : repeat_all(r, repeats ? repeats : r->task->repeats);
	return finish(r, err);
}

enum {
	OPT_REFERENCES = 1,
	OPT_REPEATS,
	OPT_FOLDER,
	OPT_PROGRAMS,
	OPT_COUNTERS,
	OPT_LIST,
	OPT_HELP
};

static const struct option options[] = {
	{ "references", required_argument, NULL, OPT_REFERENCES },
	{ "repeats", required_argument, NULL, OPT_REPEATS },
	{ "folder", required_argument, NULL, OPT_FOLDER },
	{ "programs", required_argument, NULL, OPT_PROGRAMS },
	{ "counters-from", required_argument, NULL, OPT_COUNTERS },
	{ "list", no_argument, NULL, OPT_LIST },
	{ "help", no_argument, NULL, OPT_HELP },
	{ 0 },
};

/* Where this program lies, if nothing else is said. */
static void programs_folder(char *path, size_t len)
{
	ssize_t n = readlink("/proc/self/exe", path, len - 1);

	path[n > 0 ? n : 0] = 0;
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = 0;
}

int main(int argc, char **argv)
{
	static struct tipme_task_run r;
	const char *folder = ".", *trace = NULL;
	unsigned int repeats = 0;
	int c;

	programs_folder(r.programs, sizeof(r.programs));
	while ((c = getopt_long(argc, argv, "+h", options, NULL)) != -1)
		switch (c) {
		case OPT_REFERENCES: r.references = (unsigned int)strtoul(optarg, NULL, 10); break;
		case OPT_REPEATS: repeats = (unsigned int)strtoul(optarg, NULL, 10); break;
		case OPT_FOLDER: folder = optarg; break;
		case OPT_PROGRAMS: snprintf(r.programs, sizeof(r.programs), "%s", optarg); break;
		case OPT_COUNTERS: trace = optarg; break;
		case OPT_LIST: list(); return 0;
		case OPT_HELP:
		case 'h': fputs(usage, stdout); return 0;
		default: return EXIT_USAGE;
		}
	r.task = optind < argc ? find(argv[optind]) : NULL;
	if (!r.task) {
		fprintf(stderr, "tipme: bench: %s: no such task: see tipme bench run --list\n",
			optind < argc ? argv[optind] : "(none)");
		return EXIT_USAGE;
	}
	r.more = argv + optind + 1;
	catch_signals();
	return run_task(&r, argv[optind], repeats, folder, trace);
}
