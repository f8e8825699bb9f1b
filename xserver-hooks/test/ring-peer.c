// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stands where tipmed does: takes rings and triggers of X servers, prints what is in the rings on
 * demand.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "record_names.h"
#include "ring_reader.h"

#define SERVERS 16
#define ALL_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

#define RINGS 2

static struct server {
	int sock; /* -1: gone */
	pid_t pid;
	unsigned rings;
	unsigned log2[RINGS];
	const struct tipme_x_ring_header *header[RINGS];
} servers[SERVERS];
static int server_count;

static int listen_at(const char *run_dir)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/tipmed.sock", run_dir);
	unlink(addr.sun_path);
	if (sock < 0 || bind(sock, (struct sockaddr *)&addr, sizeof(addr)) ||
	    chmod(addr.sun_path, 0666) || listen(sock, 4)) {
		perror(addr.sun_path);
		exit(1);
	}
	return sock;
}

static void server_accept(int listener)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (sock < 0 || server_count == SERVERS ||
	    getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len)) {
		close(sock);
		return;
	}
	servers[server_count++] = (struct server){ .sock = sock, .pid = peer.pid };
}

/* Returns the descriptor that came along, or -1. */
static ssize_t receive(int sock, void *buf, size_t cap, int *fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { buf, cap };
	struct msghdr mh = { .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(sock, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&mh) : NULL;

	*fd = -1;
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return n;
}

static void hello(int n, const struct tipme_message *msg, const char *text, int fd)
{
	struct server *s = &servers[n];
	struct stat st;
	size_t slots;

	if (fd < 0 || fstat(fd, &st) || fcntl(fd, F_GET_SEALS) != ALL_SEALS) {
		printf("bad %d: no sealed memory came\n", n);
		return;
	}
	if (s->rings == RINGS) {
		printf("bad %d: too many rings\n", n);
		return;
	}
	slots = ((size_t)st.st_size - sizeof(**s->header)) / sizeof(struct tipme_xslot);
	s->log2[s->rings] = (unsigned)__builtin_ctzl(slots);
	s->header[s->rings] = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	printf("%s %d pid=%d display=%u name=%.*s slots=%zu\n", s->rings ? "another" : "hello", n,
	       (int)s->pid, msg->arg, (int)msg->text_len, text, slots);
	s->rings++;
}

static void server_read(int n)
{
	struct server *s = &servers[n];
	char buf[65536];
	struct tipme_message msg;
	int fd;
	ssize_t len = receive(s->sock, buf, sizeof(buf), &fd);

	if (len <= 0) {
		printf("gone %d\n", n);
		close(s->sock);
		s->sock = -1;
		return;
	}
	memcpy(&msg, buf, sizeof(msg));
	if ((size_t)len < sizeof(msg) || (size_t)len != sizeof(msg) + msg.text_len ||
	    msg.magic != 0x4d504954U)
		printf("bad %d: %zd bytes that are no message\n", n, len);
	else if (msg.verb == TIPME_VERB_X_HELLO)
		hello(n, &msg, buf + sizeof(msg), fd);
	else
		printf("%s %d arg=%u\n", msg.verb == TIPME_VERB_TRIGGER ? "trigger" : "other", n,
		       msg.arg);
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = ((const struct tipme_xslot *)a)->ts_ns,
		 y = ((const struct tipme_xslot *)b)->ts_ns;

	return x < y ? -1 : x > y;
}

/* All whole records in order of time, then the header, then a dot. */
static void dump(int n, int ring)
{
	const struct tipme_x_ring_header *header = servers[n].header[ring];
	const struct tipme_xslot *slots = (const void *)(header + 1);
	unsigned log2 = servers[n].log2[ring];
	uint64_t count = 1ULL << log2, head = __atomic_load_n(&header->head, __ATOMIC_ACQUIRE);
	struct tipme_xslot *recs = calloc(count, sizeof(*recs));
	size_t whole = 0;

	for (uint64_t i = head > count ? head - count : 0; i < head; i++)
		if (ring_read(slots, log2, i, &recs[whole]))
			whole++;
	qsort(recs, whole, sizeof(*recs), by_time);
	for (size_t i = 0; i < whole; i++)
		tipme_record_print(stdout, &recs[i], sizeof(recs[i]));
	free(recs);
	printf("header head=%lu cur_start_ns=%lu cur_pid=%u cur_major=%u cur_minor=%u grab_pid=%u grab_start_ns=%lu chords=%lu "
	       "lost=%lu display=%u server_pid=%u server_tid=%u whole=%zu\n.\n",
	       (unsigned long)head, (unsigned long)header->cur_start_ns, header->cur_pid,
	       header->cur_major, header->cur_minor, header->grab_pid,
	       (unsigned long)header->grab_start_ns, (unsigned long)header->chords,
	       (unsigned long)header->lost, header->display, header->server_pid, header->server_tid,
	       whole);
}

/*
 * "dump N" (its first ring), "dump N 1" (its second), "drop N" (close its connection), "deaf" (take
 * nothing more), "hear", "quit"
 */
static void command(const char *line, bool *deaf)
{
	int n = 0, ring = 0;

	if (sscanf(line, "dump %d %d", &n, &ring) >= 1 && n < server_count &&
	    ring < (int)servers[n].rings)
		dump(n, ring);
	else if (sscanf(line, "drop %d", &n) == 1 && n < server_count)
		shutdown(servers[n].sock, SHUT_RDWR);
	else if (!strncmp(line, "deaf", 4) || !strncmp(line, "hear", 4))
		*deaf = *line == 'd';
	else if (!strncmp(line, "quit", 4))
		exit(0);
	else
		printf("bad command: %s.\n", line);
}

int main(int argc, char **argv)
{
	bool deaf = argc == 3 && !strcmp(argv[2], "--deaf");
	char line[256];
	int listener;

	if (argc < 2)
		return 64;
	listener = listen_at(argv[1]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0);
	puts("listening");
	for (;;) {
		struct pollfd fds[2 + SERVERS] = { { .fd = 0, .events = POLLIN },
						   { .fd = listener, .events = POLLIN } };
		int count = server_count;

		for (int i = 0; i < count; i++)
			fds[2 + i] = (struct pollfd){ .fd = deaf ? -1 : servers[i].sock,
						      .events = POLLIN };
		if (poll(fds, (nfds_t)(2 + count), -1) < 0)
			return 1;
		for (int i = 0; i < count; i++)
			if (fds[2 + i].revents)
				server_read(i);
		if (fds[1].revents)
			server_accept(listener);
		if (fds[0].revents && !fgets(line, sizeof(line), stdin))
			return 0;
		if (fds[0].revents)
			command(line, &deaf);
	}
}
