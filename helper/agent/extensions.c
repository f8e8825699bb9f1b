// SPDX-License-Identifier: GPL-2.0-only
/* What the person's session is, by the settings of its desktop: none of its programs is asked. */
#include "config.h"

#include <gio/gio.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <string.h>

#include "extensions.h"

#define OWN_MOST 9999

struct session {
	GString *text;
	unsigned int own; /* that are in the person's folder, and that nobody has published */
};

/* Shells whose extensions run in the thread that paints. */
static const struct shell {
	const char *schema, *folder, *modes;
} shells[] = {
	{ "org.gnome.shell", "gnome-shell/extensions", "gnome-shell/modes" },
	{ "org.cinnamon", "cinnamon/extensions", NULL },
};

static void add(struct session *s, const char *key, const char *name)
{
	if (name && *name && !strchr(name, '\n'))
		g_string_append_printf(s->text, "%s %s\n", key, name);
}

static bool there(const char *dir, const char *folder, const char *name)
{
	char *path = g_build_filename(dir, folder, name, NULL);
	bool is = g_file_test(path, G_FILE_TEST_IS_DIR);

	g_free(path);
	return is;
}

static bool there_for_all(const char *folder, const char *name)
{
	const char *const *dirs = g_get_system_data_dirs();

	for (; *dirs; dirs++)
		if (there(*dirs, folder, name))
			return true;
	return false;
}

/* The public site gives what it publishes a number. */
static bool has_number(const char *folder, const char *name)
{
	char *path = g_build_filename(g_get_user_data_dir(), folder, name, "metadata.json", NULL);
	struct json_object *top = json_object_from_file(path), *version;
	bool has = json_object_object_get_ex(top, "version", &version);

	json_object_put(top);
	g_free(path);
	return has;
}

static void add_extension(struct session *s, const char *folder, const char *name)
{
	if (strchr(name, '/'))
		return;
	if (there_for_all(folder, name))
		add(s, "extension", name);
	else if (!there(g_get_user_data_dir(), folder, name))
		return; /* switched on, and not there */
	else if (has_number(folder, name))
		add(s, "extension", name);
	else
		s->own++;
}

/* Those that a desktop switches on for all its users, in a file of its mode. */
static void add_of_file(struct session *s, const struct shell *shell, const char *path,
			char *const *off)
{
	struct json_object *top = json_object_from_file(path), *list;

	if (!json_object_object_get_ex(top, "enabledExtensions", &list) ||
	    !json_object_is_type(list, json_type_array)) {
		json_object_put(top);
		return;
	}
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);
		const char *name = json_object_get_string(entry);

		if (name && !g_strv_contains((const char *const *)off, name))
			add_extension(s, shell->folder, name);
	}
	json_object_put(top);
}

static void add_mode(struct session *s, const struct shell *shell, char *const *off)
{
	const char *const *dir = g_get_system_data_dirs();
	const char *mode = g_getenv("GNOME_SHELL_SESSION_MODE");

	if (!shell->modes || !mode || !*mode || strchr(mode, '/'))
		return;
	for (; *dir; dir++) {
		char *file = g_strconcat(mode, ".json", NULL);
		char *path = g_build_filename(*dir, shell->modes, file, NULL);

		add_of_file(s, shell, path, off);
		g_free(path);
		g_free(file);
	}
}

static char **words_of(GSettings *settings, GSettingsSchema *schema, const char *key)
{
	return g_settings_schema_has_key(schema, key) ? g_settings_get_strv(settings, key)
						      : g_new0(char *, 1);
}

static void add_shell(struct session *s, const struct shell *shell)
{
	GSettingsSchemaSource *source = g_settings_schema_source_get_default();
	GSettingsSchema *schema =
		source ? g_settings_schema_source_lookup(source, shell->schema, TRUE) : NULL;

	if (!schema)
		return;
	GSettings *settings = g_settings_new_full(schema, NULL, NULL);
	char **on = words_of(settings, schema, "enabled-extensions"),
	     **off = words_of(settings, schema, "disabled-extensions");

	if (!g_settings_schema_has_key(schema, "disable-user-extensions") ||
	    !g_settings_get_boolean(settings, "disable-user-extensions")) {
		for (char **name = on; *name; name++)
			if (!g_strv_contains((const char *const *)off, *name))
				add_extension(s, shell->folder, *name);
		add_mode(s, shell, off);
	}
	g_strfreev(on);
	g_strfreev(off);
	g_object_unref(settings);
	g_settings_schema_unref(schema);
}

/* What was fetched from the desktop's public site stands in a list of the person's. */
static bool was_fetched(const char *kind, const char *name)
{
	char *list = g_strconcat("kwin", kind, ".knsregistry", NULL),
	     *path = g_build_filename(g_get_user_data_dir(), "knewstuff3", list, NULL),
	     *what = g_strdup_printf("/%s/", name), *text = NULL;
	bool is = g_file_get_contents(path, &text, NULL, NULL) && strstr(text, what);

	g_free(text);
	g_free(what);
	g_free(path);
	g_free(list);
	return is;
}

/* Scripts and effects of KWin that the person has switched on: "NAMEEnabled=true". */
static void add_kwin(struct session *s)
{
	char *path = g_build_filename(g_get_user_config_dir(), "kwinrc", NULL);
	GKeyFile *file = g_key_file_new();
	char **keys = g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL)
			      ? g_key_file_get_keys(file, "Plugins", NULL, NULL)
			      : NULL;

	for (char **key = keys; key && *key; key++) {
		if (!g_str_has_suffix(*key, "Enabled") ||
		    !g_key_file_get_boolean(file, "Plugins", *key, NULL))
			continue;
		char *name = g_strndup(*key, strlen(*key) - strlen("Enabled"));
		bool script = there(g_get_user_data_dir(), "kwin/scripts", name),
		     effect = there(g_get_user_data_dir(), "kwin/effects", name);

		if ((script && !was_fetched("scripts", name)) ||
		    (effect && !was_fetched("effect", name)))
			s->own++;
		else
			add(s, "script", name);
		g_free(name);
	}
	g_strfreev(keys);
	g_key_file_free(file);
	g_free(path);
}

char *agent_session_text(void)
{
	struct session s = { .text = g_string_new(NULL) };

	add(&s, "desktop", g_getenv("XDG_CURRENT_DESKTOP"));
	add(&s, "type", g_getenv("XDG_SESSION_TYPE"));
	for (size_t i = 0; i < G_N_ELEMENTS(shells); i++)
		add_shell(&s, &shells[i]);
	add_kwin(&s);
	if (s.own)
		g_string_append_printf(s.text, "own %u\n", MIN(s.own, OWN_MOST));
	return g_string_free(s.text, FALSE);
}
