/* SPDX-License-Identifier: GPL-2.0-only */
/* The agent's connection to the recorder: made again whenever there is one to be had. */
#ifndef TIPME_AGENT_RECORDER_H
#define TIPME_AGENT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

struct agent_recorder;

/* What the recorder says. All texts are NUL-terminated and last until the return. */
struct agent_recorder_calls {
	void (*joined)(void *arg);
	void (*left)(void *arg);
	void (*triggered)(void *arg, const char *id, const char *kind, double seconds);
	void (*refused)(void *arg, const char *why);
	void (*saved)(void *arg, int error, const char *text); /* a path, or what went wrong */
	void *arg;
};

/*
 * In the main context of GLib. NULL without memory. The folder of the recorder is looked up again
 * at each try (see tipme_rundir()): a recorder that starts later, moves or restarts is joined
 * within a second.
 */
struct agent_recorder *agent_recorder_new(const struct agent_recorder_calls *calls);
void agent_recorder_free(struct agent_recorder *recorder);
bool agent_recorder_joined(const struct agent_recorder *recorder);

/* Asks for what a chord means. Does not wait. Returns 0 or -errno; -ENOTCONN: no recorder. */
int agent_recorder_chord(struct agent_recorder *recorder, uint32_t action);

/* Tells what agent_session_text() says, if a recorder is there. Does not wait. */
void agent_recorder_tell(struct agent_recorder *recorder, const char *session);

#endif
