/* SPDX-License-Identifier: GPL-2.0-only */
/* A chart of curves.h: axes, stairs, thresholds. */
#ifndef TIPME_GUI_CHART_H
#define TIPME_GUI_CHART_H

#include <gtk/gtk.h>

#include "curves.h"

/* Draws a chart of `charts`, which it keeps alive. */
GtkWidget *tipme_chart_new(GPtrArray *charts, guint nr);

#endif
