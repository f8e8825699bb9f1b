/* SPDX-License-Identifier: GPL-2.0-only */
/* What goes from the library to make room: the oldest episodes by count, size and age, the mildest of those that were taken without a human. */
#ifndef TIPMED_RETENTION_H
#define TIPMED_RETENTION_H

#include "options.h"

/* In the writer, after an episode was saved: `spare` is its id, which stays, as do pinned ones. Returns how many went. */
unsigned int tipmed_retention_keep(int library_fd, const struct tipmed_retention *keep, const char *spare);

#endif
