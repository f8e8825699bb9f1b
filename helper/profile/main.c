// SPDX-License-Identifier: GPL-2.0-only
/* tipme profile record: collects answers for hours, without any privilege of its own. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "collect.h"
#include "translate.h"

static const char usage[] = N_(
	"usage: tipme profile record [-d TIME] [-o FILE] [--episodes-over MS] [-- PROGRAM ...]\n"
	"       tipme profile episode [EPISODE | --live TIME] [-o FILE]\n"
	"       tipme profile report FILE [--html FILE | --pictures FOLDER | --json]\n"
	"       tipme profile compare A B [--over MS] [--junit FILE] [--json]\n"
	"       tipme profile cpu [EPISODE] [-o FILE] [--json]\n"
	"       tipme profile idle [-d SECONDS] [-o FILE] [--json]\n"
	"\n"
	"How programs feel over hours: how long each key, click, motion and turn of the wheel\n"
	"waited for its change of the screen, by application and stage. It needs a running\n"
	"recorder (`tipme start`) of your own, no privilege, and the same memory however long\n"
	"it runs. It writes FILE each minute. `tipme profile report --help`, and the same of\n"
	"episode, compare, cpu and idle, say what those do. It sees X servers and Wayland\n"
	"compositors.\n"
	"\n"
	"  -d, --duration TIME    ends after TIME: 90s, 10min, 4h; else with PROGRAM or ^C\n"
	"  -o, --output FILE      instead of profile-DATE-TIME.json\n"
	"  --episodes-over MS     saves an episode where an answer took longer, and keeps the\n"
	"                         worst with their verdicts\n"
	"  --keep N               so many of them: 1 to 32 (usually 5)\n"
	"  --record-key-times     also writes when each event was, to FILE.times: from such\n"
	"                         times text can be guessed. Only on a terminal\n"
	"  --replay RECORDS       takes records of an episode (x-PID.rec) instead\n"
	"  --name PID=NAME        who a process in those records was; may be given often\n"
	"  -q, --quiet            says nothing but complaints\n"
	"\n"
	"With PROGRAM only what its windows answer is counted. Kept are counts for each minute,\n"
	"never which key or in what order.\n"
	"\n"
	"Examples:\n"
	"  tipme profile record -d 4h -o monday.json\n"
	"  tipme profile record --episodes-over 150 -- gedit notes.txt\n"
	"  tipme profile record --replay EPISODE/x-123.rec -o episode.json\n");

static int fail(const char *what)
{
	fprintf(stderr, "tipme: profile: %s\n", what);
	return 1;
}

static int misuse(const char *what, const char *arg)
{
	fprintf(stderr, "tipme: profile: %s %s: not understood: see tipme profile record --help\n",
		what, arg);
	return 64;
}

/* "90", "90s", "10min", "4h", "1d" to ns; 0: none of these. */
static uint64_t time_ns(const char *text)
{
	static const struct {
		const char *unit;
		unsigned int s;
	} units[] = { { "", 1 }, { "s", 1 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 } };
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (end != text && n && n <= 366UL * 86400 / units[i].s &&
		    !strcmp(end, units[i].unit))
			return n * units[i].s * TIPME_NS_PER_S;
	return 0;
}

static const struct option longs[] = {
	{ "duration", required_argument, NULL, 'd' },
	{ "output", required_argument, NULL, 'o' },
	{ "episodes-over", required_argument, NULL, 'e' },
	{ "keep", required_argument, NULL, 'k' },
	{ "record-key-times", no_argument, NULL, 't' },
	{ "replay", required_argument, NULL, 'r' },
	{ "name", required_argument, NULL, 'n' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static unsigned int number(const char *text, unsigned int least, unsigned int most)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	return *text && !*end && n >= least && n <= most ? (unsigned int)n : 0;
}

/* Returns -1 if all is well, else the exit status. */
static int options(int argc, char **argv, struct tipme_collect_options *o)
{
	for (int c; (c = getopt_long(argc, argv, "+d:o:qh", longs, NULL)) != -1;) {
		switch (c) {
		case 'd':
			if (!(o->duration_ns = time_ns(optarg)))
				return misuse("--duration", optarg);
			break;
		case 'o': o->file = optarg; break;
		case 'e':
			if (!(o->episodes_over_ms = number(optarg, 10, 600000)))
				return misuse("--episodes-over", optarg);
			break;
		case 'k':
			if (!(o->keep = number(optarg, 1, TIPME_WORST)))
				return misuse("--keep", optarg);
			break;
		case 't': o->key_times = true; break;
		case 'r': o->replay = optarg; break;
		case 'n':
			if (!strchr(optarg, '=') || o->names == TIPME_APPS)
				return misuse("--name", optarg);
			o->name[o->names++] = optarg;
			break;
		case 'q': o->quiet = true; break;
		case 'h': fputs(tipme_help(usage), stdout); return 0;
		default: return 64;
		}
	}
	o->program = argv + optind;
	return -1;
}

static int check(const struct tipme_collect_options *o)
{
	struct stat st;

	if (!lstat(o->file, &st) && !S_ISREG(st.st_mode)) {
		fprintf(stderr,
			"tipme: profile: %s: a link, or no ordinary file, which would be replaced: "
			"name a file\n",
			o->file);
		return 1;
	}
	/* Whoever runs it in the background would forget it. */
	if (o->key_times && !o->replay &&
	    (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp()))
		return fail(
			"--record-key-times: only in the foreground, on a terminal: from times of "
			"keys text can be guessed");
	if (o->replay && (*o->program || o->duration_ns || o->episodes_over_ms))
		return fail(
			"--replay: takes neither -d, --episodes-over nor a program: the records say "
			"all");
	return -1;
}

int main(int argc, char **argv)
{
	struct tipme_collect_options o = { .keep = 5 };
	char name[64];
	time_t now = time(NULL);
	struct tm tm;

	/* `tipme profile record ...` calls us with the verb's word. */
	if (argc > 1 && !strcmp(argv[1], "record")) {
		argv[1] = argv[0];
		argc--;
		argv++;
	} else if (argc < 2 || (strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0)) {
		fprintf(stderr,
			"tipme: profile: record, episode, report, compare, cpu or idle is meant: "
			"see tipme profile --help\n");
		return 64;
	}
	int status = options(argc, argv, &o);

	if (status >= 0)
		return status;
	strftime(name, sizeof(name), "profile-%Y%m%d-%H%M%S.json", localtime_r(&now, &tm));
	if (!o.file)
		o.file = name;
	status = check(&o);
	return status >= 0 ? status : tipme_collect(&o);
}
