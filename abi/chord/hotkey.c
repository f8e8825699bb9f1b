// SPDX-License-Identifier: GPL-2.0-only
/* Hot-key logic without a server: parser and key follower. */
#include "config.h"

#include <X11/keysym.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hotkey.h"
#include "tipme_records.h"

struct name {
	const char *text;
	uint32_t value;
};

static const struct name modifier_names[] = {
	{ "ctrl", TIPME_MOD_CTRL },
	{ "control", TIPME_MOD_CTRL },
	{ "ctl", TIPME_MOD_CTRL },
	{ "primary", TIPME_MOD_CTRL },
	{ "strg", TIPME_MOD_CTRL },
	{ "alt", TIPME_MOD_ALT },
	{ "meta", TIPME_MOD_ALT },
	{ "mod1", TIPME_MOD_ALT },
	{ "shift", TIPME_MOD_SHIFT },
	{ "super", TIPME_MOD_SUPER },
	{ "win", TIPME_MOD_SUPER },
	{ "mod4", TIPME_MOD_SUPER },
	{ NULL, 0 },
};

static const struct name key_names[] = {
	{ "minus", XK_minus },
	{ "plus", XK_plus },
	{ "equal", XK_equal },
	{ "equals", XK_equal },
	{ "period", XK_period },
	{ "comma", XK_comma },
	{ "slash", XK_slash },
	{ "backslash", XK_backslash },
	{ "semicolon", XK_semicolon },
	{ "apostrophe", XK_apostrophe },
	{ "grave", XK_grave },
	{ "backtick", XK_grave },
	{ "bracketleft", XK_bracketleft },
	{ "bracketright", XK_bracketright },
	{ "asterisk", XK_asterisk },
	{ "underscore", XK_underscore },
	{ "exclam", XK_exclam },
	{ "numbersign", XK_numbersign },
	{ "space", XK_space },
	{ "return", XK_Return },
	{ "enter", XK_Return },
	{ "tab", XK_Tab },
	{ "escape", XK_Escape },
	{ "esc", XK_Escape },
	{ "backspace", XK_BackSpace },
	{ "delete", XK_Delete },
	{ "del", XK_Delete },
	{ "insert", XK_Insert },
	{ "ins", XK_Insert },
	{ "home", XK_Home },
	{ "end", XK_End },
	{ "page_up", XK_Page_Up },
	{ "pageup", XK_Page_Up },
	{ "prior", XK_Page_Up },
	{ "page_down", XK_Page_Down },
	{ "pagedown", XK_Page_Down },
	{ "next", XK_Page_Down },
	{ "up", XK_Up },
	{ "down", XK_Down },
	{ "left", XK_Left },
	{ "right", XK_Right },
	{ "pause", XK_Pause },
	{ "print", XK_Print },
	{ "scroll_lock", XK_Scroll_Lock },
	{ "scrolllock", XK_Scroll_Lock },
	{ "menu", XK_Menu },
	{ "kp_subtract", XK_KP_Subtract },
	{ "kp_add", XK_KP_Add },
	{ NULL, 0 },
};

static uint32_t name_value(const struct name *names, const char *text, size_t len)
{
	for (; names->text; names++)
		if (strlen(names->text) == len && !strncasecmp(names->text, text, len))
			return names->value;
	return 0;
}

/* "F12", a Latin-1 character (its symbol is its number), a hexadecimal symbol, or a name. */
static uint32_t key_value(const char *text, size_t len)
{
	char word[32], *end;
	unsigned long number;

	if (len == 1 && isgraph((unsigned char)*text))
		return (uint32_t)tolower((unsigned char)*text);
	if (!len || len >= sizeof(word))
		return 0;
	memcpy(word, text, len);
	word[len] = '\0';
	if (toupper((unsigned char)word[0]) == 'F' && isdigit((unsigned char)word[1])) {
		number = strtoul(word + 1, &end, 10);
		return !*end && number >= 1 && number <= 35 ? XK_F1 + (uint32_t)number - 1 : 0;
	}
	if (word[0] == '0' && tolower((unsigned char)word[1]) == 'x') {
		number = strtoul(word, &end, 16);
		return !*end && number <= 0x1fffffff ? (uint32_t)number : 0;
	}
	return name_value(key_names, word, len);
}

/*
 * Takes one "Ctrl+", "ctrl-", "<Control>" off the front; returns its modifier, 0 if there is none.
 */
static uint8_t take_modifier(const char **text)
{
	const char *s = *text;
	bool bracket = *s == '<';
	size_t len = 0;
	uint8_t modifier;

	s += bracket;
	while (isalnum((unsigned char)s[len]))
		len++;
	modifier = (uint8_t)name_value(modifier_names, s, len);
	if (!modifier)
		return 0;
	s += len;
	while (*s == ' ')
		s++;
	if (bracket ? *s != '>' : *s != '+' && *s != '-')
		return 0;
	for (s++; *s == ' '; s++)
		;
	*text = s;
	return modifier;
}

static int refuse(char *why, size_t why_len, const char *sentence, const char *text)
{
	snprintf(why, why_len, "'%.60s': %s", text, sentence);
	return -EINVAL;
}

