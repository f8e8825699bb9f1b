// SPDX-License-Identifier: GPL-2.0-only
/* tipme latency: how late interrupts, deferred work and threads are, by a timer with a known expiry; and what made the latest so late. */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "latency.h"

#define EXIT_OVER 2
#define EXIT_USAGE 64

static const char usage[] =
	"usage: tipme latency record [options] | report FILE [--json]\n"
	"       tipme latency mttf FILE | compare A B | schedulability FILE TASKS      (--help of each)\n"
	"Measures, on each CPU, how late a timer's interrupt is, the work that it defers, and real-time threads woken by that.\n\n"
	"  -d, --duration S       how long (10)\n"
	"  -t, --threshold US     end with 2 if a thread was later; its causes are kept, and tipmed, if it runs, saves an episode\n"
	"  -p, --period US        of the timer (1000)\n"
	"  -s, --sample US        period of the cause sampler (100); 0: none\n"
	"      --source KIND      module, user or auto (auto: the module if it is loaded). user measures the whole way to a thread in user\n"
	"                         space only; where the CPU has no cycle counter it does not see into stretches with interrupts off\n"
	"      --priorities H,M,U of the two kernel threads and the one in user space (90,40,80)\n"
	"  -o, --output FILE      keep the result there\n"
	"      --json             results as JSON\n\n"
	"Examples:\n"
	"  sudo tipme latency record --threshold 1000\n"
	"  sudo tipme latency record --duration 3600 --output night.json\n"
	"  tipme latency report night.json\n"
	"  tipme latency mttf night.json --client audio-128\n";

struct arguments {
	struct tipme_latency_options opt;
	const char *source, *output;
	bool json;
};

volatile sig_atomic_t tipme_latency_ended;

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

	if (sscanf(text, "%u,%u,%u%c", &o->high_priority, &o->medium_priority, &o->user_priority, &end) != 3)
		return -EINVAL;
	if (!o->medium_priority || o->medium_priority >= o->high_priority || o->high_priority > 98)
		return -EINVAL;
	return o->user_priority && o->user_priority <= 98 ? 0 : -EINVAL;
}

static int option(struct arguments *a, int c)
{
	switch (c) {
	case 'd': return number(optarg, 1, 31 * 86400, &a->opt.duration_s);
	case 't': return number(optarg, 1, 4000000, &a->opt.threshold_us);
	case 'p': return number(optarg, 100, 1000000, &a->opt.period_us);
	case 's': return strcmp(optarg, "0") ? number(optarg, 50, 100000, &a->opt.sample_us) : number(optarg, 0, 0, &a->opt.sample_us);
	case 'P': return priorities(optarg, &a->opt);
	case 'o': a->output = optarg; return 0;
	case 'j': a->json = true; return 0;
	case 'S':
		a->source = optarg;
		return !strcmp(optarg, "module") || !strcmp(optarg, "user") || !strcmp(optarg, "auto") ? 0 : -EINVAL;
	}
	return -EINVAL;
}

static int measure(const struct arguments *a, struct tipme_latencies *all)
{
	char why[300] = "no memory";
	int err = tipme_latencies_make(all);

	if (err)
		return fail(why);
	err = -ENOENT;
	if (strcmp(a->source, "user"))
		err = tipme_latency_module(all, &a->opt, why, sizeof(why));
	if (err == -ENOENT && strcmp(a->source, "module"))
		err = tipme_latency_user(all, &a->opt, why, sizeof(why));
	return err ? fail(why) : 0;
}

/* Beside it first, and then in its place: a result is whole or not there. */
static int keep(const char *path, struct json_object *o)
{
	char tmp[4096];

	if (snprintf(tmp, sizeof(tmp), "%s.tmp", path) >= (int)sizeof(tmp))
		return fail("the output's name is too long");
	if (json_object_to_file_ext(tmp, o, JSON_C_TO_STRING_SPACED) || rename(tmp, path)) {
		fprintf(stderr, "tipme: latency: %s: %s: choose another place\n", path, strerror(errno));
		unlink(tmp);
		return EXIT_FAILURE;
	}
	return 0;
}

static int show(struct json_object *o, bool json)
{
	char why[200];

	if (json)
		return puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_SPACED)) < 0 ? EXIT_FAILURE : 0;
	return tipme_latency_print(o, why, sizeof(why)) ? fail(why) : 0;
}

static int record(const struct arguments *a)
{
	struct tipme_latencies all = { 0 };
	struct sigaction action = { .sa_handler = on_signal };
	struct json_object *o;
	int rc;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	rc = measure(a, &all);
	o = rc ? NULL : tipme_latencies_json(&all, &a->opt);
	if (!rc && !o)
		rc = fail("no memory");
	if (!rc && a->output)
		rc = keep(a->output, o);
	if (!rc)
		rc = show(o, a->json);
	if (!rc && tipme_latencies_over(&all))
		rc = EXIT_OVER;
	json_object_put(o);
	tipme_latencies_free(&all);
	return rc;
}

static int report(const char *path, bool json)
{
	struct json_object *o = json_object_from_file(path);
	int rc;

	if (!o) {
		fprintf(stderr, "tipme: latency: %s: not a result of tipme latency record\n", path);
		return EXIT_FAILURE;
	}
	rc = show(o, json);
	json_object_put(o);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "duration", required_argument, NULL, 'd' }, { "threshold", required_argument, NULL, 't' },
		{ "period", required_argument, NULL, 'p' },   { "sample", required_argument, NULL, 's' },
		{ "source", required_argument, NULL, 'S' },   { "priorities", required_argument, NULL, 'P' },
		{ "output", required_argument, NULL, 'o' },   { "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },	      { 0 },
	};
	struct arguments a = {
		.opt = { .duration_s = 10, .period_us = 1000, .sample_us = 100, .high_priority = 90, .medium_priority = 40, .user_priority = 80 },
		.source = "auto",
	};
	int c;

	while ((c = getopt_long(argc, argv, "d:t:p:s:o:h", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		if (c == '?')
			return EXIT_USAGE;
		if (option(&a, c))
			return misuse("an option's value is out of its range");
	}
	if (argc - optind == 1 && !strcmp(argv[optind], "record"))
		return record(&a);
	if (argc - optind == 2 && !strcmp(argv[optind], "report"))
		return report(argv[optind + 1], a.json);
	fputs(usage, stderr);
	return EXIT_USAGE;
}
