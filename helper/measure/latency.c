// SPDX-License-Identifier: GPL-2.0-only
/*
 * tipme latency: how late interrupts, deferred work and threads are, by a timer with a known
 * expiry; and what made the latest so late.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "latency.h"
#include "latency_deferred.h"
#include "latency_hours.h"
#include "latency_model.h"
#include "latency_xruns.h"
#include "translate.h"

#define EXIT_OVER 2
#define EXIT_USAGE 64

static const char usage[] = N_(
	"usage: tipme latency record [options]\n"
	"       tipme latency report FILE... | mttf FILE | compare A B | schedulability FILE TASKS\n"
	"       tipme latency model | campaign FOLDER | mark FOLDER TEXT | import FILE | export FILE\n"
	"       (--help of each)\n"
	"       tipme latency xruns [--duration S] [--pipewire journal|LOG]\n"
	"Measures, on each CPU, how late a timer's interrupt is, the work that it defers, and real-time\n"
	"threads woken by that. xruns watches sound cards: a stream that runs dry is told, and tipmed, if\n"
	"it runs, saves an episode. --pipewire: what PipeWire reports, too, in your journal or in the file\n"
	"that PIPEWIRE_LOG names.\n\n"
	"  -d, --duration S       how long (10)\n"
	"  -t, --threshold US     end with 2 if a thread was later; its causes are kept, and tipmed, if it\n"
	"                         runs, saves an episode\n"
	"  -p, --period US        of the timer (1000)\n"
	"  -s, --sample US        period of the cause sampler (100); 0: none\n"
	"      --source KIND      module; tracing: interrupt, deferred work and a thread in user space, by\n"
	"                         tracing programs; timerlat: by the kernel's own tracer, where it has it;\n"
	"                         user: the whole way to the thread only; auto: the first of module,\n"
	"                         tracing and user that works here\n"
	"      --priorities H,M,U of the two kernel threads and the one in user space (90,40,80)\n"
	"  -o, --output FILE      keep the result there; it is saved as each block ends, so a crash loses one\n"
	"      --every S          length of a block (60); the longest latency of each is kept\n"
	"      --json             results as JSON\n\n"
	"Examples:\n"
	"  sudo tipme latency record --threshold 1000\n"
	"  sudo tipme latency record --duration 3600 --output night.json\n"
	"  tipme latency xruns --duration 3600\n"
	"  tipme latency report night.json\n"
	"  tipme latency mttf night.json --client audio-128\n");

struct arguments {
	struct tipme_latency_options opt;
	struct tipme_model model;
	bool deferred; /* the model is no thread */
	const char *source, *output, *pipewire;
	bool json;
};

volatile sig_atomic_t tipme_latency_ended, tipme_latency_interrupted;

static int fail(const char *why)
{
	fprintf(stderr, "tipme: latency: %s\n", why);
	return EXIT_FAILURE;
}

static int misuse(const char *what)
{
	fprintf(stderr, "tipme: latency: %s: see tipme latency --help\n", what);
	return EXIT_USAGE;
}

static void on_signal(int sig)
{
	(void)sig;
	tipme_latency_interrupted = 1;
	tipme_latency_ended = 1;
}

static int number(const char *text, unsigned int least, unsigned int most, unsigned int *to)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n < least || n > most)
		return -EINVAL;
	*to = (unsigned int)n;
	return 0;
}

static int priorities(const char *text, struct tipme_latency_options *o)
{
	char end;

	if (sscanf(text, "%u,%u,%u%c", &o->high_priority, &o->medium_priority, &o->user_priority,
		   &end) != 3)
		return -EINVAL;
	if (!o->medium_priority || o->medium_priority >= o->high_priority || o->high_priority > 98)
		return -EINVAL;
	return o->user_priority && o->user_priority <= 98 ? 0 : -EINVAL;
}

static bool is_source(const char *name)
{
	static const char *const all[] = { "module", "tracing", "timerlat", "user", "auto" };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(name, all[i]))
			return true;
	return false;
}

