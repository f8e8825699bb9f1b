// SPDX-License-Identifier: GPL-2.0-only
/* Options of tipmed, and who owns what it saves. */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hotkey.h"
#include "kernel_source.h"
#include "options.h"
#include "paths.h"
#include "seat.h"
#include "translate.h"

const char tipmed_usage[] =
	/* xgettext:no-c-format */
	N_("usage: tipme start [options]        (or: tipmed [options])\n"
	   "       tipme start --always | --ask\n"
	   "Starts the recorder: it keeps the last seconds of what the machine did.\n\n"
	   "  --always          now, and at each login, and the agent with its hot-key, too\n"
	   "                    (the service tipmed; where no systemd runs, samples only);\n"
	   "                    --now-and-at-login is the same; tipme stop --for-good ends it\n"
	   "  --ask             ask for the right in a window (polkit), as buttons do\n"
	   "  --foreground      stay in the terminal, until Ctrl+C\n"
	   "  --window S        seconds to keep (40)\n"
	   "  --rate N          records a second to make room for (5000 of each CPU, at least\n"
	   "                    10000; then as many as come, within 4 % of the memory)\n"
	   "  --post S          seconds to record after the hot-key (2)\n"
	   "  --hotkey CHORD    on the keyboards themselves, also without X; none: off\n"
	   "                    (Ctrl+Alt+minus)\n"
	   "  --classes LIST    record classes, as io,signal or +migrate,-sample or all or none\n"
	   "                    (tipme status lists them)\n"
	   "  --wayland-library FILE  a libwayland-server beside those of the system, whose\n"
	   "                    compositors are recorded, too\n"
	   "  --history MB      memory for who processes were (16)\n"
	   "  --record-environment  keep all of each program's environment: it may hold\n"
	   "                    passwords and tokens; without it, a short list of names\n"
	   "  --auto[=MS]       save by itself when an answer, or a wait for a CPU of the\n"
	   "                    program in use, takes longer (300); at most each 30 seconds\n"
	   "  --keep N          episodes to keep at most; pinned ones stay (200; 0: all)\n"
	   "  --keep-mb MB      how large they may be together (4000; 0: no limit)\n"
	   "  --keep-days D     how old they may become (0: no limit)\n"
	   "  --keep-worst N    how many of those that --auto took: the worst, and the newest (20; 0: all)\n"
	   "  --source NAME     kernel_module, kernel_bpf or proc_sampled (the best that is permitted)\n"
	   "  --owner UID       whose episodes these are (sudo's user, or who sits at the screen);\n"
	   "                    auto: who sits at the screen, and whoever comes next\n"
	   "  --allow-uid UID   a user whose X server, compositor and trigger are taken, too;\n"
	   "                    repeatable\n"
	   "  --user NAME       the system user that it is once all is open (tipmed, where there\n"
	   "                    is such a user; root: stay root, without root's capabilities)\n"
	   "  --library DIR     where episodes go (/var/lib/tipme/UID)\n"
	   "  --rundir DIR      where the socket is (/run/tipme)\n"
	   "  --help, --version\n\n"
	   "Examples:\n"
	   "  sudo tipme start\n"
	   "  sudo tipme start --always\n"
	   "  sudo tipme start --window 120 --rate 50000\n");

enum {
	OPT_FOREGROUND = 1,
	OPT_WINDOW,
	OPT_RATE,
	OPT_POST,
	OPT_HOTKEY,
	OPT_CLASSES,
	OPT_WAYLAND_LIBRARY,
	OPT_HISTORY,
	OPT_ENVIRONMENT,
	OPT_SOURCE,
	OPT_AUTO,
	OPT_KEEP,
	OPT_KEEP_MB,
	OPT_KEEP_DAYS,
	OPT_KEEP_WORST,
	OPT_OWNER,
	OPT_ALLOW,
	OPT_USER,
	OPT_LIBRARY,
	OPT_RUNDIR,
	OPT_HELP,
	OPT_VERSION
};

static const struct option long_options[] = {
	{ "foreground", no_argument, NULL, OPT_FOREGROUND },
	{ "window", required_argument, NULL, OPT_WINDOW },
	{ "rate", required_argument, NULL, OPT_RATE },
	{ "post", required_argument, NULL, OPT_POST },
	{ "hotkey", required_argument, NULL, OPT_HOTKEY },
	{ "classes", required_argument, NULL, OPT_CLASSES },
	{ "wayland-library", required_argument, NULL, OPT_WAYLAND_LIBRARY },
	{ "history", required_argument, NULL, OPT_HISTORY },
	{ "record-environment", no_argument, NULL, OPT_ENVIRONMENT },
	{ "auto", optional_argument, NULL, OPT_AUTO },
	{ "keep", required_argument, NULL, OPT_KEEP },
	{ "keep-mb", required_argument, NULL, OPT_KEEP_MB },
	{ "keep-days", required_argument, NULL, OPT_KEEP_DAYS },
	{ "keep-worst", required_argument, NULL, OPT_KEEP_WORST },
	{ "source", required_argument, NULL, OPT_SOURCE },
	{ "owner", required_argument, NULL, OPT_OWNER },
	{ "allow-uid", required_argument, NULL, OPT_ALLOW },
	{ "user", required_argument, NULL, OPT_USER },
	{ "library", required_argument, NULL, OPT_LIBRARY },
	{ "rundir", required_argument, NULL, OPT_RUNDIR },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ 0 },
};

