// SPDX-License-Identifier: GPL-2.0-only
/* doctor: what can be recorded here, why not more, and what to do about it. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli.h"
#include "doctor.h"
#include "message.h"
#include "paths.h"
#include "translate.h"

/* A recorder that hangs must not hang the doctor. */
#define DOCTOR_PATIENCE_S 3

#define STATE_COLUMNS 8

static const char *const state_names[] = { "ok", "limited", "missing" };
static const char *const state_words[] = { N_("ok"), N_("limited"), N_("missing") };
/* How the action of a finding begins that more rights would mend. */
static const char with_sudo[] = "run it with sudo";

void doctor_say(struct doctor_finding *finding, enum doctor_state state, const char *action,
		const char *format, ...)
{
	va_list args;

	finding->state = state;
	snprintf(finding->action, sizeof(finding->action), "%s", *action ? _(action) : "");
	finding->wants_root = !strncmp(action, with_sudo, strlen(with_sudo));
	va_start(args, format);
	vsnprintf(finding->meaning, sizeof(finding->meaning), _(format), args);
	va_end(args);
}

static struct json_object *finding_json(const struct doctor_check *check,
					const struct doctor_finding *f)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "name", json_object_new_string(check->name));
	json_object_object_add(o, "state", json_object_new_string(state_names[f->state]));
	json_object_object_add(o, "needed", json_object_new_boolean(check->needed));
	json_object_object_add(o, "meaning", json_object_new_string(f->meaning));
	json_object_object_add(o, "action",
			       f->action[0] ? json_object_new_string(f->action) : NULL);
	return o;
}

/* In columns: a letter may have several bytes. */
static const char *padded(const char *word)
{
	static char text[64];
	size_t letters = 0, bytes = strlen(word);

	for (const char *c = word; *c; c++)
		letters += (*c & 0xc0) != 0x80;
	snprintf(text, sizeof(text), "%-*s", (int)(STATE_COLUMNS + bytes - letters), word);
	return text;
}

static void finding_print(const struct doctor_check *check, const struct doctor_finding *f)
{
	printf("%s %-13s %s\n", padded(_(state_words[f->state])), check->name, f->meaning);
	if (f->action[0])
		printf("%-8s %-13s -> %s\n", "", "", f->action);
}

/* Where the summary says that sudo helps, no finding has to say it again. */
static bool summed_up(const struct doctor_finding *f)
{
	return f->state == DOCTOR_OK || f->wants_root;
}

/*
 * Returns whether all that is needed is there. Appends all findings to the list if there is one.
 * Else prints those that are as bad as `worst` or worse; if `brief`, without those that are summed
 * up.
 */
static bool look(const struct doctor_check *checks, struct doctor_session *session,
		 struct json_object *list, enum doctor_state worst, bool brief)
{
	bool possible = true;

	for (const struct doctor_check *c = checks; c->name; c++) {
		struct doctor_finding f = { 0 };

		c->look(session, &f);
		if (c->needed && f.state == DOCTOR_MISSING)
			possible = false;
		if (list)
			json_object_array_add(list, finding_json(c, &f));
		else if (f.state >= worst && !(brief && summed_up(&f)))
			finding_print(c, &f);
	}
	return possible;
}

static const char *next_step(const struct doctor_session *session, bool exact, bool possible)
{
	if (session->status)
		return session->hooks ? _("when something is slow: Ctrl+Alt+minus, or tipme snap")
				      : _("when something is slow: tipme snap");
	if (possible && !exact)
		return geteuid()
			       ? _("sudo tipme doctor, then sudo tipme start (or tipme start, for samples only)")
			       : _("tipme start, for samples only; mend what is marked missing above for more");
	if (possible)
		return geteuid() ? _("tipme start")
				 : _("tipme start; then, when something is slow: tipme snap");
	return geteuid() ? _("sudo tipme doctor, then sudo tipme start")
			 : _("mend what is marked missing above");
}

static bool recorder_exact(struct json_object *status)
{
	struct json_object *source;

	return status && json_object_object_get_ex(status, "source", &source) &&
	       strcmp(json_object_get_string(source), "proc_sampled");
}

static const char *source_words(bool exact, bool possible)
{
	return exact	  ? _("the kernel itself")
	       : possible ? _("the kernel, by samples of /proc (run as root for more)")
			  : _("no kernel source");
}

