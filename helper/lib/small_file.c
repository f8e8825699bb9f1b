// SPDX-License-Identifier: GPL-2.0-only
/* Small files, as /proc and /sys have them: read at once, without allocating. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "small_file.h"

ssize_t tipme_file_read(const char *path, char *text, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : 0;
	size_t len = 0;

	/* Some files of /proc give a page at a time. */
	while (fd >= 0 && len < cap - 1 && (n = read(fd, text + len, cap - 1 - len)) > 0)
		len += (size_t)n;
	int err = n < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	text[err ? 0 : len] = '\0';
	return err ? err : (ssize_t)len;
}

bool tipme_file_line(const char *path, char *line, size_t cap)
{
	ssize_t n = tipme_file_read(path, line, cap);

	line[strcspn(line, "\n")] = '\0';
	return n > 0;
}

bool tipme_file_number(const char *path, int64_t *number)
{
	char text[32], *end;

	*number = 0;
	if (tipme_file_read(path, text, sizeof(text)) <= 0)
		return false;
	*number = strtoll(text, &end, 10);
	return end != text;
}