static int number(const char *name, const char *text, unsigned long least, unsigned long most,
		  unsigned long *value)
{
	char *end;

	errno = 0;
	*value = strtoul(text, &end, 10);
	if (!errno && end != text && !*end && text[0] != '-' && *value >= least && *value <= most)
		return 0;
	fprintf(stderr,
		"tipme: start: --%s %s: not a number from %lu to %lu: see tipme start --help\n",
		name, text, least, most);
	return -EINVAL;
}

static int full_path(const char *name, const char *text, char *to, size_t cap)
{
	if (text[0] == '/' && strlen(text) < cap) {
		strcpy(to, text);
		return 0;
	}
	fprintf(stderr, "tipme: start: --%s %s: not a full path of usual length: begin it with /\n",
		name, text);
	return -EINVAL;
}

/* The largest id means "no user" to the kernel. */
#define UID_MOST 4294967294UL

static int allow(struct tipmed_options *opt)
{
	unsigned long value;
	int err = number("allow-uid", optarg, 0, UID_MOST, &value);

	if (err)
		return err;
	if (opt->allow_count == TIPMED_ALLOW_MAX) {
		fprintf(stderr, "tipme: start: --allow-uid: more than %d users: name fewer\n",
			TIPMED_ALLOW_MAX);
		return -EINVAL;
	}
	opt->allow[opt->allow_count++] = (uid_t)value;
	return 0;
}

static int user(struct tipmed_options *opt)
{
	if (*optarg && strlen(optarg) < sizeof(opt->user)) {
		strcpy(opt->user, optarg);
		return 0;
	}
	fprintf(stderr, "tipme: start: --user %s: not the name of a user: see tipme start --help\n",
		optarg);
	return -EINVAL;
}

static int hotkey(struct tipmed_options *opt)
{
	struct tipme_hotkey parsed = { 0 };
	char why[160];

	if (strlen(optarg) < sizeof(opt->hotkey) &&
	    !tipme_hotkey_parse(&parsed, optarg, why, sizeof(why))) {
		strcpy(opt->hotkey, optarg);
		return 0;
	}
	fprintf(stderr, "tipme: start: --hotkey: %s\n",
		strlen(optarg) < sizeof(opt->hotkey)
			? why
			: "a chord is shorter: see tipme start --help");
	return -EINVAL;
}

static int classes(struct tipmed_options *opt)
{
	int err = tipme_classes_parse(optarg, &opt->classes);

	if (!err)
		return 0;
	fprintf(stderr, "tipme: start: --classes %s: no such record class:", optarg);
	for (int i = 0; i < TIPME_CLASSES; i++)
		fprintf(stderr, "%s %s", i ? "," : " there are", tipme_classes[i].name);
	fputs("\n", stderr);
	return err;
}

static int source(struct tipmed_options *opt)
{
	static const struct {
		const char *name;
		enum tipme_source source;
	} sources[] = {
		{ "kernel_module", TIPME_SOURCE_KERNEL_MODULE },
		{ "kernel_bpf", TIPME_SOURCE_KERNEL_BPF },
		{ "proc_sampled", TIPME_SOURCE_PROC_SAMPLED },
	};

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (!strcmp(optarg, sources[i].name)) {
			opt->source = sources[i].source;
			return 0;
		}
	fprintf(stderr,
		"tipme: start: --source %s: no such source: say kernel_module, kernel_bpf or proc_sampled\n",
		optarg);
	return -EINVAL;
}

