/* SPDX-License-Identifier: GPL-2.0-only */
/* The library's folder: tells when the list of episodes may say something else. */
#ifndef TIPME_GUI_WATCH_H
#define TIPME_GUI_WATCH_H

#include <glib.h>

typedef struct _TipmeWatch TipmeWatch;

/* changed() is called once for changes that come together. */
TipmeWatch *tipme_watch_new(const char *folder, void (*changed)(gpointer data), gpointer data);

/* Accepts NULL. */
void tipme_watch_free(TipmeWatch *watch);

#endif