/* Options that are whole numbers. */
static const struct range {
	int c;
	unsigned int least, most;
	const char *unit;
	size_t at; /* in the arguments */
	bool or_none; /* 0, too */
} ranges[] = {
	{ 'd', 1, 31 * 86400, " seconds", offsetof(struct arguments, opt.duration_s), false },
	{ 't', 1, 4000000, " microseconds", offsetof(struct arguments, opt.threshold_us), false },
	{ 'p', 100, 1000000, " microseconds", offsetof(struct arguments, opt.period_us), false },
	{ 's', 50, 100000, " microseconds", offsetof(struct arguments, opt.sample_us), true },
	{ 'e', 1, 3600, " seconds", offsetof(struct arguments, opt.every_s), false },
	{ 'b', 2, 1000, "", offsetof(struct arguments, model.buffers), false },
	{ 'y', 100, 1000000, " microseconds", offsetof(struct arguments, model.cycle_us), false },
	{ 'c', 0, 1000000, " microseconds", offsetof(struct arguments, model.compute_us), false },
	{ 'r', 0, 98, "", offsetof(struct arguments, model.priority), false },
};

static const struct range *range_of(int c)
{
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (ranges[i].c == c)
			return &ranges[i];
	return NULL;
}

static int option(struct arguments *a, int c)
{
	const struct range *r = range_of(c);

	if (r) {
		unsigned int *to = (unsigned int *)((char *)a + r->at);

		return r->or_none && !strcmp(optarg, "0") ? number(optarg, 0, 0, to)
							  : number(optarg, r->least, r->most, to);
	}
	switch (c) {
	case 'P': return priorities(optarg, &a->opt);
	case 'o': a->output = optarg; return 0;
	case 'j': a->json = true; return 0;
	case 'D': a->deferred = true; return 0;
	case 'w': a->pipewire = optarg; return 0;
	case 'S': a->source = optarg; return is_source(optarg) ? 0 : -EINVAL;
	}
	return -EINVAL;
}

/* What was wrong with the value of option C, and what is meant. */
static int wrong_value(const struct option *longs, int c)
{
	const struct range *r = range_of(c);

	while (longs->val != c)
		longs++;
	fprintf(stderr, "tipme: latency: --%s %s: ", longs->name, optarg);
	if (r)
		fprintf(stderr, "%sa whole number from %u to %u%s is meant",
			r->or_none ? "0 or " : "", r->least, r->most, r->unit);
	else if (c == 'P')
		fputs("H,M,U are meant, each 1 to 98, and H above M", stderr);
	else
		fputs("module, tracing, timerlat, user or auto is meant", stderr);
	fputs(": see tipme latency --help\n", stderr);
	return EXIT_USAGE;
}

/* auto: what is not there, or not permitted, is passed over. */
static int measure_by(const struct arguments *a, struct tipme_latencies *all, char *why, size_t len)
{
	bool any = !strcmp(a->source, "auto");
	int err = -ENOENT;

	if (!strcmp(a->source, "timerlat"))
		return tipme_latency_timerlat(all, &a->opt, why, len);
	if (!strcmp(a->source, "user"))
		return tipme_latency_user(all, &a->opt, why, len);
	if (any || !strcmp(a->source, "module"))
		err = tipme_latency_module(all, &a->opt, why, len);
	if (err != -ENOENT || !strcmp(a->source, "module"))
		return err;
	err = tipme_latency_tracing(all, &a->opt, why, len);
	if (any && err && !all->begun_ns)
		err = tipme_latency_user(all, &a->opt, why, len);
	return err;
}

static int measure(const struct arguments *a, struct tipme_latencies *all)
{
	char why[300] = "no memory";
	int err = tipme_latencies_make(all);

	if (err)
		return fail(why);
	err = measure_by(a, all, why, sizeof(why));
	return err ? fail(why) : 0;
}

/* Beside it first, and then in its place: a result is whole or not there. */
static int keep(const char *path, struct json_object *o)
{
	char tmp[4096];

	if (snprintf(tmp, sizeof(tmp), "%s.tmp", path) >= (int)sizeof(tmp))
		return fail("the output's name is too long");
	if (json_object_to_file_ext(tmp, o, JSON_C_TO_STRING_SPACED) || rename(tmp, path)) {
		fprintf(stderr, "tipme: latency: %s: %s: choose another place\n", path,
			strerror(errno));
		unlink(tmp);
		return EXIT_FAILURE;
	}
	return 0;
}

