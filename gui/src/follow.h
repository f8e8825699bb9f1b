/* SPDX-License-Identifier: GPL-2.0-only */
/* Who turns to a report, or to a check, means the episode that he looks at. */
#ifndef TIPME_GUI_FOLLOW_H
#define TIPME_GUI_FOLLOW_H

#include "pages.h"

/*
 * A page is shown: set() gets the open episode, else the first that is selected, unless the page
 * had that before. `told`: it is about something else that was asked for, which it keeps.
 */
void tipme_follow(GtkWidget *page, void (*set)(GtkWidget *page, GPtrArray *rows),
		  GtkWidget *episodes, TipmeSession *session, gboolean told);

#endif