static int apply(struct tipmed_options *opt, int which)
{
	unsigned long value = 0;
	int err = 0;

	switch (which) {
	case OPT_FOREGROUND: opt->foreground = true; return 0;
	case OPT_HELP: opt->help = true; return 0;
	case OPT_VERSION: opt->version = true; return 0;
	case OPT_ENVIRONMENT: opt->record_environment = true; return 0;
	case OPT_HISTORY:
		err = number("history", optarg, 1, 1024, &value);
		opt->identity_bytes = value << 20;
		return err;
	case OPT_HOTKEY: return hotkey(opt);
	case OPT_CLASSES: return classes(opt);
	case OPT_WAYLAND_LIBRARY:
		return full_path("wayland-library", optarg, opt->wayland_library,
				 sizeof(opt->wayland_library));
	case OPT_SOURCE: return source(opt);
	case OPT_AUTO:
		opt->auto_ms = TIPMED_AUTO_MS_DEFAULT;
		err = optarg ? number("auto", optarg, TIPMED_AUTO_MS_LEAST, TIPMED_AUTO_MS_MOST,
				      &value)
			     : 0;
		opt->auto_ms = optarg ? (unsigned int)value : opt->auto_ms;
		return err;
	case OPT_KEEP:
		err = number("keep", optarg, 0, 1000000, &value);
		opt->keep.count = (unsigned int)value;
		return err;
	case OPT_KEEP_MB:
		err = number("keep-mb", optarg, 0, 100000000, &value);
		opt->keep.bytes = value * 1000000;
		return err;
	case OPT_KEEP_DAYS:
		err = number("keep-days", optarg, 0, 100000, &value);
		opt->keep.days = (unsigned int)value;
		return err;
	case OPT_KEEP_WORST:
		err = number("keep-worst", optarg, 0, 1000000, &value);
		opt->keep.worst = (unsigned int)value;
		return err;
	case OPT_ALLOW: return allow(opt);
	case OPT_USER: return user(opt);
	case OPT_LIBRARY: return full_path("library", optarg, opt->library, sizeof(opt->library));
	case OPT_RUNDIR: return full_path("rundir", optarg, opt->rundir, sizeof(opt->rundir));
	case OPT_WINDOW:
		err = number("window", optarg, 1, 3600, &value);
		opt->window_s = (unsigned int)value;
		return err;
	case OPT_RATE:
		err = number("rate", optarg, 100, 10000000, &value);
		opt->rate = (unsigned int)value;
		return err;
	case OPT_POST:
		err = number("post", optarg, 0, 60, &value);
		opt->post_s = (unsigned int)value;
		return err;
	case OPT_OWNER:
		opt->owner_auto = !strcmp(optarg, "auto");
		if (opt->owner_auto)
			return 0;
		err = number("owner", optarg, 0, UID_MOST, &value);
		opt->owner = (uid_t)value;
		opt->owner_given = true;
		return err;
	}
	return -EINVAL;
}

/*
 * An option that there is none of, one with a value that it cannot have, or without the one that it
 * needs.
 */
static int option_wrong(const char *arg, int which)
{
	if (which == ':')
		fprintf(stderr, "tipme: start: %s: its value is missing: see tipme start --help\n",
			arg);
	else
		fprintf(stderr, "tipme: start: %s: no such option: see tipme start --help\n", arg);
	return -EINVAL;
}

int tipmed_options_parse(int argc, char **argv, struct tipmed_options *opt)
{
	int which, err = 0;

	*opt = (struct tipmed_options){ .window_s = 40,
					.post_s = 2,
					.keep = { .count = 200, .worst = 20, .bytes = 4000000000 },
					.classes = tipme_classes_default(),
					.hotkey = TIPME_HOTKEY_DEFAULT };
	snprintf(opt->rundir, sizeof(opt->rundir), "%s", tipme_rundir_to_start());
	opterr = 0;
	while (!err && (which = getopt_long(argc, argv, ":", long_options, NULL)) != -1)
		err = which == '?' || which == ':' ? option_wrong(argv[optind - 1], which)
						   : apply(opt, which);
	if (!err && optind < argc) {
		fprintf(stderr, "tipme: start: %s: not an option: see tipme start --help\n",
			argv[optind]);
		err = -EINVAL;
	}
	return err || opt->owner_auto
		       ? err
		       : tipmed_owner_set(opt, opt->owner_given ? opt->owner : tipmed_owner_find());
}

int tipmed_owner_set(struct tipmed_options *opt, uid_t owner)
{
	opt->owner = owner;
	int err = opt->library[0] ? 0 : tipme_library(owner, opt->library, sizeof(opt->library));

	if (err)
		fprintf(stderr,
			"tipme: start: the library of user %u: %s: name a folder with --library\n",
			(unsigned int)owner, strerror(-err));
	return err;
}

static bool owner_of_sudo(uid_t *owner)
{
	const char *text = getenv("SUDO_UID");
	char *end;
	unsigned long value = text ? strtoul(text, &end, 10) : 0;

	if (!text || end == text || *end || value > UID_MOST)
		return false;
	*owner = (uid_t)value;
	return true;
}

uid_t tipmed_owner_find(void)
{
	uid_t owner;

	/* Only root may give its files away. */
	if (geteuid() == 0 && (owner_of_sudo(&owner) || tipmed_seat_user(&owner)))
		return owner;
	return geteuid();
}
