/* SPDX-License-Identifier: GPL-2.0-only */
/* Sentences that were written in English first (Tipme::Told), in the user's language. */
#ifndef TIPME_RETOLD_H
#define TIPME_RETOLD_H

/* The text in the user's language, or as it is. It belongs to the caller; NULL: no memory. */
char *tipme_retold(const char *text);

#endif
