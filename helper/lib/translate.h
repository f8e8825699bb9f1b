/* SPDX-License-Identifier: GPL-2.0-only */
/* Sentences for people: _() says them in the user's language, N_() only marks those of tables. */
#ifndef TIPME_TRANSLATE_H
#define TIPME_TRANSLATE_H

#include <libintl.h>

#define _(text) dgettext("tipme", text)
#define N_(text) text

/* Takes the user's language from the environment; numbers and dates stay as they are. */
void tipme_language_begin(void);

/* The help of a program that says nothing else in the user's language. */
const char *tipme_help(const char *usage);

#endif
