/* SPDX-License-Identifier: GPL-2.0-only */
/* Small files, as /proc and /sys have them: read at once, without allocating. */
#ifndef TIPME_SMALL_FILE_H
#define TIPME_SMALL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads a file into `text`, as far as it fits; the result is NUL-terminated. Returns the length, or
 * -errno, and then the text is empty.
 */
ssize_t tipme_file_read(const char *path, char *text, size_t cap);

/* The first line of a file, without its end. Returns false, and an empty line, if there is none. */
bool tipme_file_line(const char *path, char *line, size_t cap);

/* The decimal number that a file begins with. Returns false, and 0, if it begins with none. */
bool tipme_file_number(const char *path, int64_t *number);

#endif
