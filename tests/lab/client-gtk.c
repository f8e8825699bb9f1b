// SPDX-License-Identifier: GPL-2.0-only
/* A GTK program: a key or a click makes it do its deeds and then change a label. */
#include "config.h"

#include <gtk/gtk.h>
#include <string.h>
#include <sys/prctl.h>

#include "deeds.h"

static char typed[64];

static void answer(GtkWidget *label, gboolean with_deeds, char c)
{
	size_t n = strlen(typed);

	if (with_deeds)
		deeds_do(NULL, NULL);
	if (n == sizeof(typed) - 1)
		n = 0;
	typed[n] = c;
	typed[n + 1] = 0;
	gtk_label_set_text(GTK_LABEL(label), typed);
	if (with_deeds)
		deeds_tell();
}

static gboolean on_key(GtkEventControllerKey *k, guint keyval, guint code, GdkModifierType state,
		       gpointer label)
{
	(void)k, (void)code;
	if (state & (GDK_CONTROL_MASK | GDK_ALT_MASK) || keyval > 127 || keyval < 33)
		return FALSE;
	answer(label, keyval == GDK_KEY_x, (char)keyval);
	return TRUE;
}

static void on_click(GtkGestureClick *g, int count, double x, double y, gpointer label)
{
	(void)g, (void)count, (void)x, (void)y;
	answer(label, TRUE, '*');
}

static void on_activate(GtkApplication *app, gpointer arg)
{
	GtkWidget *window = gtk_application_window_new(app), *label = gtk_label_new("...");
	GtkEventController *key = gtk_event_controller_key_new();
	GtkGesture *click = gtk_gesture_click_new();

	(void)arg;
	gtk_window_set_title(GTK_WINDOW(window), "tipme-stage");
	gtk_window_set_decorated(GTK_WINDOW(window), FALSE);
	gtk_window_set_default_size(GTK_WINDOW(window), 1280, 800);
	gtk_window_set_child(GTK_WINDOW(window), label);
	g_signal_connect(key, "key-pressed", G_CALLBACK(on_key), label);
	g_signal_connect(click, "pressed", G_CALLBACK(on_click), label);
	gtk_widget_add_controller(window, key);
	gtk_widget_add_controller(window, GTK_EVENT_CONTROLLER(click));
	gtk_window_present(GTK_WINDOW(window));
}

int main(int argc, char **argv)
{
	GtkApplication *app;

	if (argc != 3 || (argv[2][0] && deeds_open(argv[2]))) {
		g_printerr("usage: client-gtk NAME DEEDS\n");
		return 64;
	}
	gtk_init();
	prctl(PR_SET_NAME, argv[1]);
	app = gtk_application_new(NULL, G_APPLICATION_NON_UNIQUE);
	g_signal_connect(app, "activate", G_CALLBACK(on_activate), NULL);
	return g_application_run(G_APPLICATION(app), 0, NULL);
}
