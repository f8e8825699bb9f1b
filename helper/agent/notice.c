// SPDX-License-Identifier: GPL-2.0-only
/* A line of text and a button, for desktops without notifications. */
#include "config.h"

#include <string.h>

#include "notice.h"
#include "place.h"
#include "words.h"

#define WIDTH 360

GtkWidget *notice_label(const char *text)
{
	GtkWidget *l = gtk_label_new(text);

	gtk_label_set_xalign(GTK_LABEL(l), 0);
	gtk_label_set_line_wrap(GTK_LABEL(l), TRUE);
	gtk_label_set_max_width_chars(GTK_LABEL(l), 44);
	return l;
}

GtkWidget *notice_button(const char *text, char key)
{
	const char *at = strchr(text, key);
	int before = at ? (int)(at - text) : 0;
	char *marked = g_strdup_printf("%.*s_%s", before, text, text + before);
	GtkWidget *button = gtk_button_new_with_mnemonic(marked);

	g_free(marked);
	return button;
}

static void on_chosen(GtkWidget *widget, gpointer arg)
{
	*(bool *)arg = true;
	gtk_main_quit();
}

static gboolean on_timeout(gpointer arg)
{
	gtk_main_quit();
	return G_SOURCE_REMOVE;
}

bool notice_ask(const char *text, const char *button, int timeout_s)
{
	GtkWidget *window = agent_window_new("tipme: notice", WIDTH), *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8);
	GtkWidget *row = gtk_button_box_new(GTK_ORIENTATION_HORIZONTAL);
	GtkWidget *choose = notice_button(button, button[0]), *close = notice_button(TIPME_WORDS_CLOSE, 'C');
	bool chosen = false;

	gtk_container_set_border_width(GTK_CONTAINER(box), 12);
	gtk_button_box_set_layout(GTK_BUTTON_BOX(row), GTK_BUTTONBOX_END);
	gtk_box_set_spacing(GTK_BOX(row), 8);
	gtk_container_add(GTK_CONTAINER(row), choose);
	gtk_container_add(GTK_CONTAINER(row), close);
	gtk_container_add(GTK_CONTAINER(box), notice_label(text));
	gtk_container_add(GTK_CONTAINER(box), row);
	gtk_container_add(GTK_CONTAINER(window), box);
	g_signal_connect(choose, "clicked", G_CALLBACK(on_chosen), &chosen);
	g_signal_connect(close, "clicked", gtk_main_quit, NULL);
	g_signal_connect(window, "destroy", gtk_main_quit, NULL);
	gtk_widget_show_all(box);
	agent_window_place(window, WIDTH);
	if (timeout_s > 0)
		g_timeout_add_seconds((guint)timeout_s, on_timeout, NULL);
	gtk_main();
	return chosen;
}
