// SPDX-License-Identifier: GPL-2.0-only
/* tipme-gui: the window; with --dump, its models as text, without a display. */
#include "config.h"

#include <locale.h>

#include "actions.h"
#include "command.h"
#include "dump.h"
#include "unpack.h"
#include "window.h"

static TipmeWish wish;
static gboolean dump, actions;
static char **rest;

static const GOptionEntry options[] = {
  { "page", 0, 0, G_OPTION_ARG_STRING, &wish.page, "Show this page first: episodes, answer, timeline, compare, report or live", "PAGE" },
  { "picture", 0, 0, G_OPTION_ARG_FILENAME, &wish.picture, "Write a picture of the page and its words, then end", "FILE.png" },
  { "dump", 0, 0, G_OPTION_ARG_NONE, &dump, "Print what would be shown; needs no display", NULL },
  { "actions", 0, 0, G_OPTION_ARG_NONE, &actions, "Print what the window can do: name, verb, keys", NULL },
  { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &rest, NULL, "[EPISODE [OTHER]]" },
  { 0 },
};

static int
fail (const char *why)
{
  g_printerr ("%s\n", why);
  return 1;
}

static int
dump_episode (const char *folder)
{
  const char *args[] = { "diagnose", "--json", folder, NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) unread = NULL;
  struct json_object *object = tipme_command_json (args, NULL, &error);
  TipmeAnswer *answer = object ? tipme_answer_from_json (object) : tipme_answer_failed (error->message);
  TipmeLanes *lanes = tipme_lanes_load (folder, (const guint32 *) (void *) answer->threads->data, answer->threads->len, NULL, &unread);
  g_autofree char *text = tipme_dump_episode (answer, lanes);

  g_print ("%s", text);
  if (unread)
    g_print ("problem\t%s\n", unread->message);
  json_object_put (object);
  tipme_answer_free (answer);
  tipme_lanes_free (lanes);
  return 0;
}

/* The content of a file that `tipme bundle` wrote; -1: it is none. */
static int
dump_file (const char *file)
{
  g_autofree char *folder = tipme_unpack_folder (file);
  const char *args[] = { "open", file, "-o", folder, NULL };
  g_auto (GStrv) argv = folder ? tipme_command_argv (args) : NULL;
  g_autofree char *said = NULL;

  if (!folder)
    return -1;
  if (!g_file_test (folder, G_FILE_TEST_IS_DIR))
    g_spawn_sync (NULL, argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, &said, NULL,
                  NULL);
  if (g_file_test (folder, G_FILE_TEST_IS_DIR))
    return dump_episode (folder);
  g_printerr ("%s", said ? said : "");
  return 1;
}

static int
run_dump (void)
{
  const char *args[] = { "list", "--json", NULL };
  g_autoptr (GError) error = NULL;
  struct json_object *object = tipme_command_json (args, NULL, &error);

  if (!object)
    return fail (error->message);
  g_autoptr (GPtrArray) rows = tipme_rows_from_json (object);
  guint found = 0;
  TipmeRow *row = wish.episode ? tipme_rows_find (rows, wish.episode, &found) : NULL;

  json_object_put (object);
  if (row)
    return dump_episode (row->path);
  if (wish.episode && g_file_test (wish.episode, G_FILE_TEST_IS_DIR))
    return dump_episode (wish.episode);
  int status = wish.episode ? dump_file (wish.episode) : -1;

  if (status >= 0)
    return status;
  if (wish.episode)
    {
      g_autofree char *why = tipme_rows_why_not (wish.episode, found);

      g_printerr ("tipme: gui: %s\n", why);
      return 1;
    }
  g_autofree char *text = tipme_dump_rows (rows);

  g_print ("%s", text);
  return 0;
}

static void
on_activate (AdwApplication *application, gpointer data)
{
  gtk_window_set_default_icon_name (TIPME_APP_ID);
  gtk_window_present (GTK_WINDOW (tipme_window_new (application, &wish)));
}

static int
run_window (void)
{
  if (!gtk_init_check ())
    return fail ("tipme: gui: there is no display: run it in a session, or use tipme diagnose");
  g_autoptr (AdwApplication) application = adw_application_new (TIPME_APP_ID, G_APPLICATION_NON_UNIQUE);

  g_signal_connect (application, "activate", G_CALLBACK (on_activate), NULL);
  int status = g_application_run (G_APPLICATION (application), 0, NULL);

  return status ? status : wish.status;
}

static gboolean
page_is_known (void)
{
  return !wish.page || g_strv_contains (tipme_window_pages, wish.page);
}

/* Two for a comparison, else one at most. */
static gboolean
count_is_right (void)
{
  guint count = rest ? g_strv_length (rest) : 0;

  return !g_strcmp0 (wish.page, "compare") ? count == 2 : count <= 1;
}

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;

  setlocale (LC_ALL, "");
  g_option_context_set_summary (context, "Shows the episodes, who made a key press slow, and the timeline that proves it.");
  g_option_context_set_description (context, "Examples:\n  tipme gui\n  tipme gui last\n  tipme gui --page timeline last\n");
  g_option_context_add_main_entries (context, options, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || !count_is_right () || !page_is_known ())
    {
      g_printerr ("tipme: gui: %s: see tipme gui --help\n", error ? error->message : "one EPISODE, and a page that there is");
      return 64;
    }
  if (actions)
    {
      g_autofree char *text = tipme_actions_dump ();

      g_print ("%s", text);
      return 0;
    }
  wish.episode = rest ? rest[0] : NULL;
  wish.other = wish.episode ? rest[1] : NULL;
  return dump ? run_dump () : run_window ();
}
