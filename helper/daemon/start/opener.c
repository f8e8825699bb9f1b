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

/* Above that the kernels that know it ask for CAP_SYS_ADMIN. */
#define PARANOID_MOST 2
#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
/* An opener that does not answer is one that is not there. */
#define ANSWER_S 2

struct request {
	uint32_t which;
	int32_t cpu;
};

static int opener_fd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

union passed {
	struct cmsghdr head; /* for its alignment */
	char bytes[CMSG_SPACE(sizeof(int))];
};

static bool is_needed(void)
{
	FILE *f = fopen(PARANOID, "re");
	int level = 0;

	if (f && fscanf(f, "%d", &level) != 1)
		level = 0;
	if (f)
		fclose(f);
	return level > PARANOID_MOST && capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_ADMIN) == 1;
}

/* --- there --- */

/* fd < 0: only why not. */
static void answer(int to, int fd)
{
	int32_t err = fd < 0 ? fd : 0;
	struct iovec text = { &err, sizeof(err) };
	union passed passed = { .bytes = { 0 } };
	struct msghdr msg = { .msg_iov = &text, .msg_iovlen = 1 };

	if (fd >= 0) {
		msg.msg_control = passed.bytes;
		msg.msg_controllen = sizeof(passed.bytes);
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	while (sendmsg(to, &msg, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static void serve(int from)
{
	struct request req;

	for (;;) {
		ssize_t n = recv(from, &req, sizeof(req), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		bool known = n == sizeof(req) && (req.which == TIPME_CLASS_SAMPLE || req.which == TIPME_CLASS_MEMORY) && req.cpu >= 0;
		int fd = known ? tipme_kernel_event_open(req.which, req.cpu) : -EINVAL;

		answer(from, fd);
		if (fd >= 0)
			close(fd);
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
	if (chdir("/") || tipmed_privileges_only(user, CAP_SYS_ADMIN) || prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	serve(3);
	_exit(0);
}

/* --- here --- */

pid_t tipmed_opener_fork(const struct tipmed_user *user)
{
	struct timeval patience = { .tv_sec = ANSWER_S };
	pid_t parent = getpid(), pid;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid = fork();
	if (!pid)
		run(ends[1], parent, user);
	int err = pid < 0 ? -errno : setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ? -errno : 0;

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

/* What it answers; -EACCES if it is not there any more. */
static int ask(const struct request *req)
{
	int32_t err = 0;
	struct iovec text = { &err, sizeof(err) };
	union passed passed;
	struct msghdr msg = { .msg_iov = &text, .msg_iovlen = 1, .msg_control = passed.bytes, .msg_controllen = sizeof(passed.bytes) };
	int fd = -1;
	ssize_t n;

	if (send(opener_fd, req, sizeof(*req), MSG_NOSIGNAL) != sizeof(*req))
		return -EACCES;
	do
		n = recvmsg(opener_fd, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	struct cmsghdr *c = n == sizeof(err) ? CMSG_FIRSTHDR(&msg) : NULL;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	if (n != sizeof(err) || (fd < 0 && err >= 0))
		return -EACCES;
	return fd >= 0 ? fd : err;
}

int tipmed_opener_open(unsigned int which, int cpu)
{
	struct request req = { which, cpu };
	int fd = -EACCES;

	pthread_mutex_lock(&lock);
	if (opener_fd >= 0) {
		fd = ask(&req);
		/* A late answer would be taken for that to the next question. */
		if (fd == -EACCES) {
			close(opener_fd);
			opener_fd = -1;
		}
	}
	pthread_mutex_unlock(&lock);
	return fd;
}
