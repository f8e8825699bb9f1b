// SPDX-License-Identifier: GPL-2.0-only
/* The list of episodes, with search. */
#include "config.h"

#include "actions.h"
#include "columns.h"
#include "first_page.h"
#include "pages.h"
#include "numbers.h"
#include "language.h"

#include <adwaita.h>
#include <string.h>

typedef struct {
	GListStore *rows;
	GtkFilter *filter;
	GtkSelectionModel *chosen;
	GtkWidget *stack, *first, *search, *table;
	GHashTable *hidden; /* ids that are about to be removed */
	void (*opened)(TipmeRow *row, gpointer data);
	void (*told)(gpointer data); /* others are selected */
	gpointer data;
} Page;

static char *time_text(gpointer item, gpointer data)
{
	return tipme_text_local_time(TIPME_ROW(item)->time);
}

static char *app_text(gpointer item, gpointer data)
{
	return g_strdup(*TIPME_ROW(item)->app ? TIPME_ROW(item)->app : "-");
}

static char *response_text(gpointer item, gpointer data)
{
	return tipme_text_ms(TIPME_ROW(item)->response_ns);
}

static char *culprit_text(gpointer item, gpointer data)
{
	return g_strdup(*TIPME_ROW(item)->culprit ? TIPME_ROW(item)->culprit : "-");
}

static char *verdict_text(gpointer item, gpointer data)
{
	return g_strdup(TIPME_ROW(item)->verdict);
}

static char *pinned_text(gpointer item, gpointer data)
{
	return g_strdup(TIPME_ROW(item)->pinned ? _("pinned") : "");
}

static char *tags_text(gpointer item, gpointer data)
{
	return g_strdup(TIPME_ROW(item)->tags);
}

static char *note_text(gpointer item, gpointer data)
{
	return g_strdup(TIPME_ROW(item)->note);
}

static int by_time(gconstpointer a, gconstpointer b, gpointer data)
{
	return strcmp(((const TipmeRow *)a)->time, ((const TipmeRow *)b)->time);
}

static int by_app(gconstpointer a, gconstpointer b, gpointer data)
{
	return g_utf8_collate(((const TipmeRow *)a)->app, ((const TipmeRow *)b)->app);
}

static int by_culprit(gconstpointer a, gconstpointer b, gpointer data)
{
	return g_utf8_collate(((const TipmeRow *)a)->culprit, ((const TipmeRow *)b)->culprit);
}

static int by_response(gconstpointer a, gconstpointer b, gpointer data)
{
	gint64 left = ((const TipmeRow *)a)->response_ns,
	       right = ((const TipmeRow *)b)->response_ns;

	return (left > right) - (left < right);
}

static GtkColumnViewColumn *add_column(GtkColumnView *view, const char *title, gboolean expand,
				       gboolean number, TipmeCellText text, GCompareDataFunc order)
{
	GtkColumnViewColumn *column = tipme_columns_add(view, title, expand, number, text, NULL);

	if (!order)
		return column;
	GtkSorter *sorter = GTK_SORTER(gtk_custom_sorter_new(order, NULL, NULL));

	gtk_column_view_column_set_sorter(column, sorter);
	g_object_unref(sorter);
	return column;
}

static gboolean is_wanted(gpointer item, gpointer data)
{
	Page *page = data;

	if (g_hash_table_contains(page->hidden, TIPME_ROW(item)->id))
		return FALSE;
	return tipme_row_matches(TIPME_ROW(item),
				 gtk_editable_get_text(GTK_EDITABLE(page->search)));
}

static void on_search(GtkEditable *search, Page *page)
{
	gtk_filter_changed(page->filter, GTK_FILTER_CHANGE_DIFFERENT);
}

static void on_activate(GtkColumnView *view, guint position, Page *page)
{
	g_autoptr(TipmeRow) row = g_list_model_get_item(G_LIST_MODEL(page->chosen), position);

	if (row)
		page->opened(row, page->data);
}

/* Keys that are letters or edit text elsewhere: they act while the table has the focus. */
static void add_keys(GtkWidget *view)
{
	GtkEventController *controller = gtk_shortcut_controller_new();

	for (const TipmeAction *action = tipme_actions; action->name; action++) {
		g_autofree char *name = g_strconcat("win.", action->name, NULL);

		if (action->in_list)
			gtk_shortcut_controller_add_shortcut(
				GTK_SHORTCUT_CONTROLLER(controller),
				gtk_shortcut_new(gtk_shortcut_trigger_parse_string(action->keys),
						 gtk_named_action_new(name)));
	}
	gtk_widget_add_controller(view, controller);
}

static void on_selection(GtkSelectionModel *model, guint position, guint count, Page *page)
{
	page->told(page->data);
}

