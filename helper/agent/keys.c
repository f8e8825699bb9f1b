// SPDX-License-Identifier: GPL-2.0-only
/* Hears the hot-keys on an X server. */
#include "config.h"

#include <X11/XKBlib.h>
#include <X11/extensions/XInput2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "keys.h"

/* Both ways bring one press within this; nobody presses a chord twice in it. */
#define SAME_PRESS_NS (250 * 1000000ULL)

#define KEYS_MAX 64

/*
 * Locks, and the shifts to further levels, which some layouts lock: a chord works whatever they
 * are.
 */
#define IGNORED (LockMask | Mod2Mask | Mod3Mask | Mod5Mask)

struct agent_keys {
	Display *display;
	Window root;
	struct agent_chords *chords;
	agent_keys_heard heard;
	void *arg;
	XkbDescPtr map;
	int xkb_event, xi_opcode; /* xi_opcode 0: no raw events */
	struct tipme_hotkey_layout layout;
	struct agent_chord_key keys[AGENT_CHORDS][KEYS_MAX];
	unsigned int count[AGENT_CHORDS];
	bool taken[AGENT_CHORDS];
	uint64_t last_ns[AGENT_CHORDS];
};

/*
 * Errors of X come later, by number of the request: between two of these numbers they are about
 * grabs.
 */
static bool grab_refused;

static int on_grab_error(Display *display, XErrorEvent *error)
{
	if (error->error_code == BadAccess)
		grab_refused = true;
	return 0;
}

static uint8_t layout_modifiers(void *arg, uint8_t keycode)
{
	const struct agent_keys *k = arg;

	return k->map->map->modmap[keycode];
}

static int layout_level(void *arg, uint8_t keycode, uint32_t keysym)
{
	const struct agent_keys *k = arg;
	int best = -1;

	if (keycode < k->map->min_key_code || keycode > k->map->max_key_code)
		return -1;
	for (int group = 0; group < XkbKeyNumGroups(k->map, keycode); group++)
		for (int level = 0; level < XkbKeyGroupWidth(k->map, keycode, group); level++)
			if (XkbKeySymEntry(k->map, keycode, level, group) == keysym &&
			    (best < 0 || level < best))
				best = level;
	return best;
}

static bool map_read(struct agent_keys *k)
{
	XkbDescPtr map = XkbGetMap(
		k->display, XkbKeyTypesMask | XkbKeySymsMask | XkbModifierMapMask, XkbUseCoreKbd);

	if (!map)
		return false;
	if (k->map)
		XkbFreeKeyboard(k->map, 0, True);
	k->map = map;
	return true;
}

static void grab_key(struct agent_keys *k, uint8_t keycode, unsigned int modifiers)
{
	/* All subsets of the ignored ones, from all of them down to none. */
	for (unsigned int locks = IGNORED;; locks = (locks - 1) & IGNORED) {
		XGrabKey(k->display, keycode, modifiers | locks, k->root, False, GrabModeAsync,
			 GrabModeAsync);
		if (!locks)
			break;
	}
}

static void grab_chord(struct agent_keys *k, int i)
{
	unsigned int modifiers =
		k->chords->chord[i].hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT].modifiers;

	grab_refused = false;
	for (unsigned int n = 0; n < k->count[i]; n++) {
		grab_key(k, k->keys[i][n].keycode, modifiers);
		if (k->keys[i][n].any_shift)
			grab_key(k, k->keys[i][n].keycode, modifiers | ShiftMask);
	}
	XSync(k->display, False);
	k->taken[i] = grab_refused;
}

static void grab_all(struct agent_keys *k)
{
	XErrorHandler before = XSetErrorHandler(on_grab_error);

	XUngrabKey(k->display, AnyKey, AnyModifier, k->root);
	for (int i = 0; i < AGENT_CHORDS; i++)
		grab_chord(k, i);
	XSetErrorHandler(before);
}

/* Returns whether other keys than before make the chords. */
static bool keys_find(struct agent_keys *k)
{
	bool changed = false;

	for (int i = 0; i < AGENT_CHORDS; i++) {
		struct agent_chord_key keys[KEYS_MAX] = { 0 };
		unsigned int n = agent_chord_keys(&k->chords->chord[i], &k->layout, keys, KEYS_MAX);

		changed |= n != k->count[i] || memcmp(keys, k->keys[i], sizeof(keys));
		k->count[i] = n;
		memcpy(k->keys[i], keys, sizeof(keys));
	}
	return changed;
}

/*
 * Version 2.1 or later of the protocol brings raw events whoever holds a grab; with 2.0 a menu
 * would hide them.
 */
static void raw_select(struct agent_keys *k)
{
	unsigned char bits[XIMaskLen(XI_LASTEVENT)] = { 0 };
	XIEventMask mask = { XIAllMasterDevices, sizeof(bits), bits };
	int major = 2, minor = 2, event, error;

	if (!XQueryExtension(k->display, "XInputExtension", &k->xi_opcode, &event, &error) ||
	    XIQueryVersion(k->display, &major, &minor) || major < 2 || (major == 2 && minor < 1)) {
		k->xi_opcode = 0;
		return;
	}
	XISetMask(bits, XI_RawKeyPress);
	XISetMask(bits, XI_RawKeyRelease);
	XISelectEvents(k->display, k->root, &mask, 1);
}

