// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hot-key on real layouts (their rows as xkeyboard-config has them), as people write it and as
 * they press it.
 */
#include "config.h"

#define XK_PUBLISHING
#include <X11/keysym.h>
#include <string.h>

#include "hotkey.h"
#include "tap.h"
#include "tipme_records.h"

enum {
	SHIFT_L = 50,
	CTRL_L = 37,
	CTRL_R = 105,
	ALT_L = 64,
	ALT_R = 108,
	SUPER_L = 133,
	CAPS = 66,
	NUM = 77,
	KP_MINUS = 82
};

struct key {
	uint8_t keycode;
	uint32_t syms[2][4]; /* group, level */
};

struct layout {
	const char *name;
	uint8_t minus; /* keycode that types it */
	bool altgr; /* Alt_R is the third-level shift */
	struct key keys[6];
};

static const struct layout layouts[] = {
	{ "us",
	  20,
	  false,
	  { { 20, { { XK_minus, XK_underscore } } }, { 61, { { XK_slash, XK_question } } } } },
	{ "de",
	  61,
	  true,
	  { { 20, { { XK_ssharp, XK_question, XK_backslash, XK_questiondown } } },
	    { 61, { { XK_minus, XK_underscore, XK_endash, XK_emdash } } } } },
	{ "fr",
	  15,
	  true,
	  { { 15, { { XK_minus, XK_6, XK_bar } } }, { 20, { { XK_parenright, XK_degree } } } } },
	{ "dvorak",
	  48,
	  false,
	  { { 48, { { XK_minus, XK_underscore } } },
	    { 20, { { XK_bracketleft, XK_braceleft } } } } },
	{ "us,ru",
	  20,
	  false,
	  { { 20, { { XK_minus, XK_underscore }, { XK_minus, XK_underscore } } },
	    { 61, { { XK_slash, XK_question }, { XK_period, XK_comma } } } } },
	/* on the second layout only */
	{ "ru(made up),dvorak",
	  48,
	  false,
	  { { 48, { { XK_Cyrillic_e, XK_Cyrillic_E }, { XK_minus, XK_underscore } } } } },
	/* minus is typed with Shift */
	{ "shifted", 20, false, { { 20, { { XK_equal, XK_minus } } } } },
};

static uint8_t modifiers(void *arg, uint8_t keycode)
{
	const struct layout *l = arg;

	switch (keycode) {
	case SHIFT_L: return TIPME_MOD_SHIFT;
	case CTRL_L:
	case CTRL_R: return TIPME_MOD_CTRL;
	case ALT_L: return TIPME_MOD_ALT;
	case ALT_R: return l->altgr ? 0x80 : TIPME_MOD_ALT;
	case SUPER_L: return TIPME_MOD_SUPER;
	case CAPS: return 0x02;
	case NUM: return 0x10;
	}
	return 0;
}

static int level(void *arg, uint8_t keycode, uint32_t keysym)
{
	const struct layout *l = arg;
	int found = -1;

	if (keycode == KP_MINUS)
		return keysym == XK_KP_Subtract ? 0 : -1;
	for (size_t k = 0; k < 6; k++)
		for (int g = 0; g < 2; g++)
			for (int i = 0; i < 4; i++)
				if (l->keys[k].keycode == keycode &&
				    l->keys[k].syms[g][i] == keysym && (found < 0 || i < found))
					found = i;
	return found;
}

static struct tipme_hotkey hk;
static struct tipme_hotkey_layout api = { modifiers, level, NULL };

static void begin(const struct layout *l, const char *chord)
{
	char why[160];

	memset(&hk, 0, sizeof(hk));
	api.arg = (void *)l;
	if (tipme_hotkey_parse(&hk, chord, why, sizeof(why)))
		ok(false, "%s: %s", chord, why);
}

static enum tipme_hotkey_answer press(uint8_t keycode)
{
	return tipme_hotkey_feed(&hk, &api, 7, keycode, true);
}
static enum tipme_hotkey_answer release(uint8_t keycode)
{
	return tipme_hotkey_feed(&hk, &api, 7, keycode, false);
}

