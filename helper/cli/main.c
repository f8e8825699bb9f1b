// SPDX-License-Identifier: GPL-2.0-only
/* tipme: one table of verbs drives dispatch, help and usage. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "translate.h"

static const struct tipme_verb_entry verbs[] = {
	{ "doctor", N_("what can be recorded here, and what to do for more"), cli_doctor,
	  N_("usage: tipme doctor [-v | --brief | --json | --hotkeys | --test-hotkey]\n"
	     "Says what this machine can record, what is missing and what that costs.\n"
	     "  -v, --verbose  each check, also what is well\n"
	     "  --brief  only what this session has, and what stops recording\n"
	     "  --hotkeys  which keys make the agent's hot-keys here, and what each does\n"
	     "  --test-hotkey  the same, and whether the next one that is pressed is heard\n"
	     "Ends with 0 if recording is possible, with 1 if not.\n\n"
	     "Examples:\n  tipme doctor\n  sudo tipme doctor\n  tipme doctor --json\n"),
	  NULL, TIPME_EVERYDAY },
	{ "start", N_("start the recorder"), cli_start, NULL, "tipmed", TIPME_EVERYDAY },
	{ "stop", N_("end it"), cli_stop,
	  N_("usage: tipme stop [--for-good]\nEnds the recorder, after it has saved what was asked for.\n"
	     "  --for-good  and the agent, and neither comes back at login (see tipme start --always)\n\n"
	     "Examples:\n  tipme stop\n  sudo tipme stop\n  tipme stop --for-good\n"),
	  NULL, TIPME_EVERYDAY },
	{ "status", N_("what the recorder does, keeps and costs"), cli_status,
	  N_("usage: tipme status [--json]\nSource, rates, seconds kept, losses, own CPU time and memory.\n"
	     "Ends with 1 if no recorder runs.\n\n"
	     "Examples:\n  tipme status\n  tipme status --json\n  watch tipme status\n"),
	  NULL, TIPME_EVERYDAY },
	{ "classes", N_("what is recorded beside scheduling, and switching it"), cli_classes,
	  N_("usage: tipme classes [+CLASS | -CLASS]... [--json]\n"
	     "Lists the record classes, after switching some on (+) or off (-). A class that\nis off costs nothing; the recorder goes on meanwhile.\n\n"
	     "Examples:\n  tipme classes\n  tipme classes +migrate -io\n  tipme classes -input\n"
	     "  tipme classes +input\n  tipme classes --json\n"),
	  NULL, TIPME_INVESTIGATE },
	{ "snap", N_("save what just happened (what the hot-key does)"), cli_snap,
	  N_("usage: tipme snap [-m TEXT]\n"
	     "Saves the last seconds, and two more. On a terminal it ends with the verdict.\n"
	     "In a pipe it prints the id of the episode at once, and its folder when saved.\n"
	     "  -m, --message TEXT  what happened, in your words\n\n"
	     "Examples:\n  tipme snap\n  tipme snap -m 'the editor hung while I typed'\n  tipme show \"$(tipme snap | head -n1)\"\n"),
	  NULL, TIPME_EVERYDAY },
	{ "demo", N_("a real slow key press, and its verdict"), cli_program, NULL, "tipme-demo",
	  TIPME_EVERYDAY },
	{ "diagnose", N_("who made it slow, for how long, and the proof"), cli_program, NULL,
	  "tipme-postmortem", TIPME_EVERYDAY },
	{ "list", N_("the episodes"), cli_program, NULL, "tipme-postmortem", TIPME_EVERYDAY },
	{ "show", N_("an episode: its facts and its verdict"), cli_program, NULL,
	  "tipme-postmortem", TIPME_INVESTIGATE },
	{ "pin", N_("keep an episode when room is made for newer ones"), cli_program, NULL,
	  "tipme-postmortem", TIPME_EVERYDAY },
	{ "note", N_("your words about an episode"), cli_program, NULL, "tipme-postmortem",
	  TIPME_EVERYDAY },
	{ "tag", N_("words by which you find episodes again"), cli_program, NULL,
	  "tipme-postmortem", TIPME_EVERYDAY },
	{ "rm", N_("remove episodes"), cli_program, NULL, "tipme-postmortem", TIPME_EVERYDAY },
	{ "compare", N_("two episodes: stage by stage, cause by cause"), cli_program, NULL,
	  "tipme-postmortem", TIPME_INVESTIGATE },
	{ "check", N_("did the cure help: the same presses, before and after"), cli_program, NULL,
	  "tipme-postmortem", TIPME_EVERYDAY },
	{ "report", N_("whom to tell of the cause, and the text for them"), cli_program, NULL,
	  "tipme-postmortem", TIPME_SHARE },
	{ "bundle", N_("one redacted file for a vendor"), cli_program, NULL, "tipme-postmortem",
	  TIPME_SHARE },
	{ "open", N_("what somebody else has bundled"), cli_program, NULL, "tipme-postmortem",
	  TIPME_SHARE },
	{ "fleet", N_("many machines: who takes part, and what they say together"), cli_program,
	  NULL, "tipme-postmortem", TIPME_SHARE },
	{ "events", N_("every input event with its response time"), cli_program, NULL,
	  "tipme-postmortem", TIPME_INVESTIGATE },
	{ "timeline", N_("the seconds around the key press as a picture"), cli_program, NULL,
	  "tipme-postmortem", TIPME_INVESTIGATE },
	{ "gui", N_("episodes, answers and timelines in a window"), cli_program, NULL, "tipme-gui",
	  TIPME_EVERYDAY },
	{ "latency", N_("how late interrupts and real-time threads are, and why"), cli_latency,
	  NULL, "tipme-latency", TIPME_MEASURE },
	{ "profile", N_("how programs feel over hours, and this version against the last"),
	  cli_profile, NULL, "tipme-profile", TIPME_MEASURE },
	{ "export", N_("the records for other programs: perfetto, chrome, ftrace, text"),
	  cli_program, NULL, "tipme-postmortem", TIPME_SHARE },
	{ "type", N_("types, clicks and drags as a person does"), cli_program, NULL, "tipme-type",
	  TIPME_MEASURE },
	{ "bench", N_("tasks timed, compared, and where their time went"), cli_bench, NULL,
	  "tipme-bench", TIPME_MEASURE },
	{ 0 },
};

int cli_fail(const char *format, ...)
{
	va_list args;

	fputs("tipme: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("\n", stderr);
	return TIPME_EXIT_FAILED;
}

int cli_misuse(const struct tipme_verb_entry *verb, const char *arg)
{
	cli_fail(_("%s: %s: not understood: see tipme %s --help"), verb->name, arg, verb->name);
	return TIPME_EXIT_USAGE;
}

static bool asks_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	return false;
}

static int dispatch(const struct tipme_verb_entry *verb, int argc, char **argv)
{
	if (!verb->usage || !asks_help(argc, argv))
		return verb->run(verb, argc, argv);
	fputs(_(verb->usage), stdout);
	return TIPME_EXIT_DONE;
}

static const struct tipme_verb_entry *verb_find(const char *name)
{
	for (const struct tipme_verb_entry *v = verbs; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

/* `tipme help VERB` is `tipme VERB --help`, as with other programs that have verbs. */
static int help(const char *name)
{
	char *args[] = { (char *)name, (char *)"--help", NULL };

	if (!name || !strcmp(name, "help")) {
		cli_help(stdout, verbs);
		return TIPME_EXIT_DONE;
	}
	const struct tipme_verb_entry *verb = verb_find(name);

	return verb ? dispatch(verb, 2, args) : cli_no_verb(verbs, name);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	tipme_language_begin();
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		return help(NULL);
	if (!strcmp(name, "help"))
		return help(argc > 2 && argv[2][0] != '-' ? argv[2] : NULL);
	if (!strcmp(name, "--version")) {
		puts("tipme " PACKAGE_VERSION);
		return TIPME_EXIT_DONE;
	}
	const struct tipme_verb_entry *verb = verb_find(name);

	if (verb)
		return dispatch(verb, argc - 1, argv + 1);
	if (!*name)
		cli_help(stderr, verbs);
	return *name ? cli_no_verb(verbs, name) : TIPME_EXIT_USAGE;
}
