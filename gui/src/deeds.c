// SPDX-License-Identifier: GPL-2.0-only
/* Each deed runs a verb and says what it said; those that show something turn to its page. */
#include "config.h"

#include "deeds.h"

#include "actions.h"
#include "first_page.h"
#include "episodes.h"
#include "pages.h"
#include "run.h"

#include <string.h>

/* The first line, which says what happened. */
static void
on_done (const TipmeResult *result, gpointer data)
{
  TipmeDeeds *deeds = data;
  const char *text = result->status ? result->said : result->out;
  g_auto (GStrv) lines = g_strsplit (*text ? text : result->said, "\n", 2);

  if (lines[0] && *lines[0])
    deeds->say (lines[0], deeds->data);
  deeds->changed (deeds->data);
}

/* `tipme VERB ID... [OPTION]` */
static void
run (TipmeDeeds *deeds, const char *verb, GPtrArray *rows, const char *option)
{
  g_autoptr (GPtrArray) args = g_ptr_array_new ();

  g_ptr_array_add (args, (gpointer) verb);
  for (guint i = 0; rows && i < rows->len; i++)
    g_ptr_array_add (args, ((TipmeRow *) g_ptr_array_index (rows, i))->id);
  if (option)
    g_ptr_array_add (args, (gpointer) option);
  g_ptr_array_add (args, NULL);
  tipme_run_verb (deeds->window, (const char *const *) args->pdata, on_done, deeds);
}

static gboolean
any_pinned (GPtrArray *rows)
{
  for (guint i = 0; i < rows->len; i++)
    if (((TipmeRow *) g_ptr_array_index (rows, i))->pinned)
      return TRUE;
  return FALSE;
}

static void
on_agreed (GtkWidget *dialog, const char *response, TipmeDeeds *deeds)
{
  GPtrArray *rows = g_object_get_data (G_OBJECT (dialog), "rows");

  if (!strcmp (response, "delete"))
    run (deeds, "rm", rows, any_pinned (rows) ? "--pinned" : NULL);
}

static char *
question (GPtrArray *rows)
{
  TipmeRow *first = g_ptr_array_index (rows, 0);

  if (rows->len == 1)
    return g_strdup_printf ("Delete the episode %s?", first->id);
  return g_strdup_printf ("Delete %u episodes?", rows->len);
}

/* tipme rm has no way back, so it is asked first. */
static void
ask_delete (TipmeDeeds *deeds, GPtrArray *rows)
{
  g_autofree char *heading = question (rows);
  const char *body = any_pinned (rows) ? "They are removed for good, also those that are pinned."
                                       : "What is removed cannot be brought back.";
  GtkWidget *dialog = adw_message_dialog_new (GTK_WINDOW (deeds->window), heading, body);

  gtk_window_set_title (GTK_WINDOW (dialog), heading);
  adw_message_dialog_add_responses (ADW_MESSAGE_DIALOG (dialog), "keep", "_Keep", "delete",
                                    "_Delete", NULL);
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "delete",
                                              ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_default_response (ADW_MESSAGE_DIALOG (dialog), "keep");
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "keep");
  g_object_set_data_full (G_OBJECT (dialog), "rows", g_ptr_array_ref (rows),
                          (GDestroyNotify) g_ptr_array_unref);
  g_signal_connect (dialog, "response", G_CALLBACK (on_agreed), deeds);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
on_chosen (GtkNativeDialog *dialog, int response, TipmeDeeds *deeds)
{
  const char *id = g_object_get_data (G_OBJECT (dialog), "id");

  if (response == GTK_RESPONSE_ACCEPT)
    {
      g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
      g_autofree char *path = g_file_get_path (file);
      const char *args[] = { "bundle", id, "--yes", "-o", path, NULL };

      tipme_run_verb (deeds->window, args, on_done, deeds);
    }
  g_object_unref (dialog);
}

/* The report page has shown what leaves; to name the file is to agree. */
static void
write_bundle (TipmeDeeds *deeds, GPtrArray *rows)
{
  TipmeRow *row = g_ptr_array_index (rows, 0);
  g_autofree char *name = g_strdup_printf ("tipme-%s.tipme", row->id);
  GtkFileChooserNative *dialog =
      gtk_file_chooser_native_new ("Write the file for a vendor", GTK_WINDOW (deeds->window),
                                   GTK_FILE_CHOOSER_ACTION_SAVE, "_Write", "_Cancel");

  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (dialog), name);
  g_object_set_data_full (G_OBJECT (dialog), "id", g_strdup (row->id), g_free);
  g_signal_connect (dialog, "response", G_CALLBACK (on_chosen), deeds);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

static void
start (TipmeDeeds *deeds)
{
  g_auto (GStrv) argv = tipme_first_page_command ();

  tipme_run (deeds->window, (const char *const *) argv, on_done, deeds);
}

static void
do_rows (TipmeDeeds *deeds, const char *name)
{
  g_autoptr (GPtrArray) rows = tipme_episodes_page_chosen (deeds->episodes);

  if (!rows->len)
    deeds->say ("Select an episode in the list first", deeds->data);
  else if (!strcmp (name, "pin"))
    run (deeds, "pin", rows, NULL);
  else if (!strcmp (name, "unpin"))
    run (deeds, "pin", rows, "--undo");
  else if (!strcmp (name, "delete"))
    ask_delete (deeds, rows);
  else if (!strcmp (name, "bundle"))
    write_bundle (deeds, rows);
  else if (!strcmp (name, "compare") && rows->len != 2)
    deeds->say ("Select two episodes in the list first, with Control or Shift", deeds->data);
  else
    deeds->show (name, rows, deeds->data);
}

static void
on_action (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  TipmeDeeds *deeds = data;
  const char *name = g_action_get_name (G_ACTION (action));

  if (!strcmp (name, "refresh"))
    deeds->changed (deeds->data);
  else if (!strcmp (name, "snap"))
    run (deeds, "snap", NULL, NULL);
  else if (!strcmp (name, "start"))
    start (deeds);
  else if (!strcmp (name, "find") || g_str_has_prefix (name, "page-"))
    deeds->show (name, NULL, deeds->data);
  else
    do_rows (deeds, name);
}

void
tipme_deeds_install (GtkApplication *application, TipmeDeeds *deeds)
{
  for (const TipmeAction *action = tipme_actions; action->name; action++)
    {
      g_autoptr (GSimpleAction) made = g_simple_action_new (action->name, NULL);
      g_autofree char *detailed = g_strconcat ("win.", action->name, NULL);
      const char *keys[] = { action->in_list ? NULL : action->keys, NULL };

      g_signal_connect (made, "activate", G_CALLBACK (on_action), deeds);
      g_action_map_add_action (G_ACTION_MAP (deeds->window), G_ACTION (made));
      gtk_application_set_accels_for_action (application, detailed, keys);
    }
}

GtkWidget *
tipme_action_button (const char *name)
{
  const TipmeAction *action = tipme_action_find (name);
  GtkWidget *button = gtk_button_new_with_label (action->words);
  g_autofree char *detailed = g_strconcat ("win.", name, NULL);
  g_autofree char *tip = g_strdup_printf ("tipme %s", action->verb);
  guint key = 0;
  GdkModifierType modifiers = 0;

  if (action->keys && gtk_accelerator_parse (action->keys, &key, &modifiers))
    {
      g_autofree char *label = gtk_accelerator_get_label (key, modifiers);
      char *both = g_strdup_printf ("%s (%s)", tip, label);

      g_free (tip);
      tip = both;
    }
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), detailed);
  gtk_widget_set_tooltip_text (button, tip);
  return button;
}