/* Presses the modifiers in turn, then the key; the answer to the key. */
static enum tipme_hotkey_answer chord(const uint8_t *held, uint8_t key)
{
	enum tipme_hotkey_answer answer;
	int n;

	for (n = 0; held[n]; n++)
		press(held[n]);
	answer = press(key);
	release(key);
	while (n--)
		release(held[n]);
	return answer;
}

static void test_layouts(void)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		const struct layout *l = &layouts[i];
		bool shifted = !strcmp(l->name, "shifted");

		begin(l, "Ctrl+Alt+minus");
		ok(chord((uint8_t[]){ CTRL_L, ALT_L, 0 }, l->minus) == TIPME_HOTKEY_FIRE,
		   "%s: Ctrl+Alt and key %d", l->name, l->minus);
		ok(chord((uint8_t[]){ ALT_L, CTRL_R, 0 }, l->minus) == TIPME_HOTKEY_FIRE,
		   "%s: the other way round", l->name);
		ok(chord((uint8_t[]){ CTRL_L, ALT_R, 0 }, l->minus) ==
			   (l->altgr ? TIPME_HOTKEY_PASS : TIPME_HOTKEY_FIRE),
		   "%s: right Alt is %s", l->name, l->altgr ? "AltGr, and not meant" : "Alt");
		ok(chord((uint8_t[]){ CAPS, NUM, CTRL_L, ALT_L, 0 }, l->minus) == TIPME_HOTKEY_FIRE,
		   "%s: with the locks", l->name);
		ok(chord((uint8_t[]){ CTRL_L, ALT_L, SHIFT_L, 0 }, l->minus) ==
			   (shifted ? TIPME_HOTKEY_FIRE : TIPME_HOTKEY_PASS),
		   "%s: Shift is %s", l->name, shifted ? "how one types it" : "another chord");
		ok(chord((uint8_t[]){ CTRL_L, ALT_L, SUPER_L, 0 }, l->minus) == TIPME_HOTKEY_PASS,
		   "%s: Super is another chord", l->name);
		ok(chord((uint8_t[]){ CTRL_L, 0 }, l->minus) == TIPME_HOTKEY_PASS, "%s: Ctrl alone",
		   l->name);
		ok(chord((uint8_t[]){ CTRL_L, ALT_L, 0 }, KP_MINUS) == TIPME_HOTKEY_PASS,
		   "%s: not the keypad's", l->name);
		ok(chord((uint8_t[]){ CTRL_L, ALT_L, 0 }, 39) == TIPME_HOTKEY_PASS,
		   "%s: not another key", l->name);
	}
}

static void test_swallowing(void)
{
	begin(&layouts[0], "Ctrl+Alt+minus");
	ok(press(CTRL_L) == TIPME_HOTKEY_PASS && press(ALT_L) == TIPME_HOTKEY_PASS,
	   "the modifiers pass");
	ok(tipme_hotkey_peek(&hk, &api, 7, 20, true) == TIPME_HOTKEY_FIRE,
	   "a raw press is foreseen");
	ok(press(20) == TIPME_HOTKEY_FIRE, "the press fires");
	ok(press(20) == TIPME_HOTKEY_SWALLOW && press(20) == TIPME_HOTKEY_SWALLOW,
	   "repeats are swallowed and do not fire again");
	ok(release(CTRL_L) == TIPME_HOTKEY_PASS && release(ALT_L) == TIPME_HOTKEY_PASS,
	   "the modifiers go first");
	ok(press(20) == TIPME_HOTKEY_SWALLOW, "a repeat is still swallowed");
	ok(tipme_hotkey_peek(&hk, &api, 7, 20, false) == TIPME_HOTKEY_SWALLOW,
	   "a raw release is foreseen");
	ok(release(20) == TIPME_HOTKEY_SWALLOW, "so is the release");
	ok(press(20) == TIPME_HOTKEY_PASS && release(20) == TIPME_HOTKEY_PASS,
	   "then it is an ordinary key again");
	ok(press(20) == TIPME_HOTKEY_PASS && press(CTRL_L) == TIPME_HOTKEY_PASS &&
		   press(ALT_L) == TIPME_HOTKEY_PASS && press(20) == TIPME_HOTKEY_PASS,
	   "modifiers that come while it repeats make no chord");
}