static GtkWidget *table_new(Page *page)
{
	GtkWidget *view = gtk_column_view_new(NULL);
	GtkColumnView *columns = GTK_COLUMN_VIEW(view);

	page->filter = GTK_FILTER(gtk_custom_filter_new(is_wanted, page, NULL));
	GtkFilterListModel *wanted = gtk_filter_list_model_new(
		G_LIST_MODEL(g_object_ref(page->rows)), g_object_ref(page->filter));
	GtkSortListModel *sorted = gtk_sort_list_model_new(
		G_LIST_MODEL(wanted), g_object_ref(gtk_column_view_get_sorter(columns)));

	page->chosen = GTK_SELECTION_MODEL(gtk_multi_selection_new(G_LIST_MODEL(sorted)));
	gtk_column_view_set_model(columns, page->chosen);
	g_signal_connect(page->chosen, "selection-changed", G_CALLBACK(on_selection), page);
	add_keys(view);
	add_column(columns, _("Time"), FALSE, FALSE, time_text, by_time);
	add_column(columns, _("Application"), FALSE, FALSE, app_text, by_app);
	add_column(columns, _("Response"), FALSE, TRUE, response_text, by_response);
	add_column(columns, _("Culprit"), FALSE, FALSE, culprit_text, by_culprit);
	/* The cause stands behind who was slow, and for how long. */
	tipme_columns_set_lines(add_column(columns, _("Verdict"), TRUE, FALSE, verdict_text, NULL),
				2);
	add_column(columns, _("Kept"), FALSE, FALSE, pinned_text, NULL);
	add_column(columns, _("Tags"), FALSE, FALSE, tags_text, NULL);
	add_column(columns, _("Note"), FALSE, FALSE, note_text, NULL);
	gtk_accessible_update_property(GTK_ACCESSIBLE(view), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Episodes"), -1);
	g_signal_connect(view, "activate", G_CALLBACK(on_activate), page);
	return view;
}

static void page_free(gpointer data)
{
	Page *page = data;

	g_hash_table_unref(page->hidden);
	g_object_unref(page->rows);
	g_object_unref(page->filter);
	g_signal_handlers_disconnect_by_data(page->chosen, page);
	g_object_unref(page->chosen);
	g_free(page);
}

static GtkWidget *bar_new(Page *page)
{
	static const char *const names[] = { "diagnose", "note",   "tag",  "pin",
					     "unpin",	 "delete", "undo", "compare",
					     "check",	 "report", "snap", "refresh" };
	GtkWidget *bar = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6),
		  *scrolled = gtk_scrolled_window_new();

	/* With large text they are wider than a screen: the focus brings each into sight. */
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_AUTOMATIC,
				       GTK_POLICY_NEVER);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), bar);
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		gtk_box_append(GTK_BOX(bar), tipme_action_button(names[i]));
	g_object_set(bar, "margin-start", 12, "margin-end", 12, "margin-top", 8, "margin-bottom", 8,
		     NULL);
	return scrolled;
}

GtkWidget *tipme_episodes_page_new(void (*opened)(TipmeRow *row, gpointer data),
				   void (*chosen)(gpointer data), gpointer data)
{
	Page *page = g_new0(Page, 1);
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	GtkWidget *scrolled = gtk_scrolled_window_new();

	page->opened = opened;
	page->told = chosen;
	page->data = data;
	page->hidden = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	page->rows = g_list_store_new(TIPME_TYPE_ROW);
	page->search = gtk_search_entry_new();
	page->first = tipme_first_page_new();
	page->stack = gtk_stack_new();
	page->table = table_new(page);
	gtk_accessible_update_property(GTK_ACCESSIBLE(page->search), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Search in the episodes"), -1);
	g_object_set(page->search, "placeholder-text",
		     _("Search: words, app:xterm, kind:disk-io, after:yesterday, is:pinned"), NULL);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), page->table);
	gtk_stack_add_named(GTK_STACK(page->stack), page->first, "first");
	gtk_stack_add_named(GTK_STACK(page->stack), scrolled, "table");
	gtk_widget_set_vexpand(page->stack, TRUE);
	g_object_set(page->search, "margin-start", 12, "margin-end", 12, "margin-top", 8, NULL);
	gtk_box_append(GTK_BOX(box), page->search);
	gtk_box_append(GTK_BOX(box), bar_new(page));
	gtk_box_append(GTK_BOX(box), page->stack);
	g_signal_connect(page->search, "search-changed", G_CALLBACK(on_search), page);
	g_object_set_data_full(G_OBJECT(box), "page", page, page_free);
	g_object_set_data(G_OBJECT(box), "within", page->first);
	return box;
}

GPtrArray *tipme_episodes_page_chosen(GtkWidget *widget)
{
	Page *page = g_object_get_data(G_OBJECT(widget), "page");
	GPtrArray *rows = g_ptr_array_new_with_free_func(g_object_unref);
	guint count = g_list_model_get_n_items(G_LIST_MODEL(page->chosen));

	for (guint i = 0; i < count; i++)
		if (gtk_selection_model_is_selected(page->chosen, i))
			g_ptr_array_add(rows, g_list_model_get_item(G_LIST_MODEL(page->chosen), i));
	return rows;
}

