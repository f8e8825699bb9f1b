// SPDX-License-Identifier: GPL-2.0-only
/* Memory of the X source's ring: made once, sealed, given to tipmed. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "xring.h"

static size_t ring_bytes(unsigned log2)
{
	return sizeof(struct tipme_x_ring_header) + (sizeof(struct tipme_xslot) << log2);
}

static void header_init(struct tipme_x_ring_header *h, unsigned log2, uint32_t tid,
			const char *server_name)
{
	memcpy(h->magic, TIPME_X_RING_MAGIC, sizeof(h->magic));
	h->byte_order = TIPME_BYTE_ORDER;
	h->major = TIPME_FORMAT_MAJOR;
	h->minor = TIPME_FORMAT_MINOR;
	h->header_len = sizeof(*h);
	h->slot_count = 1U << log2;
	h->server_pid = (uint32_t)getpid();
	h->server_tid = tid;
	snprintf(h->server_name, sizeof(h->server_name), "%s", server_name);
}

/* A limit on files holds for this one, too, and who goes beyond it is ended by a signal. */
static bool is_too_large(size_t bytes)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	       bytes > limit.rlim_cur;
}

/*
 * What cannot be had is refused here, where it is no more than an error: a page that is missing
 * later would end the server.
 */
static int allocate(int fd, size_t bytes)
{
	int err;

	do
		err = fallocate(fd, 0, 0, (off_t)bytes) ? errno : 0;
	while (err == EINTR);
	return err ? -1 : 0;
}

static int ring_fd(size_t bytes)
{
	int fd;

	if (is_too_large(bytes))
		return -EFBIG;
	fd = memfd_create("tipme-x-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (allocate(fd, bytes) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

int tipme_xring_open(struct tipme_xring *ring, unsigned log2, const char *server_name)
{
	size_t bytes = ring_bytes(log2);
	int fd;
	void *mem;

	if (log2 < TIPME_XRING_LOG2_MIN || log2 > TIPME_XRING_LOG2_MAX)
		return -EINVAL;
	fd = ring_fd(bytes);
	if (fd < 0)
		return fd;
	/* All pages now: the writer never faults later. */
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (mem == MAP_FAILED) {
		int err = -errno;

		close(fd);
		return err;
	}
	*ring = (struct tipme_xring){
		.header = mem, .log2 = log2, .tid = (uint32_t)gettid(), .fd = fd
	};
	ring->slots = (struct tipme_xslot *)(ring->header + 1);
	ring->locked = mlock(mem, bytes) ? errno : 0;
	header_init(ring->header, log2, ring->tid, server_name);
	return 0;
}

void tipme_xring_close(struct tipme_xring *ring)
{
	if (!ring->header)
		return;
	munmap(ring->header, ring_bytes(ring->log2));
	close(ring->fd);
	*ring = (struct tipme_xring){ .fd = -1 };
}

unsigned tipme_xring_log2(unsigned long kib)
{
	unsigned log2 = TIPME_XRING_LOG2_MIN;

	if (!kib)
		return TIPME_XRING_LOG2_DEFAULT;
	while (log2 < TIPME_XRING_LOG2_MAX && (sizeof(struct tipme_xslot) << log2) < kib * 1024)
		log2++;
	return log2;
}
