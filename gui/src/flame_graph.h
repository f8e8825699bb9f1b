/* SPDX-License-Identifier: GPL-2.0-only */
/* A flame graph of the samples of the selection: of its range, else of what is visible. */
#ifndef TIPME_GUI_FLAME_WIDGET_H
#define TIPME_GUI_FLAME_WIDGET_H

#include <gtk/gtk.h>

#include "session.h"

/* It is invisible where there are no samples. */
GtkWidget *tipme_flame_graph_new(TipmeSession *session);

#endif
