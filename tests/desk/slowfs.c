// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file system whose one file, "document", is read slowly: each first read of it sleeps or
 * computes for so many ms. As a disk far away, or an archive.
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fuse.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define SIZE 20000

static int64_t delay_ns(void)
{
	const char *ms = getenv("SLOWFS_MS");

	return ms ? atoll(ms) * 1000000LL : 0;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int on_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	(void)fi;
	*st = (struct stat){ .st_mode = S_IFDIR | 0755, .st_nlink = 2 };
	if (!strcmp(path, "/"))
		return 0;
	*st = (struct stat){ .st_mode = S_IFREG | 0444, .st_nlink = 1, .st_size = SIZE };
	return strcmp(path, "/document") ? -ENOENT : 0;
}

static int on_open(const char *path, struct fuse_file_info *fi)
{
	fi->direct_io = 1; /* nothing is kept: the next reader waits, too */
	return strcmp(path, "/document") ? -ENOENT : 0;
}

static int on_read(const char *path, char *buf, size_t size, off_t at, struct fuse_file_info *fi)
{
	int64_t end = now_ns() + delay_ns();
	struct timespec wait = { .tv_sec = delay_ns() / 1000000000,
				 .tv_nsec = delay_ns() % 1000000000 };

	(void)path, (void)fi;
	if (at >= SIZE)
		return 0;
	if (at == 0 && getenv("SLOWFS_COMPUTES"))
		while (now_ns() < end)
			;
	else if (at == 0)
		nanosleep(&wait, NULL);
	size = size > (size_t)(SIZE - at) ? (size_t)(SIZE - at) : size;
	memset(buf, 'x', size);
	return (int)size;
}

static const struct fuse_operations operations = { .getattr = on_getattr,
						   .open = on_open,
						   .read = on_read };

int main(int argc, char **argv)
{
	return fuse_main(argc, argv, &operations, NULL);
}
