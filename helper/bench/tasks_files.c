// SPDX-License-Identifier: GPL-2.0-only
/* Tasks with files; section 4.5 of the paper. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "task.h"

#define BUFFER (64 << 10)
#define READ_FILES 16U
#define READ_BYTES (128U << 10)
#define SMALL_FOLDERS 32U
#define SMALL_FILES 256U /* in each folder: 8,192 in all */
#define SMALL_BYTES (8U << 10)
#define CREATED 128U

struct files {
	unsigned int folder; /* whose files the next repeat reads */
	char buffer[BUFFER];
};

static int write_file(const char *path, size_t bytes, int sync)
{
	static char zeros[BUFFER];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), err = 0;

	if (fd < 0)
		return -errno;
	while (bytes && !err) {
		ssize_t n = write(fd, zeros, bytes < sizeof(zeros) ? bytes : sizeof(zeros));

		err = n < 0 ? -errno : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
	if (!err && sync && fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

static int read_file(struct files *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, f->buffer, sizeof(f->buffer))) > 0)
		;
	err = n < 0 ? -errno : 0;
	close(fd);
	return err;
}

static void name_read(const struct tipme_task_run *r, char *path, size_t len, unsigned int i)
{
	snprintf(path, len, "%s/%u", r->folder, i % READ_FILES);
}

static int prepare_read(struct tipme_task_run *r)
{
	char path[600];
	int err = 0;

	r->state = calloc(1, sizeof(struct files));
	if (!r->state)
		return -ENOMEM;
	for (unsigned int i = 0; i < READ_FILES && !err; i++) {
		name_read(r, path, sizeof(path), i);
		err = write_file(path, READ_BYTES, 0);
	}
	return err;
}

static int run_read(struct tipme_task_run *r)
{
	char path[600];
	int err = 0;

	for (unsigned int i = 0; i < r->references && !err; i++) {
		name_read(r, path, sizeof(path), i);
		err = read_file(r->state, path);
	}
	return err;
}

/* --- small files from the disk --- */

static void name_small(const struct tipme_task_run *r, char *path, size_t len, unsigned int i)
{
	const struct files *f = r->state;

	snprintf(path, len, "%s/%u/%u", r->folder, f->folder, i);
}

static int prepare_small(struct tipme_task_run *r)
{
	struct files *f = calloc(1, sizeof(*f));
	char path[600];
	int err = f ? 0 : -ENOMEM;

	r->state = f;
	for (unsigned int d = 0; d < SMALL_FOLDERS && !err; d++) {
		f->folder = d;
		snprintf(path, sizeof(path), "%s/%u", r->folder, d);
		err = mkdir(path, 0700) ? -errno : 0;
		for (unsigned int i = 0; i < SMALL_FILES && !err; i++) {
			name_small(r, path, sizeof(path), i);
			err = tipme_task_interrupted ? -EINTR : write_file(path, SMALL_BYTES, 0);
		}
	}
	/* Dirty pages cannot be evicted; one call for all of them is much less than 8,192. */
	int fd = err ? -1 : open(r->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		err = syncfs(fd) ? -errno : 0;
		close(fd);
	}
	return err;
}

/* Evicts the file's pages. Returns -ENOTSUP where the file system keeps them. */
static int evict(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char in[SMALL_BYTES / 4096] = { 0 };
	int err = 0;

	if (fd < 0)
		return -errno;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	void *at = mmap(NULL, SMALL_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED || mincore(at, SMALL_BYTES, in) || in[0] & 1)
		err = -ENOTSUP;
	if (at != MAP_FAILED)
		munmap(at, SMALL_BYTES);
	close(fd);
	return err;
}

static int before_small(struct tipme_task_run *r)
{
	struct files *f = r->state;
	char path[600];
	int err = 0;

	f->folder = (f->folder + 1) % SMALL_FOLDERS;
	for (unsigned int i = 0; i < r->references && !err; i++) {
		name_small(r, path, sizeof(path), i);
		err = evict(path);
	}
	if (err == -ENOTSUP)
		return tipme_task_fail(r, err,
				       "the file system keeps these files in memory: name a "
				       "folder on a disk with --folder");
	return err;
}

static int run_small(struct tipme_task_run *r)
{
	char path[600];
	int err = 0;

	for (unsigned int i = 0; i < r->references && !err; i++) {
		name_small(r, path, sizeof(path), i);
		err = read_file(r->state, path);
	}
	return err;
}

/* --- empty files --- */

static int create(struct tipme_task_run *r, int sync)
{
	char path[600];
	int err = 0;

	for (unsigned int i = 0; i < r->references && !err; i++) {
		snprintf(path, sizeof(path), "%s/%u", r->folder, i);
		err = write_file(path, 0, sync);
	}
	return err;
}

static int run_create(struct tipme_task_run *r)
{
	return create(r, !strcmp(r->variant, "fsync"));
}

static int after_create(struct tipme_task_run *r)
{
	char path[600];
	int err = 0;

	for (unsigned int i = 0; i < r->references && !err; i++) {
		snprintf(path, sizeof(path), "%s/%u", r->folder, i);
		err = unlink(path) ? -errno : 0;
	}
	return err;
}

static void finish_files(struct tipme_task_run *r)
{
	free(r->state);
}

#define READ_DISK (READ_FILES * READ_BYTES + (1U << 20))
/* An inode and a block each, and as much again for what the file system notes. */
#define SMALL_DISK (2ULL * SMALL_FOLDERS * SMALL_FILES * SMALL_BYTES)

const struct tipme_task tipme_tasks_files[] = {
	{ .name = "fs-read",
	  .what = "a file of 128 KB that is in memory, opened and read",
	  .unit = "file",
	  .references = 256,
	  .repeats = 8,
	  .disk_bytes = READ_DISK,
	  .prepare = prepare_read,
	  .run = run_read,
	  .finish = finish_files },
	{ .name = "fs-small",
	  .what = "a file of 8 KB out of 8,192, not in memory",
	  .unit = "file",
	  .references = SMALL_FILES,
	  .repeats = SMALL_FOLDERS,
	  .once = 1,
	  .disk_bytes = SMALL_DISK,
	  .prepare = prepare_small,
	  .before = before_small,
	  .run = run_small,
	  .finish = finish_files },
	{ .name = "fs-create/plain",
	  .what = "128 empty files are created",
	  .unit = "file",
	  .references = CREATED,
	  .repeats = 10,
	  .disk_bytes = 1U << 20,
	  .run = run_create,
	  .after = after_create },
	{ .name = "fs-create/fsync",
	  .what = "128 empty files are created, each on disk",
	  .unit = "file",
	  .references = CREATED,
	  .repeats = 4,
	  .disk_bytes = 1U << 20,
	  .run = run_create,
	  .after = after_create },
	{ 0 },
};
