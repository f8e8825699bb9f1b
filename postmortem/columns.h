/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of tipme-columns share. */
#ifndef TIPME_COLUMNS_H
#define TIPME_COLUMNS_H

#include "episode/private.h"

/*
 * Writes a Perfetto trace of the records of [from, to) to a descriptor: how many stand in it, and how
 * many have no place there. -errno where the episode does not open or nothing more can be written.
 */
int tipme_perfetto(const char *dir, int fd, uint64_t from, uint64_t to, uint64_t *written, uint64_t *left);

#endif
