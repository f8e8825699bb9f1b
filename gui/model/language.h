/* SPDX-License-Identifier: GPL-2.0-only */
/* Sentences for people: _() says them in the user's language, N_() only marks those of tables. */
#ifndef TIPME_GUI_LANGUAGE_H
#define TIPME_GUI_LANGUAGE_H

#define GETTEXT_PACKAGE "tipme" /* one catalog for the verbs and the window */

#include <glib/gi18n-lib.h>

#endif