static void test_devices(void)
{
	begin(&layouts[0], "Ctrl+Alt+minus");
	tipme_hotkey_feed(&hk, &api, 8, CTRL_L, true);
	tipme_hotkey_feed(&hk, &api, 9, CTRL_L, true);
	tipme_hotkey_feed(&hk, &api, 9, CTRL_L, false);
	tipme_hotkey_feed(&hk, &api, 8, ALT_L, true);
	ok(press(20) == TIPME_HOTKEY_FIRE, "modifiers of one keyboard, the key of another");
	ok(tipme_hotkey_is_down(&hk, 7, 20) && !tipme_hotkey_is_down(&hk, 8, 20),
	   "each device has its own keys");
	ok(tipme_hotkey_feed(&hk, &api, 100000, 20, true) != TIPME_HOTKEY_FIRE,
	   "a device number out of range does nothing");
}

static void test_parser(void)
{
	static const struct {
		const char *text;
		uint32_t keysym; /* 0: refused */
		uint8_t modifiers;
	} cases[] = {
		{ "Ctrl+Alt+minus", XK_minus, TIPME_MOD_CTRL | TIPME_MOD_ALT },
		{ "ctrl+alt+-", XK_minus, TIPME_MOD_CTRL | TIPME_MOD_ALT },
		{ "  Control - Alt - Minus ", XK_minus, TIPME_MOD_CTRL | TIPME_MOD_ALT },
		{ "Ctrl-Alt--", XK_minus, TIPME_MOD_CTRL | TIPME_MOD_ALT },
		{ "<Control><Alt>minus", XK_minus, TIPME_MOD_CTRL | TIPME_MOD_ALT },
		{ "<Ctrl> <Shift>F12", XK_F12, TIPME_MOD_CTRL | TIPME_MOD_SHIFT },
		{ "Strg+Alt++", XK_plus, TIPME_MOD_CTRL | TIPME_MOD_ALT },
		{ "Super+A", XK_a, TIPME_MOD_SUPER },
		{ "Alt+Page_Up", XK_Page_Up, TIPME_MOD_ALT },
		{ "Ctrl+0x20ac", 0x20ac, TIPME_MOD_CTRL },
		{ "Ctrl+KP_Subtract", XK_KP_Subtract, TIPME_MOD_CTRL },
		{ "Pause", XK_Pause, 0 },
		{ "Shift+Print", XK_Print, TIPME_MOD_SHIFT },
		{ "F35", XK_F35, 0 },
		{ "F36", 0, 0 },
		{ "minus", 0, 0 },
		{ "Shift+minus", 0, 0 },
		{ "", 0, 0 },
		{ "Ctrl+", 0, 0 },
		{ "Ctrl+Alt", 0, 0 },
		{ "Hyper+minus", 0, 0 },
		{ "Ctrl+Alt+minus+x", 0, 0 },
		{ "<Ctrl", 0, 0 },
		{ "Ctrl+0xzz", 0, 0 },
		{ "Ctrl+aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  0, 0 },
	};
	char why[160];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tipme_hotkey h = { .chord[TIPME_CHORD_ACTION_SNAPSHOT].keysym = 1 };
		const struct tipme_chord *c = &h.chord[TIPME_CHORD_ACTION_SNAPSHOT];
		int err = tipme_hotkey_parse(&h, cases[i].text, why, sizeof(why));

		if (cases[i].keysym)
			ok(!err && c->keysym == cases[i].keysym &&
				   c->modifiers == cases[i].modifiers,
			   "'%s' is read", cases[i].text);
		else
			ok(err < 0 && c->keysym == 1 && *why, "'%.40s' is refused: %s",
			   cases[i].text, why);
	}
	begin(&layouts[0], "none");
	ok(chord((uint8_t[]){ CTRL_L, ALT_L, 0 }, 20) == TIPME_HOTKEY_PASS, "'none' never fires");
}

int main(void)
{
	test_parser();
	test_layouts();
	test_swallowing();
	test_devices();
	return tap_done();
}
