// SPDX-License-Identifier: GPL-2.0-only
/* The machine's keyboard layout, as far as the hot-key needs it. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evdev_layout.h"
#include "hotkey.h"

#ifdef HAVE_XKBCOMMON
#include <xkbcommon/xkbcommon.h>

#define FILE_DEFAULT "/etc/default/keyboard"

struct setting {
	const char *name;
	char value[128];
};

enum { MODEL, LAYOUT, VARIANT, OPTIONS, SETTINGS };

/* NAME="value", as a shell would read it; nothing else of a shell is understood. */
static void setting_take(struct setting *s, const char *line)
{
	size_t len = strlen(s->name);

	if (strncmp(line, s->name, len) || line[len] != '=')
		return;
	const char *from = line + len + 1;

	from += *from == '"' || *from == '\'';
	snprintf(s->value, sizeof(s->value), "%.*s", (int)strcspn(from, "\"'\n"), from);
}

static void settings_read(struct setting *settings)
{
	const char *name = getenv("TIPME_KEYBOARD_FILE");
	FILE *file = fopen(name ? name : FILE_DEFAULT, "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		for (int i = 0; i < SETTINGS; i++)
			setting_take(&settings[i], line);
	if (file)
		fclose(file);
}

static struct xkb_keymap *keymap_new(struct xkb_context *context)
{
	struct setting s[SETTINGS] = {
		{ "XKBMODEL", "" }, { "XKBLAYOUT", "" }, { "XKBVARIANT", "" }, { "XKBOPTIONS", "" }
	};

	settings_read(s);
	struct xkb_rule_names names = { .rules = "evdev",
					.model = s[MODEL].value,
					.layout = s[LAYOUT].value,
					.variant = s[VARIANT].value,
					.options = s[OPTIONS].value };
	struct xkb_keymap *keymap =
		xkb_keymap_new_from_names(context, &names, XKB_KEYMAP_COMPILE_NO_FLAGS);

	/* A layout that is not installed: the standard one has the chord, too. */
	return keymap ? keymap
		      : xkb_keymap_new_from_names(context, NULL, XKB_KEYMAP_COMPILE_NO_FLAGS);
}

static int level_find(struct xkb_keymap *keymap, xkb_keycode_t key, uint32_t keysym)
{
	int best = -1;

	for (xkb_layout_index_t group = 0; group < xkb_keymap_num_layouts_for_key(keymap, key);
	     group++)
		for (xkb_level_index_t level = 0;
		     level < xkb_keymap_num_levels_for_key(keymap, key, group); level++) {
			const xkb_keysym_t *syms;
			int n = xkb_keymap_key_get_syms_by_level(keymap, key, group, level, &syms);

			if (n == 1 && syms[0] == keysym && (best < 0 || (int)level < best))
				best = (int)level;
		}
	return best;
}

/* Pressed alone on a fresh keyboard, a modifier is what it sets. */
static uint8_t modifiers_find(struct xkb_keymap *keymap, xkb_keycode_t key)
{
	static const struct {
		const char *name;
		uint8_t bit;
	} known[] = {
		{ XKB_MOD_NAME_SHIFT, TIPME_MOD_SHIFT },
		{ XKB_MOD_NAME_CTRL, TIPME_MOD_CTRL },
		{ XKB_MOD_NAME_ALT, TIPME_MOD_ALT },
		{ XKB_MOD_NAME_LOGO, TIPME_MOD_SUPER },
	};
	struct xkb_state *state = xkb_state_new(keymap);
	uint8_t bits = 0;

	if (!state)
		return 0;
	xkb_state_update_key(state, key, XKB_KEY_DOWN);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (xkb_state_mod_name_is_active(state, known[i].name, XKB_STATE_MODS_DEPRESSED) >
		    0)
			bits |= known[i].bit;
	xkb_state_unref(state);
	return bits;
}

int tipmed_evdev_layout_read(struct tipmed_evdev_layout *layout, uint32_t keysym, char *why,
			     size_t why_len)
{
	struct xkb_context *context = xkb_context_new(XKB_CONTEXT_NO_FLAGS);
	struct xkb_keymap *keymap = context ? keymap_new(context) : NULL;

	*layout = (struct tipmed_evdev_layout){ .keysym = keysym };
	memset(layout->level, -1, sizeof(layout->level));
	for (unsigned key = 8; keymap && key < 256; key++) {
		layout->level[key] = (int8_t)level_find(keymap, key, keysym);
		layout->modifiers[key] = modifiers_find(keymap, key);
	}
	xkb_keymap_unref(keymap);
	xkb_context_unref(context);
	snprintf(why, why_len, "no keyboard layout can be read: install xkb-data");
	return keymap ? 0 : -ENOENT;
}
#else
int tipmed_evdev_layout_read(struct tipmed_evdev_layout *layout, uint32_t keysym, char *why,
			     size_t why_len)
{
	*layout = (struct tipmed_evdev_layout){ .keysym = keysym };
	snprintf(why, why_len, "built without libxkbcommon");
	return -ENOTSUP;
}
#endif
