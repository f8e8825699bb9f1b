/* SPDX-License-Identifier: GPL-2.0-only */
/* The stages from the finger to the screen, side by side, the slow one marked. */
#ifndef TIPME_GUI_RIBBON_H
#define TIPME_GUI_RIBBON_H

#include <gtk/gtk.h>

#include "answer.h"

/* NULL: the answer has no stages. */
GtkWidget *tipme_ribbon_new(const TipmeAnswer *answer);

#endif
