/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The windows of tipme-dialog: a notice with a button, and the question. Each ends the main loop
 * of GTK.
 */
#ifndef TIPME_AGENT_NOTICE_H
#define TIPME_AGENT_NOTICE_H

#include <gtk/gtk.h>
#include <stdbool.h>

/*
 * A line of text and a button, for desktops without notifications. Returns whether the button was
 * chosen within `timeout_s`.
 */
bool notice_ask(const char *text, const char *button, int timeout_s);

/* A label that wraps, and begins at the left. */
GtkWidget *notice_label(const char *text);

/* A button whose mnemonic is the first `key` of its text. */
GtkWidget *notice_button(const char *text, char key);

#endif