static int show(struct json_object *o, bool json)
{
	char why[200] = "no memory";

	if (json)
		return puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_SPACED)) < 0
			       ? EXIT_FAILURE
			       : 0;
	return tipme_latency_print(o, why, sizeof(why)) ? fail(why) : 0;
}

struct recording {
	const struct arguments *a;
	struct tipme_latency_hours *hours;
	struct json_object *facts;
};

static struct json_object *result(const struct tipme_latencies *all, const struct recording *r)
{
	struct json_object *o = tipme_latencies_json(all, &r->a->opt);

	if (!o)
		return NULL;
	json_object_object_add(o, "blocks", tipme_hours_json(r->hours));
	json_object_object_add(o, "facts", json_object_get(r->facts));
	return o;
}

/* So far the longest, and who ran then, on a line of its own. */
static void progress(const struct tipme_latencies *all, const struct recording *r)
{
	unsigned int minutes = (unsigned int)((tipme_clock_ns() - all->begun_ns) / 60000000000ULL);
	const struct tipme_cause *worst = NULL;
	uint64_t max_ns = 0, over = tipme_latencies_over(all);

	for (unsigned int i = 0; i < all->cpus; i++)
		for (unsigned int s = TIPME_STAGE_TOTAL_HIGH; s < TIPME_STAGES; s++)
			max_ns =
				all->stage[i][s].max_ns > max_ns ? all->stage[i][s].max_ns : max_ns;
	for (unsigned int i = 0; i < all->causes; i++)
		if (!worst || all->cause[i].about.thread_ns > worst->about.thread_ns)
			worst = &all->cause[i];
	fprintf(stderr, "%u of %u min: the latest %.3f ms", minutes,
		(r->a->opt.duration_s + 59) / 60, (double)max_ns / 1e6);
	if (over)
		fprintf(stderr, ", %" PRIu64 " over the threshold", over);
	if (worst && worst->about.count)
		fprintf(stderr, ", the longest of them while %.16s ran", worst->sample[0].comm);
	fputs("\n", stderr);
}

/* A crash after ten hours loses one minute. */
static void on_minute(struct tipme_latencies *all, int ended)
{
	struct recording *r = all->minute_arg;
	uint64_t now_ns = tipme_clock_ns();
	struct json_object *o;

	tipme_hours_take(r->hours, all, now_ns, ended);
	if (ended || now_ns < all->begun_ns + 1000000000)
		return;
	if (isatty(STDERR_FILENO))
		progress(all, r);
	if (!r->a->output)
		return;
	o = result(all, r);
	if (o)
		keep(r->a->output, o);
	json_object_put(o);
}

static int record(const struct arguments *a)
{
	struct recording r = { .a = a, .facts = tipme_latency_facts() };
	struct tipme_latencies all = { .minute = on_minute, .minute_arg = &r };
	struct sigaction action = { .sa_handler = on_signal };
	struct json_object *o;
	int rc;

	if (tipme_hours_make(&r.hours, a->opt.every_s))
		return fail("no memory");

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	rc = measure(a, &all);
	o = rc ? NULL : result(&all, &r);
	if (!rc && !o)
		rc = fail("no memory");
	if (!rc && a->output)
		rc = keep(a->output, o);
	if (!rc)
		rc = show(o, a->json);
	if (!rc && tipme_latencies_over(&all))
		rc = EXIT_OVER;
	json_object_put(o);
	json_object_put(r.facts);
	tipme_hours_free(r.hours);
	tipme_latencies_free(&all);
	return rc;
}

/* A softirq cannot be preempted: what computes there for long takes the CPU from everybody. */
#define DEFERRED_MOST_US 20000

static int run_model(const struct arguments *a, struct tipme_latencies *all, struct tipme_model *m,
		     char *why, size_t len)
{
	if (!a->deferred)
		return tipme_latency_model(all, m, a->opt.duration_s, why, len);
	if (m->compute_us > DEFERRED_MOST_US || m->compute_us > m->cycle_us / 2) {
		snprintf(
			why, len,
			"deferred work computes for 20 ms and half of a cycle at most: nothing else runs meanwhile");
		return -EINVAL;
	}
	return tipme_latency_deferred(all, m, a->opt.duration_s, why, len);
}

