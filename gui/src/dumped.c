// SPDX-License-Identifier: GPL-2.0-only
/* The models as text, without a display: of the library, an episode, or a file. */
#include "config.h"

#include "dumped.h"

#include "command.h"
#include "unpack.h"

static int dump_episode(const TipmeDumpWish *wish, const char *folder)
{
	const char *args[] = { "diagnose", "--json", folder, NULL };
	g_autoptr(GError) error = NULL;
	g_autoptr(GError) unread = NULL;
	struct json_object *object = tipme_command_json(args, NULL, &error);
	TipmeAnswer *answer =
		object ? tipme_answer_from_json(object) : tipme_answer_failed(error->message);
	const TipmeReading how = { .more = wish->threads, .about_ns = answer->from_ns };
	TipmeLanes *lanes = tipme_lanes_load(folder, (const guint32 *)(void *)answer->threads->data,
					     answer->threads->len, &how, &unread);
	if (lanes)
		tipme_lanes_arrange(lanes, (const char *const *)wish->pinned, wish->grouped);
	g_autofree char *text = tipme_dump_episode(answer, lanes, &wish->what);

	g_print("%s", text);
	if (unread)
		g_print("problem\t%s\n", unread->message);
	json_object_put(object);
	tipme_answer_free(answer);
	tipme_lanes_free(lanes);
	return 0;
}

/* The content of a file that `tipme bundle` wrote; -1: it is none. */
static int dump_file(const TipmeDumpWish *wish, const char *file)
{
	g_autofree char *why = NULL;
	g_autofree char *folder = tipme_unpack_folder(file, &why);
	const char *args[] = { "open", file, "-o", folder, NULL };
	g_auto(GStrv) argv = folder ? tipme_command_argv(args) : NULL;
	g_autofree char *said = NULL;

	if (why)
		g_printerr("tipme: gui: %s\n", why);
	if (!folder)
		return why ? 1 : -1;
	if (!g_file_test(folder, G_FILE_TEST_IS_DIR))
		g_spawn_sync(NULL, argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, &said,
			     NULL, NULL);
	if (g_file_test(folder, G_FILE_TEST_IS_DIR))
		return dump_episode(wish, folder);
	g_printerr("%s", said ? said : "");
	return 1;
}

int tipme_dump_run(const TipmeDumpWish *wish)
{
	const char *args[] = { "list", "--json", NULL };
	g_autoptr(GError) error = NULL;
	struct json_object *object = tipme_command_json(args, NULL, &error);

	if (!object) {
		g_printerr("%s\n", error->message);
		return 1;
	}
	g_autoptr(GPtrArray) rows = tipme_rows_from_json(object);
	guint found = 0;
	TipmeRow *row = wish->episode ? tipme_rows_find(rows, wish->episode, &found) : NULL;

	json_object_put(object);
	if (row)
		return dump_episode(wish, row->path);
	if (wish->episode && g_file_test(wish->episode, G_FILE_TEST_IS_DIR))
		return dump_episode(wish, wish->episode);
	int status = wish->episode ? dump_file(wish, wish->episode) : -1;

	if (status >= 0)
		return status;
	if (wish->episode) {
		g_autofree char *why = tipme_rows_why_not(wish->episode, found);

		g_printerr("tipme: gui: %s\n", why);
		return 1;
	}
	g_autofree char *text = tipme_dump_rows(rows);

	g_print("%s", text);
	return 0;
}
