/* SPDX-License-Identifier: GPL-2.0-only */
/* A bar while an episode is read, with a button that stops that. */
#ifndef TIPME_GUI_PROGRESS_H
#define TIPME_GUI_PROGRESS_H

#include <gtk/gtk.h>

#include "session.h"

GtkWidget *tipme_progress_new(TipmeSession *session);

#endif
