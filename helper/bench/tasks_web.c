// SPDX-License-Identifier: GPL-2.0-only
/*
 * The web server of section 5.3 of the paper: 1,024 requests for 9.7 MB, 8 at a time, by TCP over
 * loopback. The server is busybox httpd, which starts a process for each request, as servers did.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "task.h"

#define REQUESTS 1024U
#define FILES 64U
/* The server has a queue of nine: more at once would wait for TCP to try again, as in 1996. */
#define AT_ONCE 8U
#define BYTES 9700000U
#define TRIES 200
#define TRY_US 10000

struct web {
	struct sockaddr_in at;
	int pid;
	unsigned int asked, answered;
	uint64_t bytes; /* that came, without the servers' headings */
	struct {
		int fd;
		unsigned int file;
		uint64_t got;
	} one[AT_ONCE];
};

/*
 * Small ones are many and large ones few, as on servers: a geometric row of 16 sizes, four of each.
 */
static unsigned int file_bytes(unsigned int file)
{
	static unsigned int least;
	double sum = 0, size = 1;

	for (unsigned int i = 0; !least && i < FILES; i++, size = 1) {
		for (unsigned int k = 0; k < i % 16; k++)
			size *= 1.4;
		sum += size * (REQUESTS / FILES);
	}
	if (!least)
		least = (unsigned int)(BYTES / sum);
	for (size = least; file % 16; file--)
		size *= 1.4;
	return (unsigned int)size;
}

static int write_files(const char *folder)
{
	char path[600];
	int err = 0;

	for (unsigned int i = 0; i < FILES && !err; i++) {
		snprintf(path, sizeof(path), "%s/%u", folder, i);
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

		err = fd < 0 || posix_fallocate(fd, 0, file_bytes(i)) ? -EIO : 0;
		if (fd >= 0)
			close(fd);
	}
	return err;
}

/* A port that is free now: the server takes it a moment later. */
static int choose_port(struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err = 0;

	*at = (struct sockaddr_in){ .sin_family = AF_INET };
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)at, sizeof(*at)) ||
	    getsockname(fd, (struct sockaddr *)at, &len))
		err = -errno;
	close(fd);
	return err;
}

static int ask(struct web *w, unsigned int i)
{
	char text[64];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), n;

	w->one[i].fd = fd;
	w->one[i].file = w->asked++ * 37 % FILES;
	w->one[i].got = 0;
	n = snprintf(text, sizeof(text), "GET /%u HTTP/1.0\r\n\r\n", w->one[i].file);
	if (fd < 0 || connect(fd, (struct sockaddr *)&w->at, sizeof(w->at)) ||
	    send(fd, text, (size_t)n, MSG_NOSIGNAL) != n)
		return -errno;
	return 0;
}

static int start_server(struct tipme_task_run *r, struct web *w)
{
	char port[32];
	char *argv[] = { (char *)"busybox", (char *)"httpd", (char *)"-f", (char *)"-p", port,
			 (char *)"-h",	    r->folder,	     NULL };
	int err = choose_port(&w->at);

	snprintf(port, sizeof(port), "127.0.0.1:%u", ntohs(w->at.sin_port));
	w->pid = err ? 0 : tipme_task_spawn(argv, NULL);
	for (int i = 0; w->pid > 0 && i < TRIES && !tipme_task_interrupted; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		err = connect(fd, (struct sockaddr *)&w->at, sizeof(w->at)) ? -errno : 0;
		close(fd);
		if (!err)
			return 0;
		usleep(TRY_US);
	}
	return tipme_task_fail(r, -ENOTSUP, "busybox httpd does not start: install busybox-static");
}

static int prepare_web(struct tipme_task_run *r)
{
	struct web *w = calloc(1, sizeof(*w));
	int err;

	r->state = w;
	if (!w)
		return -ENOMEM;
	for (unsigned int i = 0; i < AT_ONCE; i++)
		w->one[i].fd = -1;
	/* The server may run as somebody else's child, but it reads as us. */
	err = write_files(r->folder);
	return err ? err : start_server(r, w);
}

/* Takes what has come. At the end of an answer the connection asks for the next file. */
static int take(struct web *w, unsigned int i)
{
	static char in[64 << 10];
	ssize_t n = recv(w->one[i].fd, in, sizeof(in), 0);

	if (n < 0)
		return -errno;
	w->one[i].got += (uint64_t)n;
	if (n)
		return 0;
	close(w->one[i].fd);
	w->one[i].fd = -1;
	if (w->one[i].got < file_bytes(w->one[i].file))
		return -EIO;
	w->bytes += file_bytes(w->one[i].file);
	w->answered++;
	return w->asked < REQUESTS ? ask(w, i) : 0;
}

static int run_web(struct tipme_task_run *r)
{
	struct web *w = r->state;
	struct pollfd p[AT_ONCE];
	int err = 0;

	w->asked = w->answered = 0;
	for (unsigned int i = 0; i < AT_ONCE && !err; i++)
		err = ask(w, i);
	while (!err && w->answered < REQUESTS && !tipme_task_interrupted) {
		for (unsigned int i = 0; i < AT_ONCE; i++)
			p[i] = (struct pollfd){ .fd = w->one[i].fd, .events = POLLIN };
		if (poll(p, AT_ONCE, -1) < 0)
			return -errno;
		for (unsigned int i = 0; i < AT_ONCE && !err; i++)
			err = p[i].revents ? take(w, i) : 0;
	}
	return err;
}

static void finish_web(struct tipme_task_run *r)
{
	struct web *w = r->state;

	for (unsigned int i = 0; w && i < AT_ONCE; i++)
		if (w->one[i].fd >= 0)
			close(w->one[i].fd);
	if (w && w->pid > 0) {
		kill(w->pid, SIGTERM);
		tipme_task_wait(w->pid);
	}
	free(w);
}

const struct tipme_task tipme_tasks_web[] = {
	{ .name = "app-web",
	  .what = "a web server answers 1,024 requests for 9.7 MB",
	  .unit = "request",
	  .references = REQUESTS,
	  .repeats = 2,
	  .disk_bytes = 2 << 20,
	  .prepare = prepare_web,
	  .run = run_web,
	  .finish = finish_web },
	{ 0 },
};
