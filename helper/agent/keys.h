/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hears the hot-keys on an X server, in two ways at once: raw events, which come even while a menu
 * holds a grab, and a passive grab of the keys, which keeps them from the program that has the
 * focus. A press that is heard both ways counts once.
 */
#ifndef TIPME_AGENT_KEYS_H
#define TIPME_AGENT_KEYS_H

#include <X11/Xlib.h>

#include "chords.h"

struct agent_keys;

enum agent_keys_way { AGENT_BY_RAW_EVENT, AGENT_BY_GRAB };

typedef void (*agent_keys_heard)(void *arg, const struct agent_chord *chord,
				 enum agent_keys_way way);

/* Returns NULL, and a sentence, if the server cannot do it. The chords are used until the end. */
struct agent_keys *agent_keys_new(Display *display, struct agent_chords *chords,
				  agent_keys_heard heard, void *arg, char *why, size_t why_len);
void agent_keys_free(struct agent_keys *keys);

/* Takes one event of the display; false: it was not about keys. */
bool agent_keys_event(struct agent_keys *keys, XEvent *event);

/* Whether somebody else has grabbed this chord, and how many keys make it in this layout. */
bool agent_keys_taken(const struct agent_keys *keys, enum tipme_chord_action action);
unsigned int agent_keys_count(const struct agent_keys *keys, enum tipme_chord_action action);
bool agent_keys_raw(const struct agent_keys *keys);

#endif
