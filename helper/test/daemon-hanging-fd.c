// SPDX-License-Identifier: GPL-2.0-only
/*
 * Passes to tipmed what takes long to close: daemon-hanging-fd UID VERB COUNT
 *
 * COUNT copies of the last end of a connection whose peer does not read, and which shall linger for
 * an hour until he has. Prints the error that is answered; lets go when its input ends.
 */
#include "config.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "message.h"
#include "paths.h"

#define COUNT_MAX 253

/* Returns the end that lingers; the other one is in *reader. */
static int connection_full(int *reader)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger linger = { 1, 3600 };
	socklen_t len = sizeof(addr);
	static char bytes[65536];
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

	if (listener < 0 || fd < 0 || bind(listener, (struct sockaddr *)&addr, len) ||
	    listen(listener, 1) || getsockname(listener, (struct sockaddr *)&addr, &len) ||
	    connect(fd, (struct sockaddr *)&addr, len))
		exit(99);
	*reader = accept(listener, NULL, NULL);
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		continue;
	if (*reader < 0 || setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)))
		exit(99);
	return fd;
}

static int pass(int sock, unsigned int verb, int fd, size_t count)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(COUNT_MAX * sizeof(int))];
	} control = { .head = { CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct tipme_message head = { TIPME_MESSAGE_MAGIC, TIPME_MESSAGE_VERSION,
				      (unsigned short)verb, 0, 0 };
	struct iovec part = { &head, sizeof(head) };
	struct msghdr msg = { .msg_iov = &part,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = CMSG_SPACE(count * sizeof(int)) };

	for (size_t i = 0; i < count; i++)
		memcpy(CMSG_DATA(&control.head) + i * sizeof(int), &fd, sizeof(fd));
	return sendmsg(sock, &msg, MSG_NOSIGNAL) < 0;
}

int main(int argc, char **argv)
{
	static char buf[TIPME_MESSAGE_MAX];
	struct tipme_incoming in;
	int reader, passed;
	char c;

	if (argc < 4)
		return 64;
	uid_t uid = (uid_t)atoi(argv[1]);
	size_t count = (size_t)atoi(argv[3]);
	int fd = connection_full(&reader);

	if (count > COUNT_MAX || setgid(uid) || setuid(uid))
		return 64;
	int sock = tipme_message_connect(tipme_rundir());

	if (sock < 0 || pass(sock, (unsigned int)atoi(argv[2]), fd, count)) {
		printf("not passed\n");
	} else {
		/* Ours goes first: the last one is tipmed's. */
		close(fd);
		printf("passed\n");
		fflush(stdout);
		/* A recorder that hangs answers nobody. */
		setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ .tv_sec = 5 },
			   sizeof(struct timeval));
		ssize_t n = tipme_message_receive(sock, buf, sizeof(buf), &passed, 0);

		printf("%d\n",
		       n > 0 && !tipme_message_parse(buf, (size_t)n, &in) ? (int)in.arg : -1);
	}
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		continue;
	close(reader);
	return 0;
}
