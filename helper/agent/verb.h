/* SPDX-License-Identifier: GPL-2.0-only */
/* Verbs of tipme, run beside the main loop. */
#ifndef TIPME_AGENT_VERB_H
#define TIPME_AGENT_VERB_H

#include <gio/gio.h>
#include <stdbool.h>

/*
 * What a verb has printed: `out`, `err` (valid UTF-8, never NULL), and its exit status, or -1: it
 * could not be run, `err` says why. The texts last until the return.
 */
typedef void (*agent_verb_done)(void *arg, int status, const char *out, const char *err);

/*
 * Runs `tipme args...` (ends with NULL), in the folder `cwd` (NULL: this one). It calls `done`
 * once, unless `cancel` comes before. Where we run from a build tree it is the tipme of that tree.
 */
void agent_verb_run(const char *const *args, const char *cwd, GCancellable *cancel,
		    agent_verb_done done, void *arg);

/* The same below all others in the queue for the CPUs: for what nobody waits for. */
void agent_verb_run_aside(const char *const *args, agent_verb_done done, void *arg);

/*
 * The program `name`: of the build tree that we run from, there in `folder`; else the installed
 * one, in `installed`. To be freed.
 */
char *agent_program_path(const char *folder, const char *name, const char *installed);

/* Not every installation has the window of `tipme gui`. */
bool agent_window_there(void);

/*
 * Opens an episode in it, by the verb, which finds the library; where a window is open, there.
 * False: there is none.
 */
bool agent_window_start(const char *path);

#endif
