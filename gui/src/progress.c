// SPDX-License-Identifier: GPL-2.0-only
/* It is seen only when reading takes longer than a moment. */
#include "config.h"

#include "progress.h"

#include "language.h"
#include "pages.h"

#define SOON_MS 300 /* what is read by then shows no bar */

typedef struct {
	TipmeSession *session;
	GtkWidget *revealer, *bar;
	guint waiting; /* source that shows it, or 0 */
} Progress;

static gboolean on_soon(gpointer data)
{
	Progress *progress = data;

	progress->waiting = 0;
	gtk_revealer_set_reveal_child(GTK_REVEALER(progress->revealer), TRUE);
	return G_SOURCE_REMOVE;
}

static void hide(Progress *progress)
{
	if (progress->waiting)
		g_source_remove(progress->waiting);
	progress->waiting = 0;
	gtk_revealer_set_reveal_child(GTK_REVEALER(progress->revealer), FALSE);
}

static void on_progress(TipmeSession *session, Progress *progress)
{
	double share = tipme_session_share(session);

	gtk_progress_bar_set_fraction(GTK_PROGRESS_BAR(progress->bar), share);
	gtk_progress_bar_set_text(GTK_PROGRESS_BAR(progress->bar),
				  share > 0 ? _("Reading the records")
					    : _("Asking for the verdict"));
	if (!tipme_session_is_loading(session))
		hide(progress);
	else if (!progress->waiting &&
		 !gtk_revealer_get_reveal_child(GTK_REVEALER(progress->revealer)))
		progress->waiting = g_timeout_add(SOON_MS, on_soon, progress);
}

static void progress_free(gpointer data)
{
	Progress *progress = data;

	if (progress->waiting)
		g_source_remove(progress->waiting);
	g_signal_handlers_disconnect_by_data(progress->session, progress);
	g_object_unref(progress->session);
	g_free(progress);
}

GtkWidget *tipme_progress_new(TipmeSession *session)
{
	Progress *progress = g_new0(Progress, 1);
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);

	progress->session = g_object_ref(session);
	progress->revealer = gtk_revealer_new();
	progress->bar = gtk_progress_bar_new();
	gtk_progress_bar_set_show_text(GTK_PROGRESS_BAR(progress->bar), TRUE);
	gtk_widget_set_hexpand(progress->bar, TRUE);
	gtk_widget_set_valign(progress->bar, GTK_ALIGN_CENTER);
	g_object_set(box, "margin-start", 12, "margin-end", 12, "margin-top", 6, "margin-bottom", 6,
		     NULL);
	gtk_box_append(GTK_BOX(box), progress->bar);
	gtk_box_append(GTK_BOX(box), tipme_action_button("cancel"));
	gtk_revealer_set_child(GTK_REVEALER(progress->revealer), box);
	g_signal_connect(session, "progress", G_CALLBACK(on_progress), progress);
	g_object_set_data_full(G_OBJECT(progress->revealer), "progress", progress, progress_free);
	return progress->revealer;
}
