// SPDX-License-Identifier: GPL-2.0-only
/* Messages on the socket of tipmed: read from strangers, written to anybody. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"
#include "paths.h"

int tipme_message_parse(const void *buf, size_t len, struct tipme_incoming *in)
{
	struct tipme_message head;

	if (len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, buf, sizeof(head));
	if (head.magic != TIPME_MESSAGE_MAGIC)
		return -EBADMSG;
	if (head.version != TIPME_MESSAGE_VERSION)
		return -EPROTONOSUPPORT;
	if (head.text_len > TIPME_MESSAGE_TEXT_MAX || head.text_len != len - sizeof(head))
		return -EBADMSG;
	*in = (struct tipme_incoming){
		.verb = head.verb,
		.arg = head.arg,
		.text = (const char *)buf + sizeof(head),
		.text_len = head.text_len,
	};
	return 0;
}

int tipme_message_send(int fd, uint16_t verb, uint32_t arg, const char *text, size_t text_len,
		       int flags)
{
	return tipme_message_send_fd(fd, verb, arg, text, text_len, -1, flags);
}

static void attach_fd(struct msghdr *msg, int fd)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
}

int tipme_message_send_fd(int sock, uint16_t verb, uint32_t arg, const char *text, size_t text_len,
			  int fd, int flags)
{
	if (text_len > TIPME_MESSAGE_TEXT_MAX)
		return -EMSGSIZE;
	struct tipme_message head = {
		.magic = TIPME_MESSAGE_MAGIC,
		.version = TIPME_MESSAGE_VERSION,
		.verb = verb,
		.arg = arg,
		.text_len = (uint32_t)text_len,
	};
	struct iovec parts[2] = { { &head, sizeof(head) }, { (void *)text, text_len } };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct msghdr msg = { .msg_iov = parts, .msg_iovlen = text_len ? 2 : 1 };

	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		attach_fd(&msg, fd);
	}
	for (;;) {
		if (sendmsg(sock, &msg, flags | MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

/*
 * What the kernel lets one message carry. With room for all, none is dropped, and so closed, by the
 * kernel in our name.
 */
#define FDS_MAX 253

struct dropping {
	void (*drop)(void *arg, int fd);
	void *arg;
};

/* A stranger may pass many descriptors: the first is kept, the rest must not pile up here. */
static int take_fds(struct msghdr *msg, int *passed_fd, const struct dropping *d)
{
	int seen = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (!seen++)
				*passed_fd = fd;
			else
				d->drop(d->arg, fd);
		}
	}
	return seen;
}

ssize_t tipme_message_receive_dropping(int fd, void *buf, size_t cap, int *passed_fd, int flags,
				       void (*drop)(void *arg, int fd), void *arg)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct iovec part = { buf, cap };
	struct msghdr msg = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct dropping d = { drop, arg };
	ssize_t n;

	*passed_fd = -1;
	do
		n = recvmsg(fd, &msg, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	bool odd = take_fds(&msg, passed_fd, &d) > 1 || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC));

	if (*passed_fd >= 0 && (odd || !n)) {
		drop(arg, *passed_fd);
		*passed_fd = -1;
	}
	return odd ? -EMSGSIZE : n;
}

static void drop_by_closing(void *arg, int fd)
{
	(void)arg;
	close(fd);
}

ssize_t tipme_message_receive(int fd, void *buf, size_t cap, int *passed_fd, int flags)
{
	return tipme_message_receive_dropping(fd, buf, cap, passed_fd, flags, drop_by_closing,
					      NULL);
}

static int connect_to(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* Whether anybody could have made a folder of this name. */
static bool is_in_open_place(const char *path)
{
	char above[PATH_MAX];
	struct stat st;
	size_t len = strlen(path);

	if (len >= sizeof(above))
		return true;
	memcpy(above, path, len + 1);
	while (len > 1 && above[len - 1] == '/')
		above[--len] = '\0';
	char *slash = strrchr(above, '/');

	if (!slash)
		return stat(".", &st) || (st.st_mode & S_IWOTH);
	slash[slash == above] = '\0';
	return stat(above, &st) || (st.st_mode & S_IWOTH);
}

/*
 * Returns 0 and whose the folder is. A link leads wherever its maker likes. Where all may write,
 * anybody can put a socket; where all may make folders, anybody could have made this one, unless it
 * is root's or our own.
 */
static int folder_check(const char *rundir, uid_t *owner)
{
	struct stat st;

	if (lstat(rundir, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode) || (st.st_mode & S_IWOTH))
		return -EPERM;
	if (st.st_uid && st.st_uid != geteuid() && is_in_open_place(rundir))
		return -EPERM;
	*owner = st.st_uid;
	return 0;
}

/*
 * The kernel says who listens: root, or whose the folder is. The recorder asks for its socket
 * before it ceases to be root.
 */
static int peer_check(int fd, uid_t owner)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return -errno;
	return peer.uid && peer.uid != owner ? -EPERM : 0;
}

static int connect_any(const char *rundir)
{
	struct sockaddr_un addr;
	int err = tipme_socket_address(rundir, &addr);
	int fd = err ? err : connect_to(&addr);

	if (fd != -EACCES || tipme_socket_address_of(rundir, geteuid(), &addr))
		return fd;
	fd = connect_to(&addr);
	return fd == -ENOENT ? -EACCES : fd;
}

/* The socket is root's and the owner's; whom they have named has one of his own beside it. */
int tipme_message_connect(const char *rundir)
{
	uid_t owner = 0;
	int err = folder_check(rundir, &owner);
	int fd = err ? err : connect_any(rundir);

	if (fd < 0)
		return fd;
	err = peer_check(fd, owner);
	if (!err)
		return fd;
	close(fd);
	return err;
}
