// SPDX-License-Identifier: GPL-2.0-only
/* The boots of which a library has episodes, in their order. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boots.h"
#include "small_file.h"

#define NAME "boots"
#define NAME_NEW ".boots.tmp"

static bool is_boot_id(const char *id)
{
	return strlen(id) == TIPMED_BOOT_ID_CHARS &&
	       strspn(id, "0123456789abcdef-") == TIPMED_BOOT_ID_CHARS;
}

void tipmed_boot_id(char id[TIPMED_BOOT_ID_CHARS + 1])
{
	tipme_file_line("/proc/sys/kernel/random/boot_id", id, TIPMED_BOOT_ID_CHARS + 1);
	if (!is_boot_id(id))
		id[0] = '\0';
}

static void boots_add(struct tipmed_boots *b, const char *id)
{
	if (b->count == TIPMED_BOOTS_MAX)
		memmove(b->id[0], b->id[1], --b->count * sizeof(b->id[0]));
	memcpy(b->id[b->count++], id, sizeof(b->id[0]));
}

void tipmed_boots_read(struct tipmed_boots *b, int library_fd)
{
	int fd = openat(library_fd, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[TIPMED_BOOT_ID_CHARS + 3];
	struct stat st;

	b->count = 0;
	while (file && !fstat(fd, &st) && S_ISREG(st.st_mode) && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (is_boot_id(line) && !tipmed_boots_find(b, line))
			boots_add(b, line);
	}
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
}

unsigned int tipmed_boots_find(const struct tipmed_boots *b, const char *id)
{
	for (unsigned int i = b->count; i; i--)
		if (!strcmp(b->id[i - 1], id))
			return i;
	return 0;
}

static int boots_print(const struct tipmed_boots *b, FILE *file)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < b->count; i++)
		err = fprintf(file, "%s\n", b->id[i]) < 0 ? -EIO : 0;
	if (!err && (fflush(file) || fsync(fileno(file))))
		err = -errno;
	return err;
}

static int boots_write(const struct tipmed_boots *b, int library_fd)
{
	int fd = openat(library_fd, NAME_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int err = file ? boots_print(b, file) : -errno;

	if (file && fclose(file) && !err)
		err = -errno;
	else if (!file && fd >= 0)
		close(fd);
	if (!err && renameat(library_fd, NAME_NEW, library_fd, NAME))
		err = -errno;
	if (err)
		unlinkat(library_fd, NAME_NEW, 0);
	return err;
}

int tipmed_boots_note(int library_fd)
{
	struct tipmed_boots *b = malloc(sizeof(*b));
	char id[TIPMED_BOOT_ID_CHARS + 1];
	int err = b ? 0 : -ENOMEM;

	tipmed_boot_id(id);
	if (!err && id[0]) {
		tipmed_boots_read(b, library_fd);
		if (!b->count || strcmp(b->id[b->count - 1], id)) {
			boots_add(b, id);
			err = boots_write(b, library_fd);
		}
	}
	free(b);
	return err;
}
