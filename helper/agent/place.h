/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a small window of the agent goes: a corner of the screen, never under the pointer, never
 * over another.
 */
#ifndef TIPME_AGENT_PLACE_H
#define TIPME_AGENT_PLACE_H

#include <gtk/gtk.h>

/*
 * A window that never takes the focus by itself: it is mapped without it, stays above, and gets
 * it only by a click.
 */
GtkWidget *agent_window_new(const char *title, int width);

/*
 * Shows `window`, whose contents are shown already, in the first corner of the pointer's monitor
 * that is far enough from the pointer and holds no other window of the agent; there it stays when
 * it grows. For the life of the process.
 */
void agent_window_place(GtkWidget *window, int width);

#endif
