// SPDX-License-Identifier: GPL-2.0-only
/* A GTK program that ends when its window has been drawn for the first time. */
#include <gtk/gtk.h>

static void on_painted(GdkFrameClock *clock, gpointer app)
{
	g_signal_handlers_disconnect_by_func(clock, on_painted, app);
	g_application_quit(app);
}

static void on_mapped(GtkWidget *window, gpointer app)
{
	GdkFrameClock *clock = gtk_widget_get_frame_clock(window);

	g_signal_connect(clock, "after-paint", G_CALLBACK(on_painted), app);
}

static void on_activate(GtkApplication *app, gpointer data)
{
	GtkWidget *window = gtk_application_window_new(app);

	(void)data;
	gtk_window_set_child(GTK_WINDOW(window), gtk_label_new("tipme bench"));
	g_signal_connect(window, "map", G_CALLBACK(on_mapped), app);
	gtk_window_present(GTK_WINDOW(window));
}

int main(void)
{
	g_autoptr(GtkApplication) app = gtk_application_new(NULL, G_APPLICATION_NON_UNIQUE);

	g_signal_connect(app, "activate", G_CALLBACK(on_activate), NULL);
	return g_application_run(G_APPLICATION(app), 0, NULL);
}
