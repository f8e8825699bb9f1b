// SPDX-License-Identifier: GPL-2.0-only
/* Deeds of which the kernel makes something slow: memory, unwritten data, a network, a fence. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "ask.h"
#include "deeds_kernel.h"

#define PAGE 4096
#define HUGE_PAGE (2U << 20)

int lab_mute_open(const char *arg)
{
	char path[108], how, byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec io = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)
	};
	int fd;

	if (sscanf(arg, "%107s %c", path, &how) != 2)
		return -EINVAL;
	int door = lab_connect(path);

	if (door < 0 || write(door, &how, 1) != 1 || recvmsg(door, &m, MSG_CMSG_CLOEXEC) != 1)
		return door < 0 ? door : -EIO;
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	close(door);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return -EIO;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

void lab_mute(int fd, const char *arg)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	unsigned int port;
	long long ms;
	char how;

	if (sscanf(arg, "%*s %c %u %lld", &how, &port, &ms) != 3)
		return;
	inet_pton(AF_INET, "198.51.100.9", &to.sin_addr);
	to.sin_port = htons((uint16_t)port);
	if (how == 'u') {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (!connect(fd, (struct sockaddr *)&to, sizeof(to)) && write(fd, "who?", 4) == 4)
			poll(&p, 1, (int)ms);
	} else {
		struct timeval t = { ms / 1000, ms % 1000 * 1000 };

		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
		connect(fd, (struct sockaddr *)&to, sizeof(to));
	}
}

void lab_write(int fd, long long bytes)
{
	static char block[1 << 16];

	for (long long at = 0; at < bytes; at += (long long)sizeof(block))
		if (pwrite(fd, block, sizeof(block), (off_t)at) < 0)
			perror("pwrite");
}

char *lab_swapped_out(size_t bytes)
{
	char *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		return NULL;
	/* What a page has only once is not stored as one value, and is compressed in earnest. */
	for (size_t at = 0; at < bytes; at += sizeof(uint32_t)) {
		uint32_t word = (uint32_t)(at * 2654435761U >> 7);

		memcpy(m + at, &word, sizeof(word));
	}
	if (madvise(m, bytes, MADV_PAGEOUT))
		perror("madvise");
	return m;
}

void lab_touch(char *memory, size_t bytes)
{
	volatile char sum = 0;

	for (size_t at = 0; at < bytes; at += PAGE)
		sum = (char)(sum + memory[at]);
}

void lab_huge(size_t bytes)
{
	char *m = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (m == MAP_FAILED)
		return;
	madvise(m, bytes + HUGE_PAGE, MADV_HUGEPAGE);
	for (size_t at = 0; at < bytes; at += HUGE_PAGE)
		m[at] = 1;
	munmap(m, bytes + HUGE_PAGE);
}

/*
 * As in the kernel's drm_mode.h, drm.h and vgem_drm.h, which Debian keeps in packages of their own.
 */
struct dumb {
	uint32_t height, width, bpp, flags, handle, pitch;
	uint64_t size;
};
struct attach {
	uint32_t handle, flags, out_fence, pad;
};
struct prime {
	uint32_t handle, flags;
	int32_t fd;
};
#define CREATE_DUMB _IOWR('d', 0xb2, struct dumb)
#define FENCE_ATTACH _IOWR('d', 0x41, struct attach)
#define HANDLE_TO_FD _IOWR('d', 0x2d, struct prime)

void lab_fence(int card)
{
	struct dumb dumb = { .height = 16, .width = 16, .bpp = 32 };
	struct attach attach = { .flags = 1 /* for writing */ };
	struct prime out = { .flags = 2 /* O_RDWR */ };
	struct dma_buf_sync begin = { .flags = DMA_BUF_SYNC_RW | DMA_BUF_SYNC_START };

	if (ioctl(card, CREATE_DUMB, &dumb)) {
		perror("fence: memory");
		return;
	}
	attach.handle = out.handle = dumb.handle;
	if (ioctl(card, FENCE_ATTACH, &attach) || ioctl(card, HANDLE_TO_FD, &out)) {
		perror("fence");
		return;
	}
	ioctl(out.fd, DMA_BUF_IOCTL_SYNC, &begin);
	close(out.fd);
}
