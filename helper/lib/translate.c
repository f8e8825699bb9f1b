// SPDX-License-Identifier: GPL-2.0-only
/* Sentences for people, in their language. */
#include "config.h"

#include <locale.h>
#include <stdlib.h>

#include "translate.h"

/* The catalogue of the installation; the build tree names its own. */
void tipme_language_begin(void)
{
	const char *named = getenv("TIPME_LOCALEDIR");

	setlocale(LC_CTYPE, "");
	setlocale(LC_MESSAGES, "");
	bindtextdomain("tipme", named && *named ? named : TIPME_LOCALEDIR);
	bind_textdomain_codeset("tipme", "UTF-8");
}

const char *tipme_help(const char *usage)
{
	tipme_language_begin();
	return _(usage);
}
