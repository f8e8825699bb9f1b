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

static const char *const state_names[] = { "ok", "limited", "missing" };

void doctor_say(struct doctor_finding *finding, enum doctor_state state, const char *action,
		const char *format, ...)
{
	va_list args;

	finding->state = state;
	snprintf(finding->action, sizeof(finding->action), "%s", action);
	va_start(args, format);
	vsnprintf(finding->meaning, sizeof(finding->meaning), format, args);
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

static void finding_print(const struct doctor_check *check, const struct doctor_finding *f)
{
	printf("%-8s %-13s %s\n", state_names[f->state], check->name, f->meaning);
	if (f->action[0])
		printf("%-8s %-13s -> %s\n", "", "", f->action);
}

/* Where the summary says that sudo helps, no finding has to say it again. */
static bool summed_up(const struct doctor_finding *f)
{
	return f->state == DOCTOR_OK ||
	       !strncmp(f->action, "run it with sudo", strlen("run it with sudo"));
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
		return session->hooks ? "when something is slow: Ctrl+Alt+minus, or tipme snap"
				      : "when something is slow: tipme snap";
	if (possible && !exact)
		return geteuid()
			       ? "sudo tipme doctor, then sudo tipme start (or tipme start, for samples only)"
			       : "tipme start, for samples only; mend what is marked missing above for more";
	if (possible)
		return geteuid() ? "tipme start"
				 : "tipme start; then, when something is slow: tipme snap";
	return geteuid() ? "sudo tipme doctor, then sudo tipme start"
			 : "mend what is marked missing above";
}

static bool recorder_exact(struct json_object *status)
{
	struct json_object *source;

	return status && json_object_object_get_ex(status, "source", &source) &&
	       strcmp(json_object_get_string(source), "proc_sampled");
}

static const char *source_words(bool exact, bool possible)
{
	return exact	  ? "the kernel itself"
	       : possible ? "the kernel, by samples of /proc (run as root for more)"
			  : "no kernel source";
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
		printf("Recording now: %s.\n", session->exact_recorder ? "exact" : "samples only");
	else if (exact)
		puts("You: exact.");
	else if (possible)
		printf("You: samples only.%s\n",
		       geteuid() ? " With sudo: exact, where the kernel permits." : "");
	else
		puts("You: nothing can be recorded.");
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
		printf("Sources here: %s; %s.\n",
		       source_words(session.status ? session.exact_recorder : exact, possible),
		       session.hooks	  ? "the X server, by its hooks"
		       : session.observed ? "the X server, as a client sees it"
					  : "no X server with hooks");
	if (json)
		report_json(list, exact, possible, &session);
	else
		printf("%sRecording is %s here. Next: %s\n", brief ? "" : "\n",
		       possible ? "possible" : "not possible",
		       next_step(&session, exact, possible));
	if (sums_up)
		puts("Each check: tipme doctor -v");
	json_object_put(session.status);
	return possible ? TIPME_EXIT_DONE : TIPME_EXIT_FAILED;
}
