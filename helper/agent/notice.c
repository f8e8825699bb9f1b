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
	const char either[] = { key, g_ascii_tolower(key), 0 };
	const char *exact = strchr(text, key), *at = exact ? exact : strpbrk(text, either);
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

/* As on other desktops: no title, and it stays while the pointer is on it. */
struct notice {
	int timeout_s;
	guint timeout; /* or 0 */
};

static void notice_timeout_start(struct notice *n)
{
	if (!n->timeout && n->timeout_s > 0)
		n->timeout = g_timeout_add_seconds((guint)n->timeout_s, on_timeout, NULL);
}

static gboolean on_pointer(GtkWidget *widget, GdkEventCrossing *event, gpointer arg)
{
	struct notice *n = arg;

	/* From one part of it to another. */
	if (event->detail == GDK_NOTIFY_INFERIOR)
		return FALSE;
	if (event->type == GDK_LEAVE_NOTIFY)
		notice_timeout_start(n);
	else if (n->timeout)
		g_source_remove(n->timeout);
	if (event->type == GDK_ENTER_NOTIFY)
		n->timeout = 0;
	return FALSE;
}

static GtkWidget *notice_window(struct notice *n)
{
	GtkWidget *window = agent_window_new("tipme: notice", WIDTH);

	gtk_window_set_decorated(GTK_WINDOW(window), FALSE);
	gtk_window_set_skip_taskbar_hint(GTK_WINDOW(window), TRUE);
	gtk_window_set_skip_pager_hint(GTK_WINDOW(window), TRUE);
	gtk_widget_add_events(window, GDK_ENTER_NOTIFY_MASK | GDK_LEAVE_NOTIFY_MASK);
	g_signal_connect(window, "enter-notify-event", G_CALLBACK(on_pointer), n);
	g_signal_connect(window, "leave-notify-event", G_CALLBACK(on_pointer), n);
	return window;
}

/* Who speaks, since there is no title. */
static GtkWidget *notice_text(const char *text)
{
	GtkWidget *label = notice_label("");
	char *marked = g_markup_printf_escaped("<b>tipme</b>\n%s", text);

	gtk_label_set_markup(GTK_LABEL(label), marked);
	g_free(marked);
	return label;
}

bool notice_ask(const char *text, const char *button, int timeout_s)
{
	struct notice n = { .timeout_s = timeout_s };
	GtkWidget *window = notice_window(&n), *frame = gtk_frame_new(NULL);
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8);
	GtkWidget *row = gtk_button_box_new(GTK_ORIENTATION_HORIZONTAL);
	GtkWidget *choose = notice_button(button, button[0]),
		  *close = notice_button(TIPME_WORDS_CLOSE, 'C');
	bool chosen = false;

	gtk_container_set_border_width(GTK_CONTAINER(box), 12);
	gtk_button_box_set_layout(GTK_BUTTON_BOX(row), GTK_BUTTONBOX_END);
	gtk_box_set_spacing(GTK_BOX(row), 8);
	gtk_container_add(GTK_CONTAINER(row), choose);
	gtk_container_add(GTK_CONTAINER(row), close);
	gtk_container_add(GTK_CONTAINER(box), notice_text(text));
	gtk_container_add(GTK_CONTAINER(box), row);
	gtk_container_add(GTK_CONTAINER(frame), box);
	gtk_container_add(GTK_CONTAINER(window), frame);
	g_signal_connect(choose, "clicked", G_CALLBACK(on_chosen), &chosen);
	g_signal_connect(close, "clicked", gtk_main_quit, NULL);
	g_signal_connect(window, "destroy", gtk_main_quit, NULL);
	gtk_widget_show_all(frame);
	agent_window_place(window, WIDTH);
	notice_timeout_start(&n);
	gtk_main();
	return chosen;
}
