// SPDX-License-Identifier: GPL-2.0-only
/* tipme-gui: the window; with --dump, its models as text, without a display. */
#include "config.h"

#include <locale.h>

#include "command.h"
#include "dump.h"
#include "window.h"

static TipmeWish wish;
static gboolean dump;
static char **rest;

static const GOptionEntry options[] = {
  { "page", 0, 0, G_OPTION_ARG_STRING, &wish.page, "Show this page first: episodes, answer or timeline", "PAGE" },
  { "picture", 0, 0, G_OPTION_ARG_FILENAME, &wish.picture, "Write a picture of the page and its words, then end", "FILE.png" },
  { "dump", 0, 0, G_OPTION_ARG_NONE, &dump, "Print what would be shown; needs no display", NULL },
  { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &rest, NULL, "[EPISODE]" },
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

static int
run_dump (void)
{
  const char *args[] = { "list", "--json", NULL };
  g_autoptr (GError) error = NULL;
  struct json_object *object = tipme_command_json (args, NULL, &error);

  if (!object)
    return fail (error->message);
  g_autoptr (GPtrArray) rows = tipme_rows_from_json (object);
  TipmeRow *row = wish.episode ? tipme_rows_find (rows, wish.episode) : NULL;

  json_object_put (object);
  if (row)
    return dump_episode (row->path);
  if (wish.episode && g_file_test (wish.episode, G_FILE_TEST_IS_DIR))
    return dump_episode (wish.episode);
  if (wish.episode)
    {
      g_printerr ("tipme: gui: %s: there is no such episode: see tipme list\n", wish.episode);
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
  static const char *const pages[] = { "episodes", "answer", "timeline", NULL };

  return !wish.page || g_strv_contains (pages, wish.page);
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
  if (!g_option_context_parse (context, &argc, &argv, &error) || (rest && rest[1]) || !page_is_known ())
    {
      g_printerr ("tipme: gui: %s: see tipme gui --help\n", error ? error->message : "one EPISODE, and a page that there is");
      return 64;
    }
  wish.episode = rest ? rest[0] : NULL;
  return dump ? run_dump () : run_window ();
}
