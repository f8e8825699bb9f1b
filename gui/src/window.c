// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list is read in a thread of GTask; the session loads an episode in another. The window takes
 * both results in the main thread.
 */
#include "config.h"

#include "window.h"

#include "command.h"
#include "dump.h"
#include "pages.h"
#include "picture.h"

#define SETTLED_MS 600 /* after which a page has been laid out and drawn */

typedef struct
{
  GtkWidget *window, *stack, *episodes, *title;
  AdwToastOverlay *toasts;
  TipmeSession *session;
  TipmeWish *wish;
} Window;

static void
show_page (Window *self, const char *name)
{
  adw_view_stack_set_visible_child_name (ADW_VIEW_STACK (self->stack), name);
}

static gboolean
take_picture (gpointer data)
{
  Window *self = data;
  g_autofree char *words = tipme_picture_words (self->window);

  self->wish->status = tipme_picture_save (self->window, self->wish->picture) ? 0 : 1;
  if (self->wish->status)
    g_printerr ("tipme: gui: %s: the picture cannot be written: see whether its folder is there\n", self->wish->picture);
  g_print ("%s", words);
  gtk_window_destroy (GTK_WINDOW (self->window));
  return G_SOURCE_REMOVE;
}

static void
settled (Window *self)
{
  if (self->wish->picture)
    g_timeout_add (SETTLED_MS, take_picture, self);
}

static void
say (Window *self, const char *text)
{
  AdwToast *toast = adw_toast_new (text);

  adw_toast_set_timeout (toast, 3);
  adw_toast_overlay_add_toast (self->toasts, toast);
}

static void
open_episode (Window *self, const char *episode, const char *folder)
{
  if (!self->wish->picture)
    say (self, "Reading the episode");
  tipme_session_open (self->session, episode, folder);
}

static void
on_opened (TipmeRow *row, gpointer data)
{
  open_episode (data, row->path, row->path);
}

static void
on_loaded (TipmeSession *session, Window *self)
{
  const TipmeAnswer *answer = tipme_session_answer (session);

  adw_window_title_set_subtitle (ADW_WINDOW_TITLE (self->title), answer->id ? answer->id : "");
  show_page (self, self->wish->page ? self->wish->page : "answer");
  settled (self);
}

/* The episode that was asked for, once the list is known. */
static void
open_wished (Window *self, GPtrArray *rows)
{
  const char *episode = self->wish->episode;
  TipmeRow *row = episode && rows ? tipme_rows_find (rows, episode) : NULL;

  if (row)
    open_episode (self, row->path, row->path);
  else if (episode && g_file_test (episode, G_FILE_TEST_IS_DIR))
    open_episode (self, episode, episode);
  else if (episode)
    {
      g_autofree char *text = g_strdup_printf ("%s: there is no such episode", episode);

      say (self, text);
      settled (self);
    }
  else
    settled (self);
}

static void
list (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  const char *args[] = { "list", "--json", NULL };
  GError *error = NULL;
  struct json_object *object = tipme_command_json (args, cancellable, &error);

  if (object)
    g_task_return_pointer (task, tipme_rows_from_json (object), (GDestroyNotify) g_ptr_array_unref);
  else
    g_task_return_error (task, error);
  json_object_put (object);
}

static void
list_done (GObject *source, GAsyncResult *result, gpointer data)
{
  Window *self = g_object_get_data (source, "window");
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) rows = g_task_propagate_pointer (G_TASK (result), &error);

  if (!self)
    return;
  tipme_episodes_page_set (self->episodes, rows, error ? error->message : NULL);
  open_wished (self, rows);
}

static GtkWidget *
header_new (Window *self)
{
  GtkWidget *header = adw_header_bar_new (), *switcher = adw_view_switcher_new ();
  GtkWidget *menu = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);

  adw_view_switcher_set_stack (ADW_VIEW_SWITCHER (switcher), ADW_VIEW_STACK (self->stack));
  adw_view_switcher_set_policy (ADW_VIEW_SWITCHER (switcher), ADW_VIEW_SWITCHER_POLICY_WIDE);
  self->title = adw_window_title_new ("tipme", "");
  gtk_box_append (GTK_BOX (menu), self->title);
  adw_header_bar_set_title_widget (ADW_HEADER_BAR (header), switcher);
  adw_header_bar_pack_start (ADW_HEADER_BAR (header), menu);
  return header;
}

static void
add_page (Window *self, GtkWidget *page, const char *name, const char *title, const char *icon)
{
  AdwViewStackPage *made = adw_view_stack_add_titled (ADW_VIEW_STACK (self->stack), page, name, title);

  adw_view_stack_page_set_icon_name (made, icon);
}

static void
window_free (gpointer data)
{
  Window *self = data;

  g_signal_handlers_disconnect_by_data (self->session, self);
  g_object_unref (self->session);
  g_free (self);
}

static void
fill_window (Window *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *overlay = adw_toast_overlay_new ();

  self->stack = adw_view_stack_new ();
  self->episodes = tipme_episodes_page_new (on_opened, self);
  add_page (self, self->episodes, "episodes", "Episodes", "view-list-symbolic");
  add_page (self, tipme_answer_page_new (self->session), "answer", "Answer", "dialog-information-symbolic");
  add_page (self, tipme_timeline_page_new (self->session), "timeline", "Timeline", "media-playlist-consecutive-symbolic");
  gtk_widget_set_vexpand (self->stack, TRUE);
  gtk_box_append (GTK_BOX (box), header_new (self));
  gtk_box_append (GTK_BOX (box), self->stack);
  self->toasts = ADW_TOAST_OVERLAY (overlay);
  adw_toast_overlay_set_child (self->toasts, box);
  adw_application_window_set_content (ADW_APPLICATION_WINDOW (self->window), overlay);
}

GtkWidget *
tipme_window_new (AdwApplication *application, TipmeWish *wish)
{
  Window *self = g_new0 (Window, 1);

  self->wish = wish;
  self->session = tipme_session_new ();
  self->window = adw_application_window_new (GTK_APPLICATION (application));
  gtk_window_set_title (GTK_WINDOW (self->window), "tipme");
  gtk_window_set_default_size (GTK_WINDOW (self->window), 1280, 800);
  fill_window (self);
  g_object_set_data_full (G_OBJECT (self->window), "window", self, window_free);
  g_signal_connect (self->session, "loaded", G_CALLBACK (on_loaded), self);
  g_autoptr (GTask) task = g_task_new (self->window, NULL, list_done, NULL);

  g_task_run_in_thread (task, list);
  return self->window;
}
