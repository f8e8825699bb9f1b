/* SPDX-License-Identifier: GPL-2.0-only */
/* A question over a local socket or loopback TCP: both ends, as short as they can be. */
#ifndef LAB_ASK_H
#define LAB_ASK_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

union lab_address {
	struct sockaddr any;
	struct sockaddr_un local;
	struct sockaddr_in inet;
};

/*
 * "tcp:PORT" on loopback, "tcp:A.B.C.D:PORT", else the path of a local socket; returns the length
 * of the address.
 */
static inline socklen_t lab_address(const char *text, union lab_address *a)
{
	memset(a, 0, sizeof(*a));
	if (!strncmp(text, "tcp:", 4)) {
		a->inet.sin_family = AF_INET;
		const char *port = strrchr(text, ':') + 1;
		char host[INET_ADDRSTRLEN] = "127.0.0.1";

		if (port > text + 4 && port - text - 5 < INET_ADDRSTRLEN) {
			memcpy(host, text + 4, (size_t)(port - text - 5));
			host[port - text - 5] = '\0';
		}
		a->inet.sin_port = htons((uint16_t)atoi(port));
		inet_pton(AF_INET, host, &a->inet.sin_addr);
		return sizeof(a->inet);
	}
	a->local.sun_family = AF_UNIX;
	if (strlen(text) >= sizeof(a->local.sun_path))
		return 0; /* which no call takes */
	memcpy(a->local.sun_path, text, strlen(text));
	return sizeof(a->local);
}

/* A descriptor, or -errno. */
static inline int lab_connect(const char *text)
{
	union lab_address a;
	socklen_t len = lab_address(text, &a);
	int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, &a.any, len) < 0) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return err;
	}
	return fd;
}

static inline int lab_listen(const char *text)
{
	union lab_address a;
	socklen_t len = lab_address(text, &a);
	int one = 1, fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, &a.any, len) < 0 || listen(fd, 8) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* Sends one byte and waits for one. */
static inline int lab_ask(int fd)
{
	char c = '?';

	return write(fd, &c, 1) == 1 && read(fd, &c, 1) == 1 ? 0 : -EIO;
}

#endif
