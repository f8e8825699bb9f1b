/* SPDX-License-Identifier: GPL-2.0-only */
/* Buttons of the pages; where they do not fit, as with large text, a menu. */
#ifndef TIPME_GUI_SWITCHER_H
#define TIPME_GUI_SWITCHER_H

#include <adwaita.h>

GtkWidget *tipme_switcher_new(AdwViewStack *stack);

#endif
