/* SPDX-License-Identifier: GPL-2.0-only */
/* Puts the user's words into an episode, through the recorder. */
#ifndef TIPME_AGENT_SCRIBE_H
#define TIPME_AGENT_SCRIBE_H

#include <stdbool.h>

struct scribe;

struct scribe_calls {
	void (*saved)(void *arg); /* all words that were given are in the episode */
	void (*refused)(void *arg, const char *why);
	/* there are words to save, and no recorder; when one comes they are saved */
	void (*alone)(void *arg);
	void *arg;
};

/* For the episode `id`; `calls` lasts as long as the scribe. In the main context of GLib. */
struct scribe *scribe_new(const char *id, const struct scribe_calls *calls);
void scribe_free(struct scribe *scribe);

/*
 * These words in place of all before; empty: none. Never waits for the recorder's answer; of
 * several the last is saved.
 */
void scribe_write(struct scribe *scribe, const char *words);

/* Whether words are on the way. */
bool scribe_busy(const struct scribe *scribe);

#endif
