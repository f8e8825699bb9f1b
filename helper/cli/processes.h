/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs that are there, and those that run. */
#ifndef TIPME_CLI_PROCESSES_H
#define TIPME_CLI_PROCESSES_H

#include <stdbool.h>
#include <sys/types.h>

/* Asks all processes of `uid` that run the program at this path to end. */
void cli_processes_end(uid_t uid, const char *program);

/* Whether a command of this name is in PATH. */
bool cli_program_there(const char *name);

#endif
