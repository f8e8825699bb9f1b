/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hot-key logic without a server: reads "Ctrl+Alt+minus", follows keys, says when the chord is
 * pressed.
 */
#ifndef TIPME_HOTKEY_H
#define TIPME_HOTKEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hot.h"

#define TIPME_HOTKEY_DEFAULT "Ctrl+Alt+minus"
#define TIPME_HOTKEY_DEVICES 256

/*
 * Real modifiers, as in an X modifier map. Lock, NumLock (Mod2) and the third-level shifts (Mod3,
 * Mod5) do not count.
 */
#define TIPME_MOD_SHIFT 0x01
#define TIPME_MOD_CTRL 0x04
#define TIPME_MOD_ALT 0x08
#define TIPME_MOD_SUPER 0x40

/* What the hot-key must know of a layout; the server, a table or a library answers. */
struct tipme_hotkey_layout {
	/* modifiers that the key sets */
	uint8_t (*modifiers)(void *arg, uint8_t keycode);
	/* lowest level, in any group, at which the key bears the symbol; -1: it does not */
	int (*level)(void *arg, uint8_t keycode, uint32_t keysym);
	void *arg;
};

enum tipme_hotkey_answer {
	TIPME_HOTKEY_PASS, /* an ordinary key */
	TIPME_HOTKEY_FIRE, /* the chord: swallow this press */
	TIPME_HOTKEY_SWALLOW, /* repeat or release of a key that was swallowed */
};

/* One more than the largest chord_action. */
#define TIPME_HOTKEY_ACTIONS 5

struct tipme_chord {
	uint32_t keysym; /* 0: no hot-key */
	uint8_t modifiers;
};

struct tipme_hotkey {
	uint8_t action; /* of the chord that fired last */
	bool bare; /* there is a chord without modifiers */
	uint16_t held_count; /* of all keys */
	uint16_t swallowed_count;
	struct tipme_chord chord[TIPME_HOTKEY_ACTIONS]; /* by chord_action */
	uint8_t swallowed[32]; /* bit per key */
	uint8_t held[256]; /* number of devices that hold a key down */
	uint8_t down[TIPME_HOTKEY_DEVICES][32]; /* bit per key */
};

/*
 * Whether the key is no business of the hot-key's whatever the layout says, as with nearly all that
 * is typed: nothing was swallowed, and it is a release, or no key is held and each chord needs one.
 * That spares the layout, which is far from what the server has at hand.
 */
static TIPME_INLINE bool tipme_hotkey_passes(const struct tipme_hotkey *hk, bool pressed)
{
	return !hk->swallowed_count && (!pressed || (!hk->held_count && !hk->bare));
}

/*
 * Reads the chord as people write it: "Ctrl+Alt+minus", "ctrl-alt--", "<Control><Alt>F12", "Pause",
 * "none". Returns 0, or -EINVAL and one sentence in why. A key that types a character needs Ctrl,
 * Alt or Super.
 */
int tipme_hotkey_parse_action(struct tipme_hotkey *hk, unsigned action, const char *text, char *why,
			      size_t why_len);

/* The same for the chord that saves an episode. */
int tipme_hotkey_parse(struct tipme_hotkey *hk, const char *text, char *why, size_t why_len);

/*
 * One press or release of a key of a device, before the server's own state knows it: while a client
 * has frozen the keyboard that state stands still, so modifiers are followed here. Do not call it
 * for copies by master devices.
 */
enum tipme_hotkey_answer tipme_hotkey_feed(struct tipme_hotkey *hk,
					   const struct tipme_hotkey_layout *layout,
					   unsigned device, uint8_t keycode, bool pressed);

/* The same for a key that passes: follows it. */
static TIPME_INLINE void tipme_hotkey_follow(struct tipme_hotkey *hk, unsigned device,
					     uint8_t keycode, bool pressed)
{
	uint8_t *down, mask = (uint8_t)(1 << (keycode % 8));

	if (device >= TIPME_HOTKEY_DEVICES)
		return;
	down = &hk->down[device][keycode / 8];
	if (!(*down & mask) != pressed)
		return;
	*down ^= mask;
	hk->held[keycode] = (uint8_t)(hk->held[keycode] + (pressed ? 1 : -1));
	hk->held_count = (uint16_t)(hk->held_count + (pressed ? 1 : -1));
}

/*
 * What tipme_hotkey_feed() would answer; changes nothing. For raw events, which come before the
 * real ones.
 */
enum tipme_hotkey_answer tipme_hotkey_peek(const struct tipme_hotkey *hk,
					   const struct tipme_hotkey_layout *layout,
					   unsigned device, uint8_t keycode, bool pressed);

/* Whether this device holds the key: a further press is a repeat. */
static TIPME_INLINE bool tipme_hotkey_is_down(const struct tipme_hotkey *hk, unsigned device,
					      uint8_t keycode)
{
	return device < TIPME_HOTKEY_DEVICES && hk->down[device][keycode / 8] >> (keycode % 8) & 1;
}

#endif