/* For the post-mortem's `tipme latency model`, which says what follows: a result as JSON. */
static int model(const struct arguments *a)
{
	struct tipme_latencies all = { 0 };
	struct tipme_model m = a->model;
	struct sigaction action = { .sa_handler = on_signal };
	struct tipme_latency_options opt = a->opt;
	struct json_object *o = NULL;
	char why[300] = "no memory";
	int err;

	if (m.buffers < 2 || !m.cycle_us || m.compute_us > m.cycle_us)
		return misuse("model: --buffers, --cycle and --compute are missing or wrong");
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	opt.period_us = m.cycle_us;
	err = tipme_latencies_make(&all);
	err = err ? err : run_model(a, &all, &m, why, sizeof(why));
	if (!err)
		o = tipme_latencies_json(&all, &opt);
	if (o) {
		json_object_object_add(o, "model", tipme_model_json(&m, a->deferred));
		puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_SPACED));
	}
	json_object_put(o);
	tipme_latencies_free(&all);
	return err || !o ? fail(why) : 0;
}

static int xruns(const struct arguments *a)
{
	struct sigaction action = { .sa_handler = on_signal };
	uint64_t seen = 0;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (tipme_latency_xruns(a->opt.duration_s, a->pipewire, &seen))
		return EXIT_FAILURE;
	return seen ? EXIT_OVER : 0;
}

static int report(const char *path, bool json)
{
	struct json_object *o = json_object_from_file(path);
	int rc;

	if (!o) {
		fprintf(stderr,
			"tipme: latency: %s: not a result of tipme latency record: name the file that its --output wrote\n",
			path);
		return EXIT_FAILURE;
	}
	rc = show(o, json);
	json_object_put(o);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "duration", required_argument, NULL, 'd' },
		{ "threshold", required_argument, NULL, 't' },
		{ "period", required_argument, NULL, 'p' },
		{ "sample", required_argument, NULL, 's' },
		{ "source", required_argument, NULL, 'S' },
		{ "priorities", required_argument, NULL, 'P' },
		{ "output", required_argument, NULL, 'o' },
		{ "every", required_argument, NULL, 'e' },
		{ "buffers", required_argument, NULL, 'b' },
		{ "cycle", required_argument, NULL, 'y' },
		{ "compute", required_argument, NULL, 'c' },
		{ "priority", required_argument, NULL, 'r' },
		{ "deferred", no_argument, NULL, 'D' },
		{ "pipewire", required_argument, NULL, 'w' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct arguments a = {
		.opt = { .duration_s = 10,
			 .period_us = 1000,
			 .sample_us = 100,
			 .every_s = 60,
			 .high_priority = 90,
			 .medium_priority = 40,
			 .user_priority = 80 },
		.source = "auto",
	};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "d:t:p:s:o:h", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(tipme_help(usage), stdout);
			return 0;
		}
		if (c == '?') {
			fprintf(stderr,
				"tipme: latency: %s: no such option, or its value is missing: see tipme latency --help\n",
				argv[optind - 1]);
			return EXIT_USAGE;
		}
		if (option(&a, c))
			return wrong_value(longs, c);
	}
	if (argc - optind == 1 && !strcmp(argv[optind], "record"))
		return record(&a);
	if (argc - optind == 1 && !strcmp(argv[optind], "xruns"))
		return xruns(&a);
	if (argc - optind == 1 && !strcmp(argv[optind], "model-run"))
		return model(&a);
	if (argc - optind == 2 && !strcmp(argv[optind], "report"))
		return report(argv[optind + 1], a.json);
	if (optind < argc)
		fprintf(stderr,
			"tipme: latency: %s: not understood: say record, report, mttf, compare, schedulability, model, campaign, mark, import, export or xruns: see tipme latency --help\n",
			argv[optind]);
	else
		fputs(tipme_help(usage), stderr);
	return EXIT_USAGE;
}
