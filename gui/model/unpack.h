/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that somebody else has bundled, as `tipme open` unpacks them. */
#ifndef TIPME_GUI_UNPACK_H
#define TIPME_GUI_UNPACK_H

#include <glib.h>

/*
 * The folder for the content of a file, below the user's cache: the same for the same file until
 * it changes. Its parent is made. NULL: `file` is no regular file, or, where *why is a sentence
 * then, the cache cannot be written.
 */
char *tipme_unpack_folder(const char *file, char **why);

#endif
