/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file of columns: docs/formats.md, "A file of columns". Written into a mapping, so that it can
 * be filled in any order; a reader maps it.
 */
#ifndef TIPME_EPISODE_TABLE_H
#define TIPME_EPISODE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIPME_COLUMNS_MAGIC "TIPMECOL"
#define TIPME_COLUMNS_MAJOR 1U
#define TIPME_COLUMNS_MINOR 0U
#define TIPME_COLUMNS_MOST 256U

struct tipme_columns_header {
	char magic[8];
	uint32_t byte_order; /* of the columns: 0x01020304 little-endian, 0x04030201 big-endian */
	uint16_t major, minor;
	uint32_t header_len; /* bytes of this and all entries; columns begin behind it */
	uint32_t columns; /* how many entries follow */
	uint64_t file_len;
	uint64_t from_ns, to_ns, exact_ns; /* what was asked for; from when all CPUs are complete */
	uint64_t reserved0;
};
_Static_assert(sizeof(struct tipme_columns_header) == 64, "header");

struct tipme_columns_entry {
	char table[16], name[16]; /* NUL-padded */
	uint32_t width; /* bytes of a number: 1, 2, 4 or 8; text: 1 */
	uint32_t reserved0;
	uint64_t rows;
	uint64_t offset; /* from the beginning of the file; a multiple of 64 */
	uint64_t reserved1;
};
_Static_assert(sizeof(struct tipme_columns_entry) == 64, "entry");

/* A column that is to be: the caller fills *data once the mapping is there. */
struct tipme_columns_want {
	const char *table, *name;
	uint32_t width;
	uint64_t rows;
	void **data;
};

struct tipme_columns_map {
	uint8_t *at;
	size_t len;
};

/*
 * Makes room for all columns: in the file behind `fd`, which gets that length, or in memory if fd
 * is -1. Sets each *data. Frees nothing on error. -ENOSPC: no room on the disk.
 */
int tipme_columns_make(struct tipme_columns_map *map, int fd, bool big_endian,
		       const struct tipme_columns_want *want, uint32_t count);
void tipme_columns_free(struct tipme_columns_map *map);

/* Maps a file of columns for reading: 0 or -errno; -EPROTO: not one, or damaged. */
int tipme_columns_open(struct tipme_columns_map *map, int fd);

/* Are the numbers of its columns big-endian? */
bool tipme_columns_swapped(const struct tipme_columns_map *map);

/* A column of a mapped file: its data, NULL if it is not there or of another width. */
const void *tipme_columns_find(const struct tipme_columns_map *map, const char *table,
			       const char *name, uint32_t width, uint64_t *rows);

#endif
