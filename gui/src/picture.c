// SPDX-License-Identifier: GPL-2.0-only
/* Pictures of a window. */
#include "config.h"

#include "picture.h"

#include <glib/gstdio.h>

static GskRenderNode *drawn(GtkWidget *window)
{
	g_autoptr(GdkPaintable) paintable = gtk_widget_paintable_new(window);
	GtkSnapshot *snapshot = gtk_snapshot_new();

	gdk_paintable_snapshot(paintable, snapshot, gtk_widget_get_width(window),
			       gtk_widget_get_height(window));
	return gtk_snapshot_free_to_node(snapshot);
}

gboolean tipme_picture_is_drawn(GtkWidget *window)
{
	g_autoptr(GskRenderNode) node = drawn(window);

	return node != NULL;
}

GdkTexture *tipme_picture_of(GtkWidget *widget)
{
	GskRenderer *renderer = gtk_native_get_renderer(gtk_widget_get_native(widget));
	int width = gtk_widget_get_width(widget), height = gtk_widget_get_height(widget);
	GskRenderNode *node = drawn(widget);

	if (!node)
		return NULL;
	GdkTexture *texture = gsk_renderer_render_texture(
		renderer, node, &GRAPHENE_RECT_INIT(0, 0, (float)width, (float)height));

	gsk_render_node_unref(node);
	return texture;
}

gboolean tipme_picture_save(GtkWidget *window, const char *file)
{
	g_autofree char *beside = g_strconcat(file, ".part", NULL);
	g_autoptr(GdkTexture) texture = tipme_picture_of(window);

	if (!texture)
		return FALSE;
	return gdk_texture_save_to_png(texture, beside) && !g_rename(beside, file);
}

static void collect(GtkWidget *widget, GString *text)
{
	if (!gtk_widget_get_mapped(widget))
		return;
	if (GTK_IS_LABEL(widget) && *gtk_label_get_text(GTK_LABEL(widget)))
		g_string_append_printf(text, "%s\n", gtk_label_get_text(GTK_LABEL(widget)));
	for (GtkWidget *child = gtk_widget_get_first_child(widget); child;
	     child = gtk_widget_get_next_sibling(child))
		collect(child, text);
}

char *tipme_picture_words(GtkWidget *widget)
{
	GString *text = g_string_new(NULL);

	collect(widget, text);
	return g_string_free(text, FALSE);
}
