// SPDX-License-Identifier: GPL-2.0-only
/* Files of columns: laid out, mapped, found again. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "episode/table.h"
#include "tipme_records.h"

#define ALIGN 64U
#define FILE_MOST (64ULL << 30)

static uint64_t aligned(uint64_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static uint64_t total(const struct tipme_columns_want *want, uint32_t count)
{
	uint64_t len =
		sizeof(struct tipme_columns_header) + count * sizeof(struct tipme_columns_entry);

	for (uint32_t i = 0; i < count; i++)
		len += aligned(want[i].rows * want[i].width);
	return len;
}

static void fill_directory(uint8_t *at, bool big_endian, const struct tipme_columns_want *want,
			   uint32_t count, uint64_t len)
{
	struct tipme_columns_header *h = (void *)at;
	struct tipme_columns_entry *e = (void *)(h + 1);
	uint64_t offset = sizeof(*h) + count * sizeof(*e);

	memcpy(h->magic, TIPME_COLUMNS_MAGIC, sizeof(h->magic));
	h->byte_order = big_endian ? __builtin_bswap32(TIPME_BYTE_ORDER) : TIPME_BYTE_ORDER;
	h->major = TIPME_COLUMNS_MAJOR;
	h->minor = TIPME_COLUMNS_MINOR;
	h->header_len = (uint32_t)offset;
	h->columns = count;
	h->file_len = len;
	for (uint32_t i = 0; i < count; i++) {
		strncpy(e[i].table, want[i].table, sizeof(e[i].table) - 1);
		strncpy(e[i].name, want[i].name, sizeof(e[i].name) - 1);
		e[i].width = want[i].width;
		e[i].rows = want[i].rows;
		e[i].offset = offset;
		*want[i].data = at + offset;
		offset += aligned(want[i].rows * want[i].width);
	}
}

int tipme_columns_make(struct tipme_columns_map *map, int fd, bool big_endian,
		       const struct tipme_columns_want *want, uint32_t count)
{
	uint64_t len = total(want, count);

	if (count > TIPME_COLUMNS_MOST || len > FILE_MOST)
		return -E2BIG;
	int err = fd >= 0 ? posix_fallocate(fd, 0, (off_t)len) : 0;

	if (err)
		return -err;
	void *at = mmap(NULL, (size_t)len, PROT_READ | PROT_WRITE,
			fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	map->at = at;
	map->len = (size_t)len;
	fill_directory(map->at, big_endian, want, count, len);
	return 0;
}

void tipme_columns_free(struct tipme_columns_map *map)
{
	if (map->at)
		munmap(map->at, map->len);
	map->at = NULL;
	map->len = 0;
}

static bool directory_ok(const struct tipme_columns_map *map)
{
	const struct tipme_columns_header *h = (const void *)map->at;
	const struct tipme_columns_entry *e = (const void *)(h + 1);

	if (memcmp(h->magic, TIPME_COLUMNS_MAGIC, sizeof(h->magic)) ||
	    (h->byte_order != TIPME_BYTE_ORDER &&
	     h->byte_order != __builtin_bswap32(TIPME_BYTE_ORDER)) ||
	    h->major != TIPME_COLUMNS_MAJOR || h->columns > TIPME_COLUMNS_MOST ||
	    h->file_len != map->len)
		return false;
	if (h->header_len != sizeof(*h) + h->columns * sizeof(*e) || h->header_len > map->len)
		return false;
	for (uint32_t i = 0; i < h->columns; i++) {
		bool width_ok =
			e[i].width == 1 || e[i].width == 2 || e[i].width == 4 || e[i].width == 8;

		if (!width_ok || e[i].offset % ALIGN || e[i].offset < h->header_len ||
		    e[i].offset > map->len || e[i].rows > (map->len - e[i].offset) / e[i].width)
			return false;
	}
	return true;
}

int tipme_columns_open(struct tipme_columns_map *map, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (size_t)st.st_size < sizeof(struct tipme_columns_header))
		return -EPROTO;
	void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	*map = (struct tipme_columns_map){ at, (size_t)st.st_size };
	if (directory_ok(map))
		return 0;
	tipme_columns_free(map);
	return -EPROTO;
}

bool tipme_columns_swapped(const struct tipme_columns_map *map)
{
	const struct tipme_columns_header *h = (const void *)map->at;

	return h->byte_order != TIPME_BYTE_ORDER;
}

const void *tipme_columns_find(const struct tipme_columns_map *map, const char *table,
			       const char *name, uint32_t width, uint64_t *rows)
{
	const struct tipme_columns_header *h = (const void *)map->at;
	const struct tipme_columns_entry *e = (const void *)(h + 1);

	for (uint32_t i = 0; i < h->columns; i++) {
		if (strncmp(e[i].table, table, sizeof(e[i].table)) ||
		    strncmp(e[i].name, name, sizeof(e[i].name)) || e[i].width != width)
			continue;
		*rows = e[i].rows;
		return map->at + e[i].offset;
	}
	*rows = 0;
	return NULL;
}
