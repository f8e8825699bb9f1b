// SPDX-License-Identifier: GPL-2.0-only
/* Columns of tables. */
#include "config.h"

#include "columns.h"

typedef struct {
	TipmeCellText text;
	gpointer data;
	gboolean number;
	int lines; /* of a cell, at most */
} Column;

static void setup(GtkSignalListItemFactory *factory, GtkListItem *item, Column *column)
{
	GtkWidget *label = gtk_label_new(NULL);

	gtk_label_set_xalign(GTK_LABEL(label), column->number ? 1 : 0);
	/* A number that is cut is a wrong one. */
	if (column->number)
		gtk_widget_add_css_class(label, "numeric");
	else
		gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
	gtk_label_set_wrap(GTK_LABEL(label), column->lines > 1);
	gtk_label_set_lines(GTK_LABEL(label), column->lines);
	gtk_list_item_set_child(item, label);
}

static void bind(GtkSignalListItemFactory *factory, GtkListItem *item, Column *column)
{
	g_autofree char *text = column->text(gtk_list_item_get_item(item), column->data);
	GtkWidget *label = gtk_list_item_get_child(item);

	gtk_label_set_text(GTK_LABEL(label), text);
	gtk_widget_set_tooltip_text(label, text);
}

static void column_free(gpointer data, GClosure *closure)
{
	g_free(data);
}

GtkColumnViewColumn *tipme_columns_add(GtkColumnView *view, const char *title, gboolean expand,
				       gboolean number, TipmeCellText text, gpointer data)
{
	GtkListItemFactory *factory = gtk_signal_list_item_factory_new();
	Column *column = g_new0(Column, 1);

	column->text = text;
	column->data = data;
	column->number = number;
	column->lines = 1;
	g_signal_connect_data(factory, "setup", G_CALLBACK(setup), column, column_free, 0);
	g_signal_connect(factory, "bind", G_CALLBACK(bind), column);
	GtkColumnViewColumn *made = gtk_column_view_column_new(title, factory);

	gtk_column_view_column_set_expand(made, expand);
	gtk_column_view_column_set_resizable(made, TRUE);
	g_object_set_data(G_OBJECT(made), "column", column); /* the factory's, which it keeps */
	gtk_column_view_append_column(view, made);
	g_object_unref(made);
	return made;
}

void tipme_columns_set_lines(GtkColumnViewColumn *made, int lines)
{
	Column *column = g_object_get_data(G_OBJECT(made), "column");

	column->lines = lines;
}
