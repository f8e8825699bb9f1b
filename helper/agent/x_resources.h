/* SPDX-License-Identifier: GPL-2.0-only */
/* What the desktop tells programs of its look by X resources. */
#ifndef TIPME_AGENT_X_RESOURCES_H
#define TIPME_AGENT_X_RESOURCES_H

#include <X11/Xlib.h>
#include <stdbool.h>

/* Dots an inch; 0: nothing is told. */
int agent_told_dpi(Display *display);
/*
 * The colour `name`, "foreground" or "background", of all programs or of tipme. Waits for the
 * server. Returns false, and nothing in *pixel, where none is told.
 */
bool agent_told_colour(Display *display, const char *name, unsigned long *pixel);

#endif