TipmeRow *tipme_episodes_page_find(GtkWidget *widget, const char *path)
{
	Page *page = g_object_get_data(G_OBJECT(widget), "page");
	guint count = g_list_model_get_n_items(G_LIST_MODEL(page->rows));

	for (guint i = 0; i < count; i++) {
		g_autoptr(TipmeRow) row = g_list_model_get_item(G_LIST_MODEL(page->rows), i);

		if (!g_strcmp0(row->path, path))
			return row; /* the list keeps it */
	}
	return NULL;
}

static gboolean has_id(GPtrArray *rows, const char *id)
{
	for (guint i = 0; i < rows->len; i++)
		if (!strcmp(((TipmeRow *)g_ptr_array_index(rows, i))->id, id))
			return TRUE;
	return FALSE;
}

/* What was chosen stays chosen, as far as it is still there; at first the newest is. */
static void choose(Page *page, GPtrArray *before)
{
	guint count = g_list_model_get_n_items(G_LIST_MODEL(page->chosen));
	gboolean any = FALSE;

	for (guint i = 0; i < count; i++) {
		g_autoptr(TipmeRow) row = g_list_model_get_item(G_LIST_MODEL(page->chosen), i);

		if (has_id(before, row->id))
			any = gtk_selection_model_select_item(page->chosen, i, FALSE);
	}
	if (!any && count)
		gtk_selection_model_select_item(page->chosen, 0, TRUE);
}

void tipme_episodes_page_focus(GtkWidget *widget, gboolean search)
{
	Page *page = g_object_get_data(G_OBJECT(widget), "page");

	gtk_widget_grab_focus(search ? page->search : page->table);
}

static gboolean table_has_focus(Page *page)
{
	GtkRoot *root = gtk_widget_get_root(page->table);
	GtkWidget *focus = root ? gtk_root_get_focus(root) : NULL;

	return focus && (focus == page->table || gtk_widget_is_ancestor(focus, page->table));
}

void tipme_episodes_page_hide(GtkWidget *widget, const char *const *ids, gboolean hide)
{
	Page *page = g_object_get_data(G_OBJECT(widget), "page");
	gboolean focused = table_has_focus(page);

	for (; *ids; ids++)
		if (hide)
			g_hash_table_add(page->hidden, g_strdup(*ids));
		else
			g_hash_table_remove(page->hidden, *ids);
	gtk_filter_changed(page->filter, GTK_FILTER_CHANGE_DIFFERENT);
	g_autoptr(GPtrArray) left = tipme_episodes_page_chosen(widget);

	if (!left->len)
		gtk_selection_model_select_item(page->chosen, 0, TRUE);
	if (focused)
		gtk_widget_grab_focus(page->table);
}

/*
 * Where the same episodes are there, only the rows that say something else: where somebody stands
 * in the table stays. FALSE: they are others.
 */
static gboolean exchange(Page *page, GPtrArray *rows)
{
	guint count = g_list_model_get_n_items(G_LIST_MODEL(page->rows));

	if (!rows || rows->len != count)
		return FALSE;
	for (guint i = 0; i < count; i++) {
		g_autoptr(TipmeRow) row = g_list_model_get_item(G_LIST_MODEL(page->rows), i);

		if (strcmp(row->id, ((TipmeRow *)g_ptr_array_index(rows, i))->id))
			return FALSE;
	}
	for (guint i = 0; i < count; i++) {
		g_autoptr(TipmeRow) row = g_list_model_get_item(G_LIST_MODEL(page->rows), i);

		if (!tipme_row_same(row, g_ptr_array_index(rows, i)))
			g_list_store_splice(page->rows, i, 1, &rows->pdata[i], 1);
	}
	return TRUE;
}

/* Rows that are exchanged lose the focus, which keys need: the table takes it back. */
void tipme_episodes_page_set(GtkWidget *widget, GPtrArray *rows, const char *problem)
{
	Page *page = g_object_get_data(G_OBJECT(widget), "page");
	g_autoptr(GPtrArray) before = tipme_episodes_page_chosen(widget);
	gboolean any = rows && rows->len, focused = table_has_focus(page);

	if (!exchange(page, rows))
		g_list_store_splice(page->rows, 0,
				    g_list_model_get_n_items(G_LIST_MODEL(page->rows)),
				    rows ? rows->pdata : NULL, rows ? rows->len : 0);
	choose(page, before);
	if (!any)
		tipme_first_page_set(page->first, problem);
	gtk_stack_set_visible_child_name(GTK_STACK(page->stack), any ? "table" : "first");
	page->told(page->data);
	if (any && focused)
		gtk_widget_grab_focus(page->table);
}
