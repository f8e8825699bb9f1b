// SPDX-License-Identifier: GPL-2.0-only
/* The agent's hot-keys, without X. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "chords.h"
#include "translate.h"

static const struct {
	enum tipme_chord_action action;
	const char *name, *says, *text;
} defaults[AGENT_CHORDS] = {
	{ TIPME_CHORD_ACTION_START, "start", N_("start recording"), "Ctrl+Alt+plus" },
	{ TIPME_CHORD_ACTION_SNAPSHOT, "snapshot", N_("save what just happened"),
	  "Ctrl+Alt+minus" },
	{ TIPME_CHORD_ACTION_NO_INPUT, "no-input", N_("record no input at all"), "Ctrl+Alt+0" },
	{ TIPME_CHORD_ACTION_DEFAULT_INPUT, "default-input", N_("record input, never which key"),
	  "Ctrl+Alt+1" },
};

void agent_chords_init(struct agent_chords *chords)
{
	char why[8];

	memset(chords, 0, sizeof(*chords));
	for (int i = 0; i < AGENT_CHORDS; i++) {
		struct agent_chord *c = &chords->chord[i];

		c->action = defaults[i].action;
		c->name = defaults[i].name;
		c->says = defaults[i].says;
		agent_chord_set(chords, c->name, defaults[i].text, why, sizeof(why));
	}
}

int agent_chord_set(struct agent_chords *chords, const char *name, const char *text, char *why,
		    size_t why_len)
{
	for (int i = 0; i < AGENT_CHORDS; i++) {
		struct agent_chord *c = &chords->chord[i];

		if (strcmp(c->name, name))
			continue;
		int err = tipme_hotkey_parse(&c->hotkey, text, why, why_len);

		if (!err)
			snprintf(c->text, sizeof(c->text), "%s", text);
		return err;
	}
	snprintf(why, why_len,
		 "'%.60s': no such hot-key: it is one of start, snapshot, no-input, default-input",
		 name);
	return -ENOENT;
}

bool agent_chords_same(const struct agent_chord *a, const struct agent_chord *b)
{
	uint32_t keysym = a->hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT].keysym;

	return keysym && keysym == b->hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT].keysym &&
	       a->hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT].modifiers ==
		       b->hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT].modifiers;
}

struct agent_chord *agent_chords_feed(struct agent_chords *chords,
				      const struct tipme_hotkey_layout *layout, unsigned int device,
				      uint8_t keycode, bool pressed)
{
	struct agent_chord *best = NULL;
	int best_level = 0;

	for (int i = 0; i < AGENT_CHORDS; i++) {
		struct agent_chord *c = &chords->chord[i];

		if (tipme_hotkey_feed(&c->hotkey, layout, device, keycode, pressed) !=
		    TIPME_HOTKEY_FIRE)
			continue;
		int level = layout->level(layout->arg, keycode,
					  c->hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT].keysym);

		if (!best || level < best_level) {
			best = c;
			best_level = level;
		}
	}
	return best;
}

unsigned int agent_chord_keys(const struct agent_chord *chord,
			      const struct tipme_hotkey_layout *layout,
			      struct agent_chord_key *keys, unsigned int max)
{
	unsigned int n = 0;

	for (unsigned int keycode = 8;
	     chord->hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT].keysym && keycode < 256 && n < max;
	     keycode++) {
		int level = layout->level(layout->arg, (uint8_t)keycode,
					  chord->hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT].keysym);

		if (level >= 0)
			keys[n++] = (struct agent_chord_key){
				(uint8_t)keycode,
				level > 0 && !(chord->hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT]
						       .modifiers &
					       TIPME_MOD_SHIFT)
			};
	}
	return n;
}
