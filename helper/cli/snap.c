// SPDX-License-Identifier: GPL-2.0-only
/* tipme snap: saves what just happened; on a terminal it says what it does, and who it was. */
#include "config.h"

#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "message.h"
#include "words.h"

#define STATUS_PATIENCE_S 2

static char buf[TIPME_MESSAGE_MAX + 1];

static int snap_options(const struct tipme_verb_entry *verb, int argc, char **argv,
			const char **words)
{
	static const struct option options[] = { { "message", required_argument, NULL, 'm' },
						 { 0 } };
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "m:", options, NULL)) != -1) {
		if (c == '?' && optopt == 'm') {
			cli_fail(_("snap: %s: its text is missing: see tipme snap --help"),
				 argv[optind - 1]);
			return TIPME_EXIT_USAGE;
		}
		if (c != 'm')
			return cli_misuse(verb, argv[optind - 1]);
		*words = optarg;
	}
	if (optind < argc) {
		cli_fail(_("snap: %s: what happened goes behind -m: tipme snap -m '%s'"),
			 argv[optind], argv[optind]);
		return TIPME_EXIT_USAGE;
	}
	if (strlen(*words) <= TIPME_MESSAGE_TEXT_MAX)
		return 0;
	cli_fail(_("snap: the text is longer than %d bytes: shorten it"), TIPME_MESSAGE_TEXT_MAX);
	return TIPME_EXIT_USAGE;
}

/* What the user waits for. */
static void say_waiting(void)
{
	struct json_object *status = cli_recorder_status(STATUS_PATIENCE_S), *value;
	int more_s = json_object_object_get_ex(status, "post_s", &value)
			     ? json_object_get_int(value)
			     : 0;

	json_object_put(status);
	if (more_s)
		printf(dngettext("tipme", "Recording %d more second...\n",
				 "Recording %d more seconds...\n", (unsigned long)more_s),
		       more_s);
	else
		puts(_(TIPME_WORDS_SAVING_WORDS));
	fflush(stdout);
}

/*
 * A program of its own prints it. What it cannot find out it says itself, and the episode is saved
 * all the same.
 */
static void tell_verdict(char *path)
{
	const struct tipme_verb_entry diagnose = { .name = "diagnose",
						   .program = "tipme-postmortem" };
	char *argv[] = { (char *)"diagnose", path, NULL };

	fflush(stdout);
	pid_t pid = fork();

	if (!pid)
		_exit(cli_program(&diagnose, 2, argv));
	if (pid > 0)
		waitpid(pid, NULL, 0);
	printf("\n%s\n", _(TIPME_WORDS_FURTHER));
}

/* A script reads the id first, then the folder: two lines, as long as there is no terminal. */
static void say_saved(const char *id, char *path, bool terminal)
{
	if (!terminal) {
		puts(path);
		return;
	}
	printf(_("Saved as %s\n\n"), id);
	tell_verdict(path);
}

int cli_snap(const struct tipme_verb_entry *verb, int argc, char **argv)
{
	const char *words = "";
	bool terminal = isatty(STDOUT_FILENO);
	char id[64];
	uint32_t error;
	int misuse = snap_options(verb, argc, argv, &words);
	int fd = misuse ? -1 : cli_connect(verb->name);

	if (misuse || fd < 0)
		return misuse ? misuse : TIPME_EXIT_FAILED;
	if (cli_ask(fd, verb->name, TIPME_VERB_TRIGGER, words, buf))
		return TIPME_EXIT_FAILED;
	struct json_object *reply = cli_answer_parse(buf), *value;

	snprintf(id, sizeof(id), "%s",
		 json_object_object_get_ex(reply, "id", &value) ? json_object_get_string(value)
								: "-");
	json_object_put(reply);
	if (terminal)
		say_waiting();
	else
		puts(id);
	fflush(stdout);
	if (cli_wait(fd, TIPME_VERB_SAVED, &error, buf))
		return cli_fail(_(
			"snap: the recorder ended before the episode was saved: start it again with sudo tipme start"));
	if (error)
		return cli_fail("snap: %s", buf);
	close(fd);
	say_saved(id, buf, terminal);
	return TIPME_EXIT_DONE;
}
