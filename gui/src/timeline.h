/* SPDX-License-Identifier: GPL-2.0-only */
/* The canvas of the timeline: lanes over the visible time, or, as an overview, over all of it. */
#ifndef TIPME_GUI_TIMELINE_H
#define TIPME_GUI_TIMELINE_H

#include <gtk/gtk.h>

#include "session.h"

#define TIPME_TYPE_TIMELINE (tipme_timeline_get_type())
G_DECLARE_FINAL_TYPE(TipmeTimeline, tipme_timeline, TIPME, TIMELINE, GtkWidget)

/* overview: thin lanes over the whole episode, with the visible stretch framed. */
GtkWidget *tipme_timeline_new(TipmeSession *session, gboolean overview);

/* The name of the deed (actions.h) that a key does on the canvas; NULL: none. */
const char *tipme_timeline_deed(guint key, GdkModifierType held);

#endif
