// SPDX-License-Identifier: GPL-2.0-only
/* The process that opens events when the recorder may not any more. */
#define _GNU_SOURCE
#include "config.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "kernel_source.h"
#include "opener.h"
#include "wayland_library.h"

/* An opener that does not answer is one that is not there. For a library it takes its time. */
#define ANSWER_S 2
#define ANSWER_LIBRARY_S (TIPMED_WAYLAND_PATIENCE_S + ANSWER_S)

#define LIBRARY_PATH_MAX 256

/* A library where the path is not empty, else an event of a CPU. */
struct request {
	uint32_t which;
	int32_t cpu;
	char library[LIBRARY_PATH_MAX];
};

/* Beside it come the descriptors of the event, or of the library's probes in their order. */
struct answer {
	int32_t err;
	struct tipme_wayland_library lib;
};

static int opener_fd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

union passed {
	struct cmsghdr head; /* for its alignment */
	char bytes[CMSG_SPACE(sizeof(int) * TIPME_WAYLAND_PROBES)];
};

static bool is_needed(void)
{
	return capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_ADMIN) == 1;
}

/* --- there --- */

/* Without descriptors: only why not. */
static void answer_send(int to, struct answer *a, const int *fd, unsigned int count)
{
	struct iovec text = { a, sizeof(*a) };
	union passed passed = { .bytes = { 0 } };
	struct msghdr msg = { .msg_iov = &text, .msg_iovlen = 1 };

	if (count) {
		msg.msg_control = passed.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(c), fd, sizeof(int) * count);
	}
	while (sendmsg(to, &msg, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static void serve_event(int to, const struct request *req)
{
	bool known = (req->which == TIPME_CLASS_SAMPLE || req->which == TIPME_CLASS_MEMORY) &&
		     req->cpu >= 0;
	int fd = known ? tipme_kernel_event_open(req->which, req->cpu) : -EINVAL;
	struct answer a = { .err = fd < 0 ? fd : 0 };

	answer_send(to, &a, &fd, fd >= 0);
	if (fd >= 0)
		close(fd);
}

static void serve_library(int to, struct request *req)
{
	struct answer a = { 0 };
	int fd[TIPME_WAYLAND_PROBES];

	req->library[LIBRARY_PATH_MAX - 1] = '\0';
	a.err = tipmed_wayland_library_open(req->library, &a.lib);
	for (unsigned int i = 0; i < a.lib.count; i++)
		fd[i] = a.lib.probe[i].fd;
	answer_send(to, &a, fd, a.lib.count);
	tipme_wayland_library_close(&a.lib);
}

static void serve(int from)
{
	struct request req;

	for (;;) {
		ssize_t n = recv(from, &req, sizeof(req), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof(req))
			return;
		if (req.library[0])
			serve_library(from, &req);
		else
			serve_event(from, &req);
	}
}

/* Signals that end the recorder are blocked already: it may still want an event while it saves. */
static void run(int from, pid_t parent, const struct tipmed_user *user)
{
	int null = open("/dev/null", O_RDWR);

	/* Whoever reads what the recorder prints must not wait for us. */
	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	dup2(from, 3);
	close_range(4, ~0U, 0);
	prctl(PR_SET_NAME, "tipmed-events");
	if (chdir("/") || tipmed_privileges_only(user, CAP_SYS_ADMIN) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	serve(3);
	_exit(0);
}

/* --- here --- */

pid_t tipmed_opener_fork(const struct tipmed_user *user)
{
	pid_t parent = getpid(), pid;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid = fork();
	if (!pid)
		run(ends[1], parent, user);
	int err = pid < 0 ? -errno : 0;

	close(ends[1]);
	if (err) {
		close(ends[0]);
		return err;
	}
	opener_fd = ends[0];
	return pid;
}

int tipmed_opener_start(const struct tipmed_user *user)
{
	pid_t pid = is_needed() ? tipmed_opener_fork(user) : 0;

	return pid < 0 ? pid : 0;
}

static int wait_at_most(const struct request *req)
{
	struct timeval patience = { .tv_sec = req->library[0] ? ANSWER_LIBRARY_S : ANSWER_S };

	return setsockopt(opener_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

/* What it answers, with *count descriptors; -EACCES if it is not there any more. */
static int ask(const struct request *req, struct answer *a, int *fd, unsigned int *count)
{
	struct iovec text = { a, sizeof(*a) };
	union passed passed;
	struct msghdr msg = { .msg_iov = &text,
			      .msg_iovlen = 1,
			      .msg_control = passed.bytes,
			      .msg_controllen = sizeof(passed.bytes) };
	ssize_t n;

	*count = 0;
	if (opener_fd < 0 || wait_at_most(req) ||
	    send(opener_fd, req, sizeof(*req), MSG_NOSIGNAL) != sizeof(*req))
		return -EACCES;
	do
		n = recvmsg(opener_fd, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	struct cmsghdr *c = n == sizeof(*a) ? CMSG_FIRSTHDR(&msg) : NULL;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		*count = (unsigned int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fd, CMSG_DATA(c), sizeof(int) * *count);
	}
	return n != sizeof(*a) || a->err > 0 || (!a->err && !*count) ? -EACCES : a->err;
}

static int ask_alone(const struct request *req, struct answer *a, int *fd, unsigned int *count)
{
	pthread_mutex_lock(&lock);
	int err = ask(req, a, fd, count);

	/*
	 * A late answer would be taken for that to the next question. One that was refused itself
	 * says why.
	 */
	if (err == -EACCES && opener_fd >= 0 && !*a->lib.why) {
		close(opener_fd);
		opener_fd = -1;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

int tipmed_opener_open(unsigned int which, int cpu)
{
	struct request req = { .which = which, .cpu = cpu };
	int fd[TIPME_WAYLAND_PROBES] = { -1 };
	struct answer a = { 0 };
	unsigned int count;
	int err = ask_alone(&req, &a, fd, &count);

	return err ? err : fd[0];
}

int tipmed_opener_wayland(const char *path, struct tipme_wayland_library *lib)
{
	struct request req = { .cpu = -1 };
	int fd[TIPME_WAYLAND_PROBES], err;
	struct answer a = { 0 };
	unsigned int count;

	if (opener_fd < 0)
		return tipmed_wayland_library_open(path, lib);
	snprintf(req.library, sizeof(req.library), "%s", path);
	err = ask_alone(&req, &a, fd, &count);
	*lib = a.lib;
	lib->why[sizeof(lib->why) - 1] = '\0';
	lib->count = err ? 0 : count;
	for (unsigned int i = 0; i < lib->count; i++)
		lib->probe[i].fd = fd[i];
	if (err && !lib->why[0])
		snprintf(lib->why, sizeof(lib->why),
			 "the process that sets probes has not answered");
	return err;
}
