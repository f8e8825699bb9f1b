/* SPDX-License-Identifier: GPL-2.0-only */
/* What the window was when it was closed: its size, page, episode, and the timeline's state. */
#ifndef TIPME_GUI_REMEMBER_H
#define TIPME_GUI_REMEMBER_H

#include <adwaita.h>

#include "session.h"
#include "state.h"

typedef struct TipmeRemember TipmeRemember;

/* Takes size and lanes over from what was remembered; keep: remember them anew. */
TipmeRemember *tipme_remember_new(GtkWindow *window, AdwViewStack *stack, GtkWidget *timeline,
				  TipmeSession *session, gboolean keep);

/* Accepts NULL. */
void tipme_remember_free(TipmeRemember *remember);

/* What the file said when the window was made. */
const TipmeState *tipme_remember_state(TipmeRemember *remember);

/* The newest episode that the list has. */
void tipme_remember_newest(TipmeRemember *remember, const char *id);

#endif
