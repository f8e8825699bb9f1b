// SPDX-License-Identifier: GPL-2.0-only
/* A key file: it needs no schema that somebody has to install, and people can read it. */
#include "config.h"

#include "state.h"

#include <glib/gstdio.h>

#define WINDOW "window"
#define TIMELINE "timeline"
#define PIXELS_MOST 16384
#define PIXELS_LEAST 100

static char *file_name(void)
{
	return g_build_filename(g_get_user_config_dir(), "tipme", "gui.ini", NULL);
}

static int pixels(GKeyFile *file, const char *group, const char *key, int otherwise)
{
	int n = g_key_file_get_integer(file, group, key, NULL);

	return n >= PIXELS_LEAST && n <= PIXELS_MOST ? n : otherwise;
}

static char *word(GKeyFile *file, const char *group, const char *key)
{
	char *text = g_key_file_get_string(file, group, key, NULL);

	if (text && *text)
		return text;
	g_free(text);
	return NULL;
}

TipmeState *tipme_state_load(void)
{
	TipmeState *state = g_new0(TipmeState, 1);
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autofree char *name = file_name();

	g_key_file_load_from_file(file, name, G_KEY_FILE_NONE, NULL);
	state->width = pixels(file, WINDOW, "width", 0);
	state->height = pixels(file, WINDOW, "height", 0);
	state->maximized = g_key_file_get_boolean(file, WINDOW, "maximized", NULL);
	state->page = word(file, WINDOW, "page");
	state->newest = word(file, WINDOW, "newest");
	state->episode = word(file, TIMELINE, "episode");
	state->from_ns = g_key_file_get_int64(file, TIMELINE, "from", NULL);
	state->to_ns = g_key_file_get_int64(file, TIMELINE, "to", NULL);
	state->table = pixels(file, TIMELINE, "table", TIPME_STATE_TABLE);
	state->pinned = g_key_file_get_string_list(file, TIMELINE, "pinned", NULL, NULL);
	state->grouped = g_key_file_get_boolean(file, TIMELINE, "grouped", NULL);
	if (!state->pinned)
		state->pinned = g_new0(char *, 1);
	return state;
}

static void put_word(GKeyFile *file, const char *group, const char *key, const char *text)
{
	if (text)
		g_key_file_set_string(file, group, key, text);
}

gboolean tipme_state_save(const TipmeState *state)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autofree char *name = file_name();
	g_autofree char *folder = g_path_get_dirname(name);

	g_key_file_set_integer(file, WINDOW, "width", state->width);
	g_key_file_set_integer(file, WINDOW, "height", state->height);
	g_key_file_set_boolean(file, WINDOW, "maximized", state->maximized);
	put_word(file, WINDOW, "page", state->page);
	put_word(file, WINDOW, "newest", state->newest);
	put_word(file, TIMELINE, "episode", state->episode);
	g_key_file_set_int64(file, TIMELINE, "from", state->from_ns);
	g_key_file_set_int64(file, TIMELINE, "to", state->to_ns);
	g_key_file_set_integer(file, TIMELINE, "table", state->table);
	g_key_file_set_string_list(file, TIMELINE, "pinned", (const char *const *)state->pinned,
				   g_strv_length(state->pinned));
	g_key_file_set_boolean(file, TIMELINE, "grouped", state->grouped);
	g_mkdir_with_parents(folder, 0700);
	return g_key_file_save_to_file(file, name, NULL);
}

void tipme_state_free(TipmeState *state)
{
	if (!state)
		return;
	g_free(state->page);
	g_free(state->newest);
	g_free(state->episode);
	g_strfreev(state->pinned);
	g_free(state);
}
