// SPDX-License-Identifier: GPL-2.0-only
/* Threads that close what may take long to close. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "closer.h"

#define STACK_BYTES (64 << 10)

struct order {
	int fd;
	int unread;
};

/* Descriptors among it are dropped by the kernel: here, and not in the thread that answers. */
static void throw_away(int fd)
{
	char byte;

	while (recv(fd, &byte, sizeof(byte), MSG_DONTWAIT) > 0)
		continue;
}

static void *closer_run(void *arg)
{
	struct tipmed_closer *closer = arg;
	struct order order;

	for (;;) {
		ssize_t n = read(closer->pipe[0], &order, sizeof(order));

		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof(order))
			return NULL;
		if (order.unread)
			throw_away(order.fd);
		close(order.fd);
		atomic_fetch_sub_explicit(&closer->waiting, 1, memory_order_relaxed);
	}
}

int tipmed_closer_start(struct tipmed_closer *closer, int threads)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err = 0;

	atomic_init(&closer->waiting, 0);
	if (pipe2(closer->pipe, O_CLOEXEC))
		return -errno;
	/* The reading end waits. */
	fcntl(closer->pipe[1], F_SETFL, O_NONBLOCK);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	/* One that hangs is not waited for, either. */
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < threads && !err; i++)
		err = -pthread_create(&thread, &attr, closer_run, closer);
	pthread_attr_destroy(&attr);
	return err;
}

void tipmed_closer_stop(struct tipmed_closer *closer)
{
	close(closer->pipe[1]);
}

/*
 * An order is smaller than PIPE_BUF, so it is written whole or not at all. A pipe holds 8,192 of
 * them; who may bring descriptors is not read while TIPMED_CLOSER_FULL wait, so it is never full.
 * If it were, the descriptor would stay open.
 */
void tipmed_closer_close(struct tipmed_closer *closer, int fd, bool unread)
{
	struct order order = { fd, unread };

	/* First: the thread that closes it counts back. */
	atomic_fetch_add_explicit(&closer->waiting, 1, memory_order_relaxed);
	if (write(closer->pipe[1], &order, sizeof(order)) != sizeof(order))
		atomic_fetch_sub_explicit(&closer->waiting, 1, memory_order_relaxed);
}
