/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The agent's hot-keys: what each asks for, as people write it, and which keys of a layout make it.
 * No X here.
 */
#ifndef TIPME_AGENT_CHORDS_H
#define TIPME_AGENT_CHORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hotkey.h"
#include "tipme_records.h"

#define AGENT_CHORDS 4
#define AGENT_CHORD_BYTES 64

struct agent_chord {
	enum tipme_chord_action action;
	const char *name; /* in the configuration file and as an option */
	const char *says; /* what it does */
	char text[AGENT_CHORD_BYTES];
	struct tipme_hotkey hotkey;
};

struct agent_chords {
	struct agent_chord chord[AGENT_CHORDS];
};

/* A key that makes a chord. */
struct agent_chord_key {
	uint8_t keycode;
	bool any_shift; /* Shift is how one types the symbol: with it and without */
};

/* The default chords. */
void agent_chords_init(struct agent_chords *chords);

/*
 * Sets the chord `name` ("snapshot", ...) to `text`. Returns 0, or -ENOENT for no such name, or
 * -EINVAL; both with a sentence.
 */
int agent_chord_set(struct agent_chords *chords, const char *name, const char *text, char *why,
		    size_t why_len);

/* Whether two chords are made by the same keys, however they are written; none and none are not. */
bool agent_chords_same(const struct agent_chord *a, const struct agent_chord *b);

/*
 * A press or release of a key of a device. Returns the chord that it completes; NULL: none. Where
 * one key bears the symbols of two chords at different levels, the lower level is meant.
 */
struct agent_chord *agent_chords_feed(struct agent_chords *chords,
				      const struct tipme_hotkey_layout *layout, unsigned int device,
				      uint8_t keycode, bool pressed);

/* The keys that make this chord. Fills at most `max`; returns how many. */
unsigned int agent_chord_keys(const struct agent_chord *chord,
			      const struct tipme_hotkey_layout *layout,
			      struct agent_chord_key *keys, unsigned int max);

#endif
