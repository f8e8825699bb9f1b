/* SPDX-License-Identifier: GPL-2.0-only */
/* When nobody listens, the server saves its own records. */
#ifndef TIPME_DUMP_H
#define TIPME_DUMP_H

#include <stddef.h>

/*
 * Writes the records of these rings (those that are not -1) into a new file of this folder,
 * readable by its owner only. Not for a thread that must not wait. Returns 0 and the file's path,
 * or -errno and nothing is left behind.
 */
int tipme_dump_save(const char *dir, const int *ring_fds, unsigned count, char *path,
		    size_t path_len);

#endif
