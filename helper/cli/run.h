/* SPDX-License-Identifier: GPL-2.0-only */
/* Other programs and other users: what `tipme start --always` needs of the system. */
#ifndef TIPME_CLI_RUN_H
#define TIPME_CLI_RUN_H

#include <limits.h>
#include <sys/types.h>

#define CLI_NOT_THERE 127 /* there is no such program */

/*
 * Runs a command (NULL at its end) and waits for it; returns its exit status, 128 after a signal,
 * or -errno.
 */
int cli_run(const char *const argv[]);

/* The same, without its output; its complaints are shown. */
int cli_run_quietly(const char *const argv[]);

/* Starts one in a session of its own, with nothing of our input and output, and does not wait. */
void cli_run_aside(const char *const argv[]);

/* Exit status of a child, 128 after a signal, or -errno. */
int cli_wait_for(pid_t pid);

/* For whom something is set up: who asks; behind sudo and pkexec who has asked those. */
struct cli_person {
	uid_t uid;
	gid_t gid;
	char name[64], home[PATH_MAX];
};

/* Returns 0, or -ENOENT: the system does not know that user. */
int cli_person_find(struct cli_person *person);

/*
 * Runs it in a child that has become that person, for good; returns 0, or 1 if it failed, or
 * -errno.
 */
int cli_as_person(const struct cli_person *person, int (*run)(const struct cli_person *person));

#endif
