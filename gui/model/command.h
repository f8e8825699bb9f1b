/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line is the one source of verdicts: its verbs, run with --json. */
#ifndef TIPME_GUI_COMMAND_H
#define TIPME_GUI_COMMAND_H

#include <gio/gio.h>
#include <json-c/json.h>

/*
 * Runs `tipme ARGS...` and parses what it prints. Waits for it: call it in a thread of its own.
 * NULL and an error with the command's own words where it printed no JSON, or was cancelled (then
 * it is ended). The caller puts the object back.
 */
struct json_object *tipme_command_json(const char *const *args, GCancellable *cancellable,
				       GError **error);

/* The words of `tipme ARGS...`, the program's path first. For g_strfreev(). */
char **tipme_command_argv(const char *const *args);

/* The same parsing, of what a verb has printed on standard output and error. */
struct json_object *tipme_command_parse(const char *out, const char *said, GError **error);

#endif
