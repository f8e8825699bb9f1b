// SPDX-License-Identifier: GPL-2.0-only
/* When nobody listens, the server saves its own records: a record file as those of an episode. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "dump.h"
#include "xring_reader.h"

/* Memory comes from the kernel, not from the heap: a main thread that hangs may hold its lock. */
static int copy_alloc(struct tipme_x_copy *copy, const struct tipme_x_ring *ring)
{
	copy->cap = tipme_x_ring_copy_bytes(ring);
	copy->buf =
		mmap(NULL, copy->cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return copy->buf == MAP_FAILED ? -errno : 0;
}

static int write_all(int fd, const void *from, size_t len)
{
	const char *at = from;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* One section: what is in a ring. */
static int ring_write(int fd, int ring_fd, uint64_t now_ns, uint64_t *body_len)
{
	struct tipme_x_ring ring;
	struct tipme_x_copy copy = { .buf = NULL };
	const char *why;
	int err = tipme_x_ring_open(ring_fd, &ring, &why);

	if (err)
		return err;
	err = copy_alloc(&copy, &ring);
	if (!err) {
		tipme_x_ring_copy(&ring, &copy, now_ns);
		tipme_x_ring_copy_more(&ring, &copy, now_ns);
		err = write_all(fd, copy.buf, copy.len);
		*body_len += copy.len;
		munmap(copy.buf, copy.cap);
	}
	tipme_x_ring_close(&ring);
	return err;
}

static int head_write(int fd, uint64_t now_ns, uint64_t body_len)
{
	struct tipme_file_header head = {
		.byte_order = TIPME_BYTE_ORDER,
		.major = TIPME_FORMAT_MAJOR,
		.minor = TIPME_FORMAT_MINOR,
		.header_len = sizeof(head),
		.source = TIPME_SOURCE_X_HOOKS,
		.created_ns = now_ns,
		.trigger_ns = now_ns,
		.episode_id = now_ns,
		.body_len = body_len,
	};

	memcpy(head.magic, TIPME_FILE_MAGIC, sizeof(head.magic));
	return pwrite(fd, &head, sizeof(head), 0) == sizeof(head) ? 0 : -EIO;
}

static int file_write(int fd, const int *ring_fds, unsigned count, uint64_t now_ns)
{
	uint64_t body_len = 0;
	int err = 0;

	if (lseek(fd, sizeof(struct tipme_file_header), SEEK_SET) < 0)
		return -errno;
	for (unsigned i = 0; !err && i < count; i++)
		if (ring_fds[i] >= 0)
			err = ring_write(fd, ring_fds[i], now_ns, &body_len);
	/* The head last: a file that was cut has none. */
	return err ? err : head_write(fd, now_ns, body_len);
}

int tipme_dump_save(const char *dir, const int *ring_fds, unsigned count, char *path,
		    size_t path_len)
{
	struct timespec t;
	uint64_t now_ns;
	int fd, err;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now_ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	if (snprintf(path, path_len, "%s/tipme-x-%d-%llu.rec", dir, (int)getpid(),
		     (unsigned long long)now_ns) >= (int)path_len)
		return -ENAMETOOLONG;
	/* Anybody may write to the folder: the name must be new. */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = file_write(fd, ring_fds, count, now_ns);
	if (close(fd) && !err)
		err = -errno;
	if (err)
		unlink(path);
	return err;
}
