// SPDX-License-Identifier: GPL-2.0-only
/* Runs verbs of tipme. */
#include "config.h"

#include "command.h"
#include "language.h"

#include <string.h>

/* The program of the build tree when the window was started from there, else the installed one. */
static char *command_path(void)
{
	const char *tree = g_getenv("TIPME_BUILDDIR");

	if (tree && *tree)
		return g_build_filename(tree, "helper", "cli", "tipme", NULL);
	return g_strdup(TIPME_BINDIR "/tipme");
}

char **tipme_command_argv(const char *const *args)
{
	g_autoptr(GStrvBuilder) argv = g_strv_builder_new();
	g_autofree char *path = command_path();

	g_strv_builder_add(argv, path);
	g_strv_builder_addv(argv, (const char **)args);
	return g_strv_builder_end(argv);
}

static GSubprocess *start(const char *const *args, GError **error)
{
	g_auto(GStrv) argv = tipme_command_argv(args);

	return g_subprocess_newv((const char *const *)argv,
				 G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE,
				 error);
}

static struct json_object *parse(GBytes *out, GBytes *err, GError **error)
{
	gsize length = 0, said = 0;
	const char *text = g_bytes_get_data(out, &length);
	const char *why = g_bytes_get_data(err, &said);
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *object = NULL;

	if (length && length <= G_MAXINT)
		object = json_tokener_parse_ex(tokener, text, (int)length);
	json_tokener_free(tokener);
	if (!object) {
		g_autofree char *words = g_strstrip(g_strndup(why ? why : "", said));

		g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s",
			    *words ? words
				   : _("tipme: no answer came: run the same in a terminal"));
	}
	return object;
}

struct json_object *tipme_command_parse(const char *out, const char *said, GError **error)
{
	g_autoptr(GBytes) bytes = g_bytes_new_static(out, strlen(out));
	g_autoptr(GBytes) why = g_bytes_new_static(said, strlen(said));

	return parse(bytes, why, error);
}

struct json_object *tipme_command_json(const char *const *args, GCancellable *cancellable,
				       GError **error)
{
	g_autoptr(GSubprocess) child = start(args, error);
	g_autoptr(GBytes) out = NULL;
	g_autoptr(GBytes) err = NULL;

	if (!child)
		return NULL;
	if (!g_subprocess_communicate(child, NULL, cancellable, &out, &err, error)) {
		g_subprocess_force_exit(child);
		return NULL;
	}
	return parse(out, err, error);
}
