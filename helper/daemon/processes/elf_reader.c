// SPDX-License-Identifier: GPL-2.0-only
/* Strangers' programs and libraries, read by a process that may do nothing else. */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "elf_reader.h"
#include "filter.h"

#define OFFSETS_MAX (1U << 20)
#define NAME_MAX_BYTES 256U
/* For the largest libraries with all their symbols. */
#define READER_BYTES (768UL << 20)
#define READER_CPU_S 20
/* That could not be killed: they wait for a disk that does not answer. */
#define STUCK_MAX 4

struct request {
	uint32_t path_bytes, count; /* path, then offsets */
};

struct reply {
	int32_t error;
	uint32_t text_bytes; /* then the names */
	uint64_t bytes;
	int64_t changed_ns;
	char build_id[TIPME_BUILD_ID_CHARS + 1];
};

static int forker_fd = -1, reader_fd = -1;

/* All of it, or -errno; -ETIMEDOUT. deadline_ns 0: as long as it takes. */
static int transfer(int fd, void *buf, size_t len, bool out, uint64_t deadline_ns)
{
	for (char *at = buf; len;) {
		struct pollfd p = { .fd = fd, .events = out ? POLLOUT : POLLIN };
		uint64_t now = deadline_ns ? tipme_clock_ns() : 0;
		int ready =
			deadline_ns && now >= deadline_ns
				? 0
				: poll(&p, 1,
				       deadline_ns ? (int)((deadline_ns - now) / 1000000) + 1 : -1);

		if (!ready)
			return -ETIMEDOUT;
		if (ready < 0 && errno != EINTR)
			return -errno;
		ssize_t n = ready < 0 ? -1
			    : out     ? send(fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT)
				      : recv(fd, at, len, MSG_DONTWAIT);

		if (!n)
			return -EPIPE;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* --- in the reader --- */

static char *names_of(const struct tipme_elf *elf, const uint64_t *offsets, uint32_t count,
		      uint32_t *bytes)
{
	char *text = malloc((size_t)count * NAME_MAX_BYTES + 1);
	size_t len = 0;

	for (uint32_t i = 0; text && i < count; i++) {
		int n = tipme_elf_name(elf, offsets[i], text + len, NAME_MAX_BYTES);

		len += (n < (int)NAME_MAX_BYTES ? (size_t)n : NAME_MAX_BYTES - 1) + 1;
	}
	*bytes = (uint32_t)len;
	return text;
}

static int answer(int fd, const char *path, const uint64_t *offsets, uint32_t count)
{
	struct reply reply = { 0 };
	struct tipme_elf *elf;
	char *text = NULL;
	int err = tipme_elf_open(&elf, path);

	if (!err && !(text = names_of(elf, offsets, count, &reply.text_bytes)))
		err = -ENOMEM;
	if (!err) {
		reply.bytes = tipme_elf_bytes(elf);
		reply.changed_ns = tipme_elf_changed_ns(elf);
		memcpy(reply.build_id, tipme_elf_build_id(elf), sizeof(reply.build_id));
	} else {
		reply = (struct reply){ .error = err };
	}
	tipme_elf_free(elf);
	err = transfer(fd, &reply, sizeof(reply), true, 0);
	if (!err && reply.text_bytes)
		err = transfer(fd, text, reply.text_bytes, true, 0);
	free(text);
	return err;
}

static int serve_one(int fd)
{
	struct request req;
	char path[PATH_MAX];
	int err = transfer(fd, &req, sizeof(req), false, 0);

	if (err || !req.path_bytes || req.path_bytes > sizeof(path) || req.count > OFFSETS_MAX)
		return err ? err : -EINVAL;
	uint64_t *offsets = calloc(req.count + 1, sizeof(*offsets));

	err = offsets ? transfer(fd, path, req.path_bytes, false, 0) : -ENOMEM;
	if (!err)
		err = transfer(fd, offsets, req.count * sizeof(*offsets), false, 0);
	path[req.path_bytes - 1] = '\0';
	if (!err)
		err = answer(fd, path, offsets, req.count);
	free(offsets);
	return err;
}

static void limit(int what, rlim_t most)
{
	setrlimit(what, &(struct rlimit){ most, most });
}

static void reader_run(int fd, pid_t parent)
{
	prctl(PR_SET_NAME, "tipmed-elf");
#ifndef __SANITIZE_ADDRESS__ /* which takes more than there is */
	limit(RLIMIT_AS, READER_BYTES);
#endif
	limit(RLIMIT_CPU, READER_CPU_S);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NPROC, 0);
	limit(RLIMIT_NOFILE, 64);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent ||
	    tipmed_filter_reader() == -EPERM)
		_exit(1);
	while (!serve_one(fd))
		;
	_exit(0);
}

/* --- in the process that forks them --- */

/* The other end of a reader's connection; -1: the recorder has gone. */
static int wish_take(int from)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} passed;
	char byte;
	struct iovec text = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &text,
			      .msg_iovlen = 1,
			      .msg_control = passed.bytes,
			      .msg_controllen = sizeof(passed.bytes) };
	ssize_t n;
	int fd = -1;

	do
		n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	struct cmsghdr *c = n == 1 ? CMSG_FIRSTHDR(&msg) : NULL;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/*
 * Those who have ended; the last one is ended first. Returns how many are left, who wait for what
 * never comes.
 */
static unsigned int readers_end(pid_t *last, unsigned int running)
{
	if (*last > 0)
		kill(*last, SIGKILL);
	*last = 0;
	for (int tries = 0; running && tries < 50; tries++) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0)
			return 0;
		running -= pid > 0;
		if (!pid)
			usleep(1000);
	}
	return running;
}

