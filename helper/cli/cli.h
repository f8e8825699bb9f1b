/* SPDX-License-Identifier: GPL-2.0-only */
/* The verbs of the command line. */
#ifndef TIPME_CLI_H
#define TIPME_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	TIPME_EXIT_DONE = 0,
	TIPME_EXIT_FAILED = 1,
	TIPME_EXIT_THRESHOLD = 2,
	TIPME_EXIT_USAGE = 64
};

struct json_object;

/* How `tipme help` lists the verbs. */
enum tipme_verb_group {
	TIPME_EVERYDAY,
	TIPME_INVESTIGATE,
	TIPME_SHARE,
	TIPME_MEASURE,
	TIPME_GROUPS
};

struct tipme_verb_entry {
	const char *name;
	const char *summary; /* one line of the list of verbs */
	/* argv[0] is the verb */
	int (*run)(const struct tipme_verb_entry *verb, int argc, char **argv);
	const char *usage; /* 0: the program that does it knows */
	const char *program; /* for cli_program(): below libexec, or in the source tree */
	enum tipme_verb_group group;
};

int cli_start(const struct tipme_verb_entry *verb, int argc, char **argv);
int cli_stop(const struct tipme_verb_entry *verb, int argc, char **argv);
int cli_status(const struct tipme_verb_entry *verb, int argc, char **argv);
int cli_classes(const struct tipme_verb_entry *verb, int argc, char **argv);
int cli_snap(const struct tipme_verb_entry *verb, int argc, char **argv);
int cli_doctor(const struct tipme_verb_entry *verb, int argc, char **argv);
int cli_program(const struct tipme_verb_entry *verb, int argc, char **argv);
int cli_bench(const struct tipme_verb_entry *verb, int argc, char **argv);
int cli_latency(const struct tipme_verb_entry *verb, int argc, char **argv);
int cli_profile(const struct tipme_verb_entry *verb, int argc, char **argv);

/* Says `tipme: what: why: what to do` and returns TIPME_EXIT_FAILED. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints what tipme is, and the verbs by groups. `verbs` ends with one without a name. */
void cli_help(FILE *to, const struct tipme_verb_entry *verbs);

/*
 * Says that there is no verb `name`, and which ones it may have been meant for; returns
 * TIPME_EXIT_USAGE.
 */
int cli_no_verb(const struct tipme_verb_entry *verbs, const char *name);

/* Says that this is no usage of the verb, and returns TIPME_EXIT_USAGE. */
int cli_misuse(const struct tipme_verb_entry *verb, const char *arg);

/* Replaces this process; returns only if there is no such program. */
int cli_exec(const char *verb, char **argv);

/* Connects to the recorder. Returns the descriptor, or -errno after saying why and what to do. */
int cli_connect(const char *verb);

/*
 * Sends one verb and waits for its reply, whose text (NUL-terminated) comes in `buf` of
 * TIPME_MESSAGE_MAX + 1 bytes. Returns 0, or a negative errno after saying it.
 */
int cli_ask(int fd, const char *name, uint16_t verb, const char *text, char *buf);

/*
 * Waits for a message of this verb; *arg is what it says, its text comes in `buf`, cleaned. Returns
 * 0 or -errno, silently.
 */
int cli_wait(int fd, uint16_t verb, uint32_t *arg, char *buf);

/*
 * The JSON of an answer, with all of its texts fit for a terminal; NULL if it is none. The caller
 * puts it back.
 */
struct json_object *cli_answer_parse(const char *text);

/*
 * What the running recorder says of itself, cleaned, or NULL: none runs here, it is not to be
 * trusted, or it does not answer within `seconds`. The caller puts it back.
 */
struct json_object *cli_recorder_status(int seconds);

#endif
