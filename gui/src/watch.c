// SPDX-License-Identifier: GPL-2.0-only
/* A monitor of the library's folder; what comes within a moment is one change. */
#include "config.h"

#include "watch.h"

#include "episodes.h"

#include <gio/gio.h>

#define CHANGES_MS 300 /* changes of the folder within that are one */

struct _TipmeWatch {
	GFileMonitor *monitor; /* NULL: the folder cannot be watched */
	guint changes; /* source that tells, or 0 */
	void (*changed)(gpointer data);
	gpointer data;
};

static gboolean on_settled(gpointer data)
{
	TipmeWatch *self = data;

	self->changes = 0;
	self->changed(self->data);
	return G_SOURCE_REMOVE;
}

static void on_folder(GFileMonitor *monitor, GFile *file, GFile *other, GFileMonitorEvent event,
		      TipmeWatch *self)
{
	g_autofree char *name = g_file_get_basename(file);
	g_autofree char *new_name = other ? g_file_get_basename(other) : g_strdup("");

	if (!tipme_rows_change(name) && !tipme_rows_change(new_name))
		return;
	if (!self->changes)
		self->changes = g_timeout_add(CHANGES_MS, on_settled, self);
}

TipmeWatch *tipme_watch_new(const char *folder, void (*changed)(gpointer data), gpointer data)
{
	g_autoptr(GFile) file = g_file_new_for_path(folder);
	TipmeWatch *self = g_new0(TipmeWatch, 1);

	self->changed = changed;
	self->data = data;
	self->monitor = g_file_monitor_directory(file, G_FILE_MONITOR_WATCH_MOVES, NULL, NULL);
	if (self->monitor)
		g_signal_connect(self->monitor, "changed", G_CALLBACK(on_folder), self);
	return self;
}

void tipme_watch_free(TipmeWatch *self)
{
	if (!self)
		return;
	if (self->changes)
		g_source_remove(self->changes);
	if (self->monitor)
		g_signal_handlers_disconnect_by_data(self->monitor, self);
	g_clear_object(&self->monitor);
	g_free(self);
}
