// SPDX-License-Identifier: GPL-2.0-only
/* The list of episodes, with search. */
#include "config.h"

#include "columns.h"
#include "pages.h"
#include "numbers.h"

#include <adwaita.h>
#include <string.h>

typedef struct
{
  GListStore *rows;
  GtkFilter *filter;
  GtkWidget *stack, *status, *search;
  void (*opened) (TipmeRow *row, gpointer data);
  gpointer data;
} Page;

static char *
time_text (gpointer item, gpointer data)
{
  return tipme_text_local_time (TIPME_ROW (item)->time);
}

static char *
app_text (gpointer item, gpointer data)
{
  return g_strdup (*TIPME_ROW (item)->app ? TIPME_ROW (item)->app : "-");
}

static char *
response_text (gpointer item, gpointer data)
{
  return tipme_text_ms (TIPME_ROW (item)->response_ns);
}

static char *
verdict_text (gpointer item, gpointer data)
{
  return g_strdup (TIPME_ROW (item)->verdict);
}

static char *
note_text (gpointer item, gpointer data)
{
  return g_strdup (TIPME_ROW (item)->note);
}

static int
by_time (gconstpointer a, gconstpointer b, gpointer data)
{
  return strcmp (((const TipmeRow *) a)->time, ((const TipmeRow *) b)->time);
}

static int
by_app (gconstpointer a, gconstpointer b, gpointer data)
{
  return g_utf8_collate (((const TipmeRow *) a)->app, ((const TipmeRow *) b)->app);
}

static int
by_response (gconstpointer a, gconstpointer b, gpointer data)
{
  gint64 left = ((const TipmeRow *) a)->response_ns, right = ((const TipmeRow *) b)->response_ns;

  return (left > right) - (left < right);
}

static void
add_column (GtkColumnView *view, const char *title, gboolean expand, gboolean number, TipmeCellText text, GCompareDataFunc order)
{
  GtkColumnViewColumn *column = tipme_columns_add (view, title, expand, number, text, NULL);

  if (!order)
    return;
  GtkSorter *sorter = GTK_SORTER (gtk_custom_sorter_new (order, NULL, NULL));

  gtk_column_view_column_set_sorter (column, sorter);
  g_object_unref (sorter);
}

static gboolean
is_wanted (gpointer item, gpointer data)
{
  Page *page = data;

  return tipme_row_matches (TIPME_ROW (item), gtk_editable_get_text (GTK_EDITABLE (page->search)));
}

static void
on_search (GtkEditable *search, Page *page)
{
  gtk_filter_changed (page->filter, GTK_FILTER_CHANGE_DIFFERENT);
}

static void
on_activate (GtkColumnView *view, guint position, Page *page)
{
  g_autoptr (TipmeRow) row = g_list_model_get_item (G_LIST_MODEL (gtk_column_view_get_model (view)), position);

  if (row)
    page->opened (row, page->data);
}

static GtkWidget *
table_new (Page *page)
{
  GtkWidget *view = gtk_column_view_new (NULL);
  GtkColumnView *columns = GTK_COLUMN_VIEW (view);

  page->filter = GTK_FILTER (gtk_custom_filter_new (is_wanted, page, NULL));
  GtkFilterListModel *wanted = gtk_filter_list_model_new (G_LIST_MODEL (g_object_ref (page->rows)), g_object_ref (page->filter));
  GtkSortListModel *sorted = gtk_sort_list_model_new (G_LIST_MODEL (wanted), g_object_ref (gtk_column_view_get_sorter (columns)));
  GtkSingleSelection *selection = gtk_single_selection_new (G_LIST_MODEL (sorted));

  gtk_column_view_set_model (columns, GTK_SELECTION_MODEL (selection));
  g_object_unref (selection);
  add_column (columns, "Time", FALSE, FALSE, time_text, by_time);
  add_column (columns, "Application", FALSE, FALSE, app_text, by_app);
  add_column (columns, "Response", FALSE, TRUE, response_text, by_response);
  add_column (columns, "Verdict", TRUE, FALSE, verdict_text, NULL);
  add_column (columns, "Note", FALSE, FALSE, note_text, NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (view), GTK_ACCESSIBLE_PROPERTY_LABEL, "Episodes", -1);
  g_signal_connect (view, "activate", G_CALLBACK (on_activate), page);
  return view;
}

static void
page_free (gpointer data)
{
  Page *page = data;

  g_object_unref (page->rows);
  g_object_unref (page->filter);
  g_free (page);
}

GtkWidget *
tipme_episodes_page_new (void (*opened) (TipmeRow *row, gpointer data), gpointer data)
{
  Page *page = g_new0 (Page, 1);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *scrolled = gtk_scrolled_window_new ();

  page->opened = opened;
  page->data = data;
  page->rows = g_list_store_new (TIPME_TYPE_ROW);
  page->search = gtk_search_entry_new ();
  page->status = adw_status_page_new ();
  page->stack = gtk_stack_new ();
  g_object_set (page->search, "placeholder-text", "Search: words, app:xterm, kind:disk-io, after:yesterday",
                "margin-start", 12, "margin-end", 12, "margin-top", 8, "margin-bottom", 8, NULL);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), table_new (page));
  gtk_stack_add_named (GTK_STACK (page->stack), page->status, "status");
  gtk_stack_add_named (GTK_STACK (page->stack), scrolled, "table");
  gtk_widget_set_vexpand (page->stack, TRUE);
  gtk_box_append (GTK_BOX (box), page->search);
  gtk_box_append (GTK_BOX (box), page->stack);
  adw_status_page_set_title (ADW_STATUS_PAGE (page->status), "Reading the episodes");
  g_signal_connect (page->search, "search-changed", G_CALLBACK (on_search), page);
  g_object_set_data_full (G_OBJECT (box), "page", page, page_free);
  return box;
}

void
tipme_episodes_page_set (GtkWidget *widget, GPtrArray *rows, const char *problem)
{
  Page *page = g_object_get_data (G_OBJECT (widget), "page");

  g_list_store_splice (page->rows, 0, g_list_model_get_n_items (G_LIST_MODEL (page->rows)),
                       rows ? rows->pdata : NULL, rows ? rows->len : 0);
  adw_status_page_set_title (ADW_STATUS_PAGE (page->status), problem ? "The episodes cannot be listed" : "No episodes yet");
  adw_status_page_set_description (ADW_STATUS_PAGE (page->status),
                                   problem ? problem : "Press the hot-key, or type tipme snap, when something was slow.");
  gtk_stack_set_visible_child_name (GTK_STACK (page->stack), rows && rows->len ? "table" : "status");
}
