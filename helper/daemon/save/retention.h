/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What goes from the library to make room: the oldest episodes by count, size and age, the mildest
 * of those that were taken without a human.
 */
#ifndef TIPMED_RETENTION_H
#define TIPMED_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

/*
 * What is known of the episodes of a library, oldest first. Begins as zeroes; belongs to the writer
 * thread.
 */
struct tipmed_shelf {
	struct tipmed_kept *kept;
	size_t count, room;
	/* how many root and the owner asked for, and how many others did */
	unsigned int own, friends;
	uint64_t bytes, friends_bytes; /* on disk: of the first, of the others */
	/* the number of the present one among those that the library knows; 0: it knows none */
	unsigned int boot;
};

/* Whether anything is ever removed to make room. */
bool tipmed_retention_limits(const struct tipmed_retention *keep);

/*
 * Reads what has changed since the last time: two looks at an episode that is as it was, about ten
 * files at one that is new.
 */
void tipmed_shelf_read(struct tipmed_shelf *shelf, int library_fd);
void tipmed_shelf_free(struct tipmed_shelf *shelf);

/*
 * In the writer, after an episode was saved: `spare` is its id, which stays, as do pinned ones.
 * Returns how many went.
 */
unsigned int tipmed_retention_keep(struct tipmed_shelf *shelf, int library_fd,
				   const struct tipmed_retention *keep, const char *spare);

#endif