static void report_json(struct json_object *list, bool exact, bool possible,
			const struct doctor_session *session)
{
	struct json_object *top = json_object_new_object();

	json_object_object_add(top, "recording_possible", json_object_new_boolean(possible));
	json_object_object_add(top, "sampled_only", json_object_new_boolean(possible && !exact));
	json_object_object_add(top, "recorder_running",
			       json_object_new_boolean(session->status != NULL));
	json_object_object_add(top, "hooks", json_object_new_boolean(session->hooks));
	json_object_object_add(top, "checks", list);
	json_object_object_add(top, "next",
			       json_object_new_string(next_step(session, exact, possible)));
	puts(json_object_to_json_string_ext(top, JSON_C_TO_STRING_PRETTY |
							 JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(top);
}

/*
 * The first line of the short form: what is recorded for who asks, and whether root would get more.
 */
static void say_summary(const struct doctor_session *session, bool exact, bool possible)
{
	if (session->status)
		puts(session->exact_recorder ? _("Recording now: exact.")
					     : _("Recording now: samples only."));
	else if (exact)
		puts(_("You: exact."));
	else if (possible)
		puts(geteuid() ? _("You: samples only. With sudo: exact, where the kernel permits.")
			       : _("You: samples only."));
	else
		puts(_("You: nothing can be recorded."));
}

/* Hot-keys are the agent's: it says which keys make them here, and tries them. */
static int ask_agent(const char *option)
{
	const char *tree = getenv("TIPME_BUILDDIR");
	char path[PATH_MAX];

	if (tree && *tree)
		snprintf(path, sizeof(path), "%s/helper/agent/tipme-agent", tree);
	else
		snprintf(path, sizeof(path), "%s/tipme-agent", TIPME_BINDIR);
	execl(path, path, option, (char *)NULL);
	return cli_fail(_("doctor: %s: %s: the agent, which has the hot-keys, is not installed"),
			path, strerror(errno));
}

int cli_doctor(const struct tipme_verb_entry *verb, int argc, char **argv)
{
	const char *option = argc > 1 ? argv[1] : "";
	bool json = !strcmp(option, "--json"), brief = !strcmp(option, "--brief");
	bool all = !strcmp(option, "-v") || !strcmp(option, "--verbose");

	if (argc == 2 && (!strcmp(option, "--hotkeys") || !strcmp(option, "--test-hotkey")))
		return ask_agent(option);
	if (argc > 1 + (json || brief || all))
		return cli_misuse(verb, argv[1 + (json || brief || all)]);
	struct doctor_session session = { .status = cli_recorder_status(DOCTOR_PATIENCE_S) };

	session.exact_recorder = recorder_exact(session.status);
	struct json_object *list = json ? json_object_new_array() : NULL;
	bool sums_up = !json && !brief && !all;
	enum doctor_state worst = brief ? DOCTOR_MISSING : DOCTOR_OK;
	/* Before the details, by another look at the machine, which disturbs nothing. */
	bool exact =
		look(doctor_machine_checks, &session, list, sums_up ? DOCTOR_NONE : worst, false);
	/* What anybody may see; without /proc there is nothing at all. */
	bool possible = exact || !access("/proc/self/schedstat", R_OK);

	if (sums_up) {
		say_summary(&session, exact, possible || session.status);
		look(doctor_machine_checks, &session, NULL, DOCTOR_LIMITED, geteuid());
	}
	look(doctor_session_checks, &session, list, sums_up ? DOCTOR_LIMITED : DOCTOR_OK, sums_up);
	/* Somebody with more rights than we may have started it. */
	possible = possible || session.status;
	if (brief)
		printf(_("Sources here: %s; %s.\n"),
		       source_words(session.status ? session.exact_recorder : exact, possible),
		       session.hooks	  ? _("the X server, by its hooks")
		       : session.observed ? _("the X server, as a client sees it")
					  : _("no X server with hooks"));
	if (json)
		report_json(list, exact, possible, &session);
	else
		printf(possible ? _("%sRecording is possible here. Next: %s\n")
				: _("%sRecording is not possible here. Next: %s\n"),
		       brief ? "" : "\n", next_step(&session, exact, possible));
	if (sums_up)
		puts(_("Each check: tipme doctor -v"));
	json_object_put(session.status);
	return possible ? TIPME_EXIT_DONE : TIPME_EXIT_FAILED;
}