struct agent_keys *agent_keys_new(Display *display, struct agent_chords *chords,
				  agent_keys_heard heard, void *arg, char *why, size_t why_len)
{
	struct agent_keys *k = calloc(1, sizeof(*k));
	int error, opcode, major = XkbMajorVersion, minor = XkbMinorVersion;

	snprintf(why, why_len, "no memory");
	if (!k)
		return NULL;
	*k = (struct agent_keys){ .display = display,
				  .root = DefaultRootWindow(display),
				  .chords = chords,
				  .heard = heard,
				  .arg = arg };
	k->layout = (struct tipme_hotkey_layout){ layout_modifiers, layout_level, k };
	snprintf(why, why_len,
		 "the X server has no XKEYBOARD: hot-keys cannot be found on its keyboard");
	if (!XkbQueryExtension(display, &opcode, &k->xkb_event, &error, &major, &minor) ||
	    !map_read(k)) {
		agent_keys_free(k);
		return NULL;
	}
	XkbSelectEvents(display, XkbUseCoreKbd, XkbNewKeyboardNotifyMask | XkbMapNotifyMask,
			XkbNewKeyboardNotifyMask | XkbMapNotifyMask);
	raw_select(k);
	keys_find(k);
	grab_all(k);
	return k;
}

void agent_keys_free(struct agent_keys *k)
{
	if (k && k->map)
		XkbFreeKeyboard(k->map, 0, True);
	free(k);
}

static void fire(struct agent_keys *k, struct agent_chord *chord, enum agent_keys_way way)
{
	int i = (int)(chord - k->chords->chord);
	uint64_t now_ns = tipme_clock_ns();

	if (now_ns - k->last_ns[i] < SAME_PRESS_NS)
		return;
	k->last_ns[i] = now_ns;
	k->heard(k->arg, chord, way);
}

static void on_raw(struct agent_keys *k, XGenericEventCookie *cookie)
{
	if (!XGetEventData(k->display, cookie))
		return;
	const XIRawEvent *raw = cookie->data;
	bool pressed = cookie->evtype == XI_RawKeyPress;

	if (raw->detail >= 8 && raw->detail < 256) {
		struct agent_chord *chord =
			agent_chords_feed(k->chords, &k->layout,
					  (unsigned int)raw->sourceid % TIPME_HOTKEY_DEVICES,
					  (uint8_t)raw->detail, pressed);

		if (chord)
			fire(k, chord, AGENT_BY_RAW_EVENT);
	}
	XFreeEventData(k->display, cookie);
}

/* By the server's own state: we may have missed how the modifiers went down. */
static void on_grabbed_key(struct agent_keys *k, const XKeyEvent *key)
{
	struct agent_chord *best = NULL;
	int best_level = 0;

	for (int i = 0; i < AGENT_CHORDS; i++) {
		struct agent_chord *c = &k->chords->chord[i];
		int level =
			c->hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT].keysym
				? layout_level(k, (uint8_t)key->keycode,
					       c->hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT].keysym)
				: -1;
		unsigned int modifiers =
			key->state & (ShiftMask | ControlMask | Mod1Mask | Mod4Mask);

		if (level > 0 &&
		    !(c->hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT].modifiers & TIPME_MOD_SHIFT))
			modifiers &= ~(unsigned int)ShiftMask;
		if (level < 0 ||
		    modifiers != c->hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT].modifiers ||
		    (best && level >= best_level))
			continue;
		best = c;
		best_level = level;
	}
	if (best)
		fire(k, best, AGENT_BY_GRAB);
}

/*
 * Each change from one keyboard to another is told as a new map, mostly the same one. What is held
 * stays held: the change may come in the middle of the chord.
 */
static void on_map(struct agent_keys *k)
{
	if (map_read(k) && keys_find(k))
		grab_all(k);
}

bool agent_keys_event(struct agent_keys *k, XEvent *event)
{
	if (event->type == GenericEvent && event->xcookie.extension == k->xi_opcode &&
	    k->xi_opcode) {
		on_raw(k, &event->xcookie);
		return true;
	}
	if (event->type == KeyPress && event->xkey.window == k->root) {
		on_grabbed_key(k, &event->xkey);
		return true;
	}
	if (event->type != k->xkb_event && event->type != MappingNotify)
		return false;
	/*
	 * A change of the keyboard comes as several events: the last one that is there stands for
	 * all.
	 */
	while (XCheckTypedEvent(k->display, k->xkb_event, event))
		;
	if (event->type == MappingNotify)
		XRefreshKeyboardMapping(&event->xmapping);
	on_map(k);
	return true;
}

static int index_of(const struct agent_keys *k, enum tipme_chord_action action)
{
	for (int i = 0; i < AGENT_CHORDS - 1; i++)
		if (k->chords->chord[i].action == action)
			return i;
	return AGENT_CHORDS - 1;
}

bool agent_keys_taken(const struct agent_keys *k, enum tipme_chord_action action)
{
	return k->taken[index_of(k, action)];
}

unsigned int agent_keys_count(const struct agent_keys *k, enum tipme_chord_action action)
{
	return k->count[index_of(k, action)];
}

bool agent_keys_raw(const struct agent_keys *k)
{
	return k->xi_opcode;
}
