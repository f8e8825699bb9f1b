// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verbs that are programs of their own: those of the build tree when run from there, else the
 * installed ones.
 */
#include "config.h"

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "always.h"
#include "cli.h"
#include "paths.h"
#include "translate.h"

/* The variable is set by ./tipme in the build tree only; below it, where the program is. */
static const struct {
	const char *name, *variable, *path, *interpreter;
	bool takes_verb; /* one program for several verbs */
	bool reads_library;
} programs[] = {
	{ "tipmed", "TIPME_BUILDDIR", "helper/daemon/tipmed", NULL, false, false },
	{ "tipme-postmortem", "TIPME_SRCDIR", "postmortem/bin/tipme-postmortem", "perl", true,
	  true },
	{ "tipme-bench", "TIPME_BUILDDIR", "helper/measure/tipme-bench", NULL, false, false },
	{ "tipme-benchmarks", "TIPME_SRCDIR", "helper/bench/tipme-benchmarks", NULL, false, false },
	{ "tipme-latency", "TIPME_BUILDDIR", "helper/measure/tipme-latency", NULL, false, false },
	{ "tipme-idle-loop", "TIPME_BUILDDIR", "helper/profile/tipme-idle-loop", NULL, false,
	  false },
	{ "tipme-profile", "TIPME_BUILDDIR", "helper/profile/tipme-profile", NULL, false, false },
	{ "tipme-gui", "TIPME_BUILDDIR", "gui/tipme-gui", NULL, false, true },
	{ "tipme-demo", "TIPME_SRCDIR", "helper/demo/tipme-demo", NULL, false, false },
	{ "tipme-type", "TIPME_SRCDIR", "helper/demo/tipme-type", NULL, false, false },
};
#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))

static int find(const char *name)
{
	for (size_t i = 0; i < PROGRAMS; i++)
		if (!strcmp(programs[i].name, name))
			return (int)i;
	return -1;
}

static void locate(int which, char *path, size_t cap)
{
	const char *tree = getenv(programs[which].variable);

	if (tree && *tree)
		snprintf(path, cap, "%s/%s", tree, programs[which].path);
	else
		snprintf(path, cap, TIPME_LIBEXECDIR "/%s", programs[which].name);
}

static int missing(const char *verb, const char *path)
{
	return cli_fail(_("%s: %s: %s: install all of tipme, or look at what configure left out"),
			verb, path, strerror(errno));
}

/* A recorder that hangs must not keep anybody from what it has saved. */
#define STATUS_PATIENCE_S 2

/*
 * Where a recorder runs with another library than that of who asks, its episodes are meant, if they
 * may be read.
 */
static void library_follow(void)
{
	const char *named = getenv("TIPME_LIBRARY");

	if (named && *named)
		return;
	struct json_object *status = cli_recorder_status(STATUS_PATIENCE_S), *value;
	const char *library = json_object_object_get_ex(status, "library", &value)
				      ? json_object_get_string(value)
				      : NULL;
	char own[PATH_MAX];

	if (library && *library == '/' &&
	    (tipme_library(geteuid(), own, sizeof(own)) || strcmp(own, library)) &&
	    !access(library, R_OK | X_OK))
		setenv("TIPME_LIBRARY", library, 1);
	json_object_put(status);
}

int cli_program(const struct tipme_verb_entry *verb, int argc, char **argv)
{
	int which = find(verb->program), n = 0;
	char path[PATH_MAX];
	char **args = calloc((size_t)argc + 4, sizeof(*args));

	if (which < 0 || !args) {
		free(args);
		return cli_fail(_("%s: no memory: end some programs"), verb->name);
	}
	locate(which, path, sizeof(path));
	if (programs[which].reads_library)
		library_follow();
	if (programs[which].interpreter && getenv(programs[which].variable))
		args[n++] = (char *)programs[which].interpreter;
	args[n++] = path;
	if (programs[which].takes_verb)
		args[n++] = (char *)verb->name;
	for (int i = 1; i < argc; i++)
		args[n++] = argv[i];
	setenv("TIPME_VERSION", PACKAGE_VERSION, 1);
	if (!access(path, F_OK))
		execvp(args[0], args);
	n = missing(verb->name, path);
	free(args);
	return n;
}

/* Runs another program of this verb where its first word is one of `words`, which end with NULL. */
static int program_by_word(const struct tipme_verb_entry *verb, int argc, char **argv,
			   const char *const words[], const char *program)
{
	struct tipme_verb_entry entry = *verb;

	for (size_t i = 0; argc > 1 && words[i]; i++)
		if (!strcmp(argv[1], words[i]))
			entry.program = program;
	return cli_program(&entry, argc, argv);
}

/*
 * What follows from a result that is there is computed by the post-mortem; measuring is a program
 * of its own.
 */
int cli_latency(const struct tipme_verb_entry *verb, int argc, char **argv)
{
	static const char *const derived[] = { "report", "mttf",   "compare", "schedulability",
					       "import", "export", "model",   "campaign",
					       "mark",	 NULL };

	return program_by_word(verb, argc, argv, derived, "tipme-postmortem");
}

/* Tasks that are timed beside a load are a program of their own. */
int cli_bench(const struct tipme_verb_entry *verb, int argc, char **argv)
{
	static const char *const tasks[] = { "run", "compare", "report", "merge", NULL };

	return program_by_word(verb, argc, argv, tasks, "tipme-benchmarks");
}

int cli_profile(const struct tipme_verb_entry *verb, int argc, char **argv)
{
	static const char *const derived[] = { "report", "compare", "cpu", "episode", NULL };

	if (argc > 1 && !strcmp(argv[1], "idle")) {
		struct tipme_verb_entry entry = *verb;

		entry.program = "tipme-idle-loop";
		return cli_program(&entry, argc, argv);
	}
	return program_by_word(verb, argc, argv, derived, "tipme-postmortem");
}

/* What the command line does itself; the recorder's own options go with none of it. */
static const struct {
	const char *option;
	int (*run)(void);
} starts[] = {
	{ "--always", cli_start_always },
	{ "--now-and-at-login", cli_start_always },
	{ "--ask", cli_start_ask },
};

/* Else the recorder speaks for itself: it says what it records, or why it cannot, in our name. */
int cli_start(const struct tipme_verb_entry *verb, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		for (size_t j = 0; j < sizeof(starts) / sizeof(starts[0]); j++) {
			if (strcmp(argv[i], starts[j].option))
				continue;
			if (argc == 2)
				return starts[j].run();
			cli_fail(
				_("start: %s: takes no further options: for --always those of the recorder are TIPMED_OPTIONS in /etc/default/tipme"),
				argv[i]);
			return TIPME_EXIT_USAGE;
		}
	return cli_program(verb, argc, argv);
}