static void forker_run(int from, pid_t parent, const struct tipmed_user *user)
{
	unsigned int running = 0;
	pid_t last = 0;
	int fd, null = open("/dev/null", O_RDWR);

	/* Whoever reads what the recorder prints must not wait for us. */
	for (int i = 0; i <= 2; i++)
		dup2(null, i);
	dup2(from, 3);
	close_range(4, ~0U, 0);
	prctl(PR_SET_NAME, "tipmed-symbols");
	if (chdir("/") || tipmed_privileges_none(user) || prctl(PR_SET_DUMPABLE, 0) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	while ((fd = wish_take(3)) >= 0) {
		running = readers_end(&last, running);
		pid_t self = getpid(), pid = running < STUCK_MAX ? fork() : -1;

		if (!pid) {
			dup2(fd, 3);
			close_range(4, ~0U, 0);
			reader_run(3, self);
		}
		if (pid > 0) {
			last = pid;
			running++;
		}
		close(fd);
	}
	_exit(0);
}

/* --- in the recorder --- */

int tipmed_elf_reader_start(const struct tipmed_file_owner *owner)
{
	struct tipmed_user user = { .set = owner->uid != geteuid(),
				    .uid = owner->uid,
				    .gid = owner->gid };
	pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid_t pid = fork();
	int err = pid < 0 ? -errno : 0;

	if (!pid)
		forker_run(ends[1], parent, &user);
	close(ends[1]);
	if (err)
		close(ends[0]);
	else
		forker_fd = ends[0];
	return err;
}

/* With its end of a new connection. */
static int wish_send(int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} passed = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec text = { "", 1 };
	struct msghdr msg = { .msg_iov = &text,
			      .msg_iovlen = 1,
			      .msg_control = passed.bytes,
			      .msg_controllen = sizeof(passed.bytes) };

	memcpy(CMSG_DATA(&passed.head), &fd, sizeof(fd));
	return sendmsg(forker_fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -errno;
}

static int reader_wake(void)
{
	int ends[2];

	if (reader_fd >= 0)
		return 0;
	if (forker_fd < 0)
		return -ENOENT;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	int err = wish_send(ends[1]);

	close(ends[1]);
	if (err)
		close(ends[0]);
	else
		reader_fd = ends[0];
	return err;
}

void tipmed_elf_reader_rest(void)
{
	if (reader_fd >= 0)
		close(reader_fd);
	reader_fd = -1;
}

/* So many texts, no more and no less; what could not stand in a stack does not. */
static int names_check(struct tipmed_elf_answer *a, uint32_t bytes, uint32_t count)
{
	uint32_t n = 0;
	char *begin = a->text;

	for (char *c = a->text; c < a->text + bytes; c++) {
		if (!*c) {
			if (n < count)
				a->name[n] = begin;
			n++;
			begin = c + 1;
		} else if ((unsigned char)*c < ' ' || *c == 0x7f || *c == ';') {
			*c = '?';
		}
	}
	return n == count && begin == a->text + bytes ? 0 : -EBADMSG;
}

/* It has read what a stranger wrote: nothing that it says is believed. */
static int reply_read(uint32_t count, uint64_t deadline_ns, struct tipmed_elf_answer *a)
{
	struct reply reply;
	int err = transfer(reader_fd, &reply, sizeof(reply), false, deadline_ns);

	if (err || reply.error)
		return err ? err : reply.error < 0 && reply.error > -4096 ? reply.error : -EBADMSG;
	reply.build_id[TIPME_BUILD_ID_CHARS] = '\0';
	if (reply.text_bytes > (uint64_t)count * NAME_MAX_BYTES ||
	    strspn(reply.build_id, "0123456789abcdef") != strlen(reply.build_id))
		return -EBADMSG;
	*a = (struct tipmed_elf_answer){ .bytes = reply.bytes,
					 .changed_ns = reply.changed_ns,
					 .text = malloc(reply.text_bytes + 1),
					 .name = calloc(count + 1, sizeof(*a->name)) };
	memcpy(a->build_id, reply.build_id, strlen(reply.build_id) + 1);
	err = a->text && a->name
		      ? transfer(reader_fd, a->text, reply.text_bytes, false, deadline_ns)
		      : -ENOMEM;
	return err ? err : names_check(a, reply.text_bytes, count);
}

int tipmed_elf_reader_ask(const char *path, const uint64_t *offsets, uint32_t count,
			  uint64_t deadline_ns, struct tipmed_elf_answer *a)
{
	struct request req = { (uint32_t)strlen(path) + 1, count };
	int err = req.path_bytes > PATH_MAX || count > OFFSETS_MAX ? -E2BIG : reader_wake();

	*a = (struct tipmed_elf_answer){ 0 };
	if (!err)
		err = transfer(reader_fd, &req, sizeof(req), true, deadline_ns);
	if (!err)
		err = transfer(reader_fd, (void *)path, req.path_bytes, true, deadline_ns);
	if (!err)
		err = transfer(reader_fd, (void *)offsets, count * sizeof(*offsets), true,
			       deadline_ns);
	if (!err)
		err = reply_read(count, deadline_ns, a);
	if (err)
		tipmed_elf_answer_free(a);
	/*
	 * A late answer, or half of one, would be taken for that to the next question: the next
	 * reader ends this one.
	 */
	if (err == -ETIMEDOUT || err == -EPIPE || err == -EBADMSG || err == -ECONNRESET ||
	    err == -ENOMEM)
		tipmed_elf_reader_rest();
	return err;
}

void tipmed_elf_answer_free(struct tipmed_elf_answer *a)
{
	free(a->text);
	free(a->name);
	*a = (struct tipmed_elf_answer){ 0 };
}
