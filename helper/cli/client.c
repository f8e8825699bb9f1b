// SPDX-License-Identifier: GPL-2.0-only
/* Verbs that ask the recorder: stop, status, classes. */
#include "config.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "always.h"
#include "cli.h"
#include "message.h"
#include "paths.h"
#include "text.h"
#include "retold.h"
#include "translate.h"

static char buf[TIPME_MESSAGE_MAX + 1];

int cli_connect(const char *verb)
{
	int fd = tipme_message_connect(tipme_rundir());

	if (fd == -ENOENT || fd == -ECONNREFUSED)
		cli_fail(_("%s: no recorder runs here: start it with sudo tipme start"), verb);
	else if (fd == -EACCES)
		cli_fail(
			_("%s: the recorder serves root and its owner: ask them to start it with --allow-uid for you"),
			verb);
	else if (fd == -EPERM)
		cli_fail(
			_("%s: %s: it is a link, or others may write there, or who answers there is neither root nor its owner: nothing was sent: end that program, or name "
			  "the recorder's folder in TIPME_RUNDIR"),
			verb, tipme_rundir());
	else if (fd < 0)
		cli_fail(_("%s: %s/%s: %s: see tipme doctor"), verb, tipme_rundir(),
			 TIPME_SOCKET_NAME, strerror(-fd));
	return fd;
}

int cli_wait(int fd, uint16_t verb, uint32_t *arg, char *to)
{
	struct tipme_incoming in;

	for (;;) {
		int passed;
		ssize_t n = tipme_message_receive(fd, to, TIPME_MESSAGE_MAX, &passed, 0);

		if (passed >= 0)
			close(passed);
		if (n <= 0)
			return n ? (int)n : -ECONNRESET;
		int err = tipme_message_parse(to, (size_t)n, &in);

		if (err)
			return err;
		if (in.verb != verb)
			continue;
		*arg = in.arg;
		/* The text lies in `to`, behind its head. */
		tipme_text_clean(to, TIPME_MESSAGE_MAX + 1, in.text, in.text_len);
		return 0;
	}
}

/*
 * The thread that answers is ahead of all others; classes are switched by one that may have to
 * wait.
 */
#define ANSWER_S 10
#define SWITCH_S 60

static void patience(int fd, time_t seconds)
{
	const struct timeval limit = { .tv_sec = seconds };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

static void say_silent(int fd, const char *name, int seconds)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	cli_fail(
		_("%s: the recorder (pid %d) has not answered for %d s: it is stopped, or hangs: look at it with ps, or end it with kill -KILL and start another"),
		name, (int)peer.pid, seconds);
}

int cli_ask(int fd, const char *name, uint16_t verb, const char *text, char *to)
{
	uint32_t refused = 0;
	int seconds = verb == TIPME_VERB_SET ? SWITCH_S : ANSWER_S;

	patience(fd, seconds);
	int err = tipme_message_send(fd, verb, 0, text, strlen(text), 0);

	/* A recorder that refuses us says why, then closes: what it said is there to be read. */
	if (!err || err == -EPIPE)
		err = cli_wait(fd, TIPME_VERB_REPLY, &refused, to);
	/* What follows, an episode that is saved, or the end, takes as long as it takes. */
	patience(fd, 0);
	if (err == -EAGAIN)
		say_silent(fd, name, seconds);
	else if (err)
		cli_fail(_("%s: the recorder did not answer: %s: see tipme status"), name,
			 strerror(-err));
	else if (refused)
		cli_fail("%s: %s", name, to);
	return err ? err : -(int)refused;
}

struct json_object *cli_recorder_status(int seconds)
{
	uint32_t refused = 0;
	int fd = tipme_message_connect(tipme_rundir());

	if (fd < 0)
		return NULL;
	patience(fd, seconds);
	bool answered = !tipme_message_send(fd, TIPME_VERB_STATUS, 0, "", 0, MSG_DONTWAIT) &&
			!cli_wait(fd, TIPME_VERB_REPLY, &refused, buf) && !refused;