int tipme_hotkey_parse_action(struct tipme_hotkey *hk, unsigned action, const char *text, char *why,
			      size_t why_len)
{
	struct tipme_chord *chord = &hk->chord[action];
	const char *s = text + strspn(text, " ");
	uint8_t modifiers = 0, modifier;
	uint32_t keysym;
	size_t len;

	if (!strcasecmp(s, "none")) {
		chord->keysym = 0;
		return 0;
	}
	while ((modifier = take_modifier(&s)))
		modifiers |= modifier;
	for (len = strlen(s); len && s[len - 1] == ' '; len--)
		;
	keysym = key_value(s, len);
	if (!keysym)
		return refuse(why, why_len, "no such key: write it like " TIPME_HOTKEY_DEFAULT,
			      text);
	if (keysym < 0xff00 && !(modifiers & ~TIPME_MOD_SHIFT))
		return refuse(why, why_len, "this key types a character: add Ctrl, Alt or Super",
			      text);
	chord->keysym = keysym;
	chord->modifiers = modifiers;
	hk->bare |= !modifiers;
	return 0;
}

int tipme_hotkey_parse(struct tipme_hotkey *hk, const char *text, char *why, size_t why_len)
{
	return tipme_hotkey_parse_action(hk, TIPME_CHORD_ACTION_SNAPSHOT, text, why, why_len);
}

static bool bit(const uint8_t *bits, uint8_t n)
{
	return bits[n / 8] >> (n % 8) & 1;
}

static void bit_set(uint8_t *bits, uint8_t n, bool on)
{
	uint8_t mask = (uint8_t)(1 << (n % 8));

	bits[n / 8] = on ? bits[n / 8] | mask : bits[n / 8] & (uint8_t)~mask;
}

static void swallowed_set(struct tipme_hotkey *hk, uint8_t keycode, bool is)
{
	if (bit(hk->swallowed, keycode) == is)
		return;
	bit_set(hk->swallowed, keycode, is);
	hk->swallowed_count = (uint16_t)(hk->swallowed_count + (is ? 1 : -1));
}

static uint8_t held_modifiers(const struct tipme_hotkey *hk,
			      const struct tipme_hotkey_layout *layout)
{
	uint8_t modifiers = 0;

	for (unsigned keycode = 8; keycode < 256; keycode++)
		if (hk->held[keycode])
			modifiers |= layout->modifiers(layout->arg, (uint8_t)keycode);
	return modifiers & (TIPME_MOD_SHIFT | TIPME_MOD_CTRL | TIPME_MOD_ALT | TIPME_MOD_SUPER);
}

/*
 * Where the layout has the symbol on a shifted level only, Shift is how one types it and so is not
 * part of the chord. Which modifiers are held is only looked for when the key bears the symbol:
 * that goes through all keys. And neither where no key is held at all and one would have to be.
 */
static bool chord_matches(const struct tipme_hotkey *hk, const struct tipme_chord *chord,
			  const struct tipme_hotkey_layout *layout, uint8_t keycode)
{
	int level;
	uint8_t held;

	if (!chord->keysym || (chord->modifiers && !hk->held_count))
		return false;
	level = layout->level(layout->arg, keycode, chord->keysym);
	if (level < 0)
		return false;
	held = held_modifiers(hk, layout);
	if (level > 0 && !(chord->modifiers & TIPME_MOD_SHIFT))
		held &= (uint8_t)~TIPME_MOD_SHIFT;
	return held == chord->modifiers;
}

/* What the key, pressed now, asks for; 0: nothing. */
static uint8_t action_of(const struct tipme_hotkey *hk, const struct tipme_hotkey_layout *layout,
			 uint8_t keycode)
{
	for (uint8_t action = 1; action < TIPME_HOTKEY_ACTIONS; action++)
		if (chord_matches(hk, &hk->chord[action], layout, keycode))
			return action;
	return 0;
}

enum tipme_hotkey_answer tipme_hotkey_peek(const struct tipme_hotkey *hk,
					   const struct tipme_hotkey_layout *layout,
					   unsigned device, uint8_t keycode, bool pressed)
{
	if (bit(hk->swallowed, keycode))
		return TIPME_HOTKEY_SWALLOW;
	/* A key that is down already repeats: the modifiers came after it, and that is no chord. */
	if (!pressed || tipme_hotkey_is_down(hk, device, keycode))
		return TIPME_HOTKEY_PASS;
	return action_of(hk, layout, keycode) ? TIPME_HOTKEY_FIRE : TIPME_HOTKEY_PASS;
}

enum tipme_hotkey_answer tipme_hotkey_feed(struct tipme_hotkey *hk,
					   const struct tipme_hotkey_layout *layout,
					   unsigned device, uint8_t keycode, bool pressed)
{
	enum tipme_hotkey_answer answer = tipme_hotkey_peek(hk, layout, device, keycode, pressed);

	if (device >= TIPME_HOTKEY_DEVICES)
		return TIPME_HOTKEY_PASS;
	if (answer == TIPME_HOTKEY_FIRE)
		hk->action = action_of(hk, layout, keycode);
	tipme_hotkey_follow(hk, device, keycode, pressed);
	if (answer == TIPME_HOTKEY_FIRE || !pressed)
		swallowed_set(hk, keycode, answer == TIPME_HOTKEY_FIRE);
	return answer;
}