	close(fd);
	struct json_object *status = answered ? cli_answer_parse(buf) : NULL;

	if (json_object_is_type(status, json_type_object))
		return status;
	json_object_put(status);
	return NULL;
}

int cli_stop(const struct tipme_verb_entry *verb, int argc, char **argv)
{
	uint32_t arg;
	bool for_good = argc > 1 && !strcmp(argv[1], "--for-good");

	if (argc > 1 + for_good)
		return cli_misuse(verb, argv[1 + for_good]);
	if (for_good)
		return cli_stop_for_good();
	int fd = cli_connect(verb->name);

	if (fd < 0 || cli_ask(fd, verb->name, TIPME_VERB_STOP, "", buf))
		return TIPME_EXIT_FAILED;
	/* It closes the connection when it is done. */
	while (!cli_wait(fd, TIPME_VERB_REPLY, &arg, buf))
		;
	close(fd);
	return TIPME_EXIT_DONE;
}

static const char *text_of(struct json_object *o, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(o, key, &value) && value ? json_object_get_string(value)
								  : "-";
}

static double number_of(struct json_object *o, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(o, key, &value) ? json_object_get_double(value) : 0;
}

static struct json_object *part_of(struct json_object *o, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(o, key, &value) ? value : NULL;
}

static size_t length_of(struct json_object *list)
{
	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

static void print_coverage(struct json_object *status)
{
	struct json_object *list = part_of(status, "coverage");
	double least = 0, most = 0;

	for (size_t i = 0; i < length_of(list); i++) {
		double s = number_of(json_object_array_get_idx(list, i), "seconds");

		least = !i || s < least ? s : least;
		most = s > most ? s : most;
	}
	/* Samples are of all CPUs together. */
	if (length_of(list) > 1)
		printf(_("kept       %.1f to %.1f s on %zu CPUs (asked for: %.0f s)\n"), least,
		       most, length_of(list), number_of(status, "window_s"));
	else
		printf(_("kept       %.1f s (asked for: %.0f s)\n"), most,
		       number_of(status, "window_s"));
}

/* Their records are there: only the stack is not. */
static bool is_stackless(const char *cause)
{
	return !strcmp(cause, "stack_table") || !strcmp(cause, "sleep_table");
}

static void print_losses(struct json_object *lost, bool stackless, const char *what)
{
	const char *between = "";
	double sum = 0;

	json_object_object_foreach(lost, name, value) sum +=
		is_stackless(name) == stackless ? json_object_get_double(value) : 0;
	if (stackless && !sum)
		return;
	printf("%s%.0f%s (", stackless ? _("no stack   ") : _("lost       "), sum, what);
	json_object_object_foreach(lost, cause, count)
	{
		if (is_stackless(cause) != stackless)
			continue;
		printf("%s%s %s", between, cause, json_object_get_string(count));
		between = ", ";
	}
	puts(")");
}

static void print_lost(struct json_object *lost)
{
	print_losses(lost, false, "");
	print_losses(lost, true, _(" records, which are there without it"));
}

/*
 * Calls of the recorder's programs that the kernel left out, by program, and how many of all of
 * them may have been worth a record.
 */
static void print_missed(struct json_object *by, struct json_object *lost)
{
	const char *between = "";

	if (!by || !json_object_object_length(by))
		return;
	printf(_("left out   "));
	json_object_object_foreach(by, program, calls)
	{
		printf("%s%s %s", between, program, json_object_get_string(calls));
		between = ", ";
	}
	printf(_(" (calls; %.0f of them may have made a record)\n"), number_of(lost, "missed"));
}

static void print_x_servers(struct json_object *list)
{
	if (!length_of(list))
		puts(_("X servers  none with hooks"));
	for (size_t i = 0; i < length_of(list); i++) {
		struct json_object *s = json_object_array_get_idx(list, i);

		printf(_("X server   %s :%s, pid %s%s\n"), text_of(s, "name"),
		       text_of(s, "display"), text_of(s, "pid"),
		       json_object_get_boolean(part_of(s, "connected"))
			       ? ""
			       : _(", gone; its last records are kept for a while"));
	}
}

static void print_classes(struct json_object *classes)
{
	const char *between = "";

	printf(_("classes    "));
	json_object_object_foreach(classes, name, on)
	{
		printf("%s%s%s", between, json_object_get_boolean(on) ? "" : on ? "-" : "!", name);
		between = " ";
	}
	puts(_("\n           (- off, ! cannot be recorded here)"));
}

static void print_trigger_thread(struct json_object *thread)
{
	if (json_object_get_boolean(part_of(thread, "realtime")))
		puts(_("trigger    real-time"));
	else
		printf(_("trigger    not real-time: %s\n"), text_of(thread, "why"));
}

#define SAMPLES_PER_S 99 /* of each CPU, while it is busy */

/*
 * Most records are the scheduler's; how many of each other kind come in a second nobody counts.
 * Samples and new programs cost many times as much.
 */
static void print_other_costs(struct json_object *costs)
{
	const char *between = _("           others: "), *end = "";

	json_object_object_foreach(costs, name, ns)
	{
		if (!strcmp(name, "sched"))
			continue;
		printf("%s%s %s", between, name, json_object_get_string(ns));
		between = ", ";
		end = _(" ns each\n");
	}
	fputs(end, stdout);
}

/* Half of the rounds of measuring lie between. */
static void print_quartiles(struct json_object *quartiles)
{
	if (json_object_is_type(quartiles, json_type_array) &&
	    json_object_array_length(quartiles) == 2)
		printf(_(" (%s to %s)"),
		       json_object_get_string(json_object_array_get_idx(quartiles, 0)),
		       json_object_get_string(json_object_array_get_idx(quartiles, 1)));
}

/* What the kernel runs for us shows in no process. */
static void print_own_share(struct json_object *status)
{
	struct json_object *costs = part_of(status, "record_cost_ns");
	double cost_ns = number_of(costs, "sched"),
	       samples = number_of(costs, "sample") * SAMPLES_PER_S *
			 (double)length_of(part_of(status, "coverage"));

	if (cost_ns > 0) {
		printf(_("cost       %.0f ns a scheduler record"), cost_ns);
		print_quartiles(part_of(part_of(status, "record_cost_spread_ns"), "sched"));
		printf(_(": now about %.2f %% of one CPU"),
		       cost_ns * number_of(status, "rate") / 1e7);
		if (samples > 0 &&
		    json_object_get_boolean(part_of(part_of(status, "classes"), "sample")))
			printf(_(", and up to %.2f %% for samples"), samples / 1e7);
		puts("");
		print_other_costs(costs);
		printf(_("           measured %.0f s ago: on a busier machine twice that is usual\n"),
		       number_of(status, "record_cost_age_s"));
	} else if (json_object_get_boolean(part_of(status, "record_cost_measuring"))) {
		puts(_("cost       of a record: is being measured"));
	} else {
		puts(_("cost       of a record: not measured (that takes CAP_SYS_ADMIN at the start)"));
	}
}

static void print_status(struct json_object *status)
{
	struct json_object *memory = part_of(status, "memory"), *cpu = part_of(status, "cpu"),
			   *limits = part_of(status, "limits");
	double uptime_s = number_of(status, "uptime_s"),
	       cpu_ms = number_of(cpu, "user_ms") + number_of(cpu, "system_ms");

	printf(_("recording  %s for %.1f s, pid %s\n"), text_of(status, "source"), uptime_s,
	       text_of(status, "pid"));
	printf(_("records    %.0f, now %.0f a second\n"), number_of(status, "records"),
	       number_of(status, "rate"));
	print_coverage(status);
	print_lost(part_of(status, "lost"));
	print_missed(part_of(status, "missed_by"), part_of(status, "lost"));
	print_classes(part_of(status, "classes"));
	print_own_share(status);
	struct json_object *identity = part_of(status, "identity");

	printf(_("history    %s processes in %.1f MB; those that ended are known for %.0f s\n"),
	       text_of(identity, "processes"), number_of(identity, "bytes") / 1e6,
	       number_of(identity, "ended_kept_s"));
	printf(_("memory     %.1f MB: %.1f MB ring, %.1f MB kept for copies\n"),
	       number_of(memory, "resident_bytes") / 1e6, number_of(memory, "pool_bytes") / 1e6,
	       number_of(memory, "copy_bytes") / 1e6);
	printf(_("CPU        %.0f ms of our own, %.2f %% of one CPU\n"), cpu_ms,
	       uptime_s > 0 ? cpu_ms / uptime_s / 10 : 0);
	print_x_servers(part_of(status, "x_servers"));
	print_trigger_thread(part_of(status, "trigger_thread"));
	if (number_of(status, "auto_ms") > 0)
		printf(_("thresholds a snapshot by itself from %.0f ms on\n"),
		       number_of(status, "auto_ms"));
	printf(_("episodes   %s saved, %s failed; last: %s\n"), text_of(status, "episodes"),
	       text_of(status, "failures"), text_of(status, "last_episode"));
	printf(_("           %s; library %s\n"), text_of(status, "saving"),
	       text_of(status, "library"));
	for (size_t i = 0; i < length_of(limits); i++) {
		const char *limit = json_object_get_string(json_object_array_get_idx(limits, i));
		char *words = limit ? tipme_retold(limit) : NULL;

		printf(_("limited    %s\n"), words ? words : limit);
		free(words);
	}
}

static int status_no_recorder(bool json)
{
	if (json)
		puts("{\"recording\": false}");
	return TIPME_EXIT_FAILED;
}

int cli_status(const struct tipme_verb_entry *verb, int argc, char **argv)
{
	bool json = argc > 1 && !strcmp(argv[1], "--json");

	if (argc > 1 + json)
		return cli_misuse(verb, argv[1 + json]);
	int fd = cli_connect(verb->name);

	if (fd < 0)
		return status_no_recorder(json);
	if (cli_ask(fd, verb->name, TIPME_VERB_STATUS, "", buf))
		return TIPME_EXIT_FAILED;
	close(fd);
	if (json) {
		puts(buf);
		return TIPME_EXIT_DONE;
	}
	struct json_object *status = cli_answer_parse(buf);

	if (!json_object_is_type(status, json_type_object))
		return cli_fail(_(
			"status: the recorder's answer is no JSON: it may be of another version: restart it"));
	print_status(status);
	json_object_put(status);
	return TIPME_EXIT_DONE;
}

/*
 * The wish in JSON; *json whether that is also wanted as the answer. Returns NULL where it was said
 * what is wrong.
 */
static struct json_object *classes_wish(const struct tipme_verb_entry *verb, int argc, char **argv,
					bool *json)
{
	struct json_object *wish = json_object_new_object();

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json")) {
			*json = true;
			continue;
		}
		if ((argv[i][0] != '+' && argv[i][0] != '-') || !argv[i][1] || argv[i][1] == '-') {
			cli_fail(
				_("classes: %s: begin the name of a class with + or -: tipme classes lists them"),
				argv[i]);
			json_object_put(wish);
			return NULL;
		}
		json_object_object_add(wish, argv[i] + 1,
				       json_object_new_boolean(argv[i][0] == '+'));
	}
	return wish;
}

int cli_classes(const struct tipme_verb_entry *verb, int argc, char **argv)
{
	bool json = false;
	struct json_object *wish = classes_wish(verb, argc, argv, &json);

	if (!wish)
		return TIPME_EXIT_USAGE;
	int fd = cli_connect(verb->name);
	int err = fd < 0 ? fd
			 : cli_ask(fd, verb->name, TIPME_VERB_SET, json_object_to_json_string(wish),
				   buf);

	json_object_put(wish);
	if (err)
		return TIPME_EXIT_FAILED;
	close(fd);
	if (json) {
		puts(buf);
		return TIPME_EXIT_DONE;
	}
	struct json_object *answer = cli_answer_parse(buf);

	print_classes(part_of(answer, "classes"));
	json_object_put(answer);
	return TIPME_EXIT_DONE;
}
