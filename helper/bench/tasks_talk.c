// SPDX-License-Identifier: GPL-2.0-only
/* Tasks with a peer: a network transfer, wake-ups between two threads, a call on the bus. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "task.h"

/* --- net; section 4.7: 256 KB by TCP into a receive buffer of 24 KB, over loopback --- */

#define SENT_BYTES (256U << 10)
#define RECEIVE_BYTES (24 << 10)

struct net {
	int listener, sender, receiver;
	pthread_t thread;
	bool threaded;
	char out[SENT_BYTES];
};

/* Takes 256 KB, says so with a byte, and again, until the sender closes. */
static void *receive(void *arg)
{
	struct net *n = arg;
	static char in[RECEIVE_BYTES];
	size_t had = 0;
	ssize_t got;

	while ((got = recv(n->receiver, in, sizeof(in), 0)) > 0) {
		had += (size_t)got;
		if (had < SENT_BYTES)
			continue;
		had -= SENT_BYTES;
		if (send(n->receiver, "", 1, MSG_NOSIGNAL) != 1)
			break;
	}
	return NULL;
}

static int connect_pair(struct net *n)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int bytes = RECEIVE_BYTES;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	n->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* Before listen(): the connection takes its window from here. */
	setsockopt(n->listener, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (bind(n->listener, (struct sockaddr *)&at, sizeof(at)) || listen(n->listener, 1) ||
	    getsockname(n->listener, (struct sockaddr *)&at, &len))
		return -errno;
	n->sender = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (n->sender < 0 || connect(n->sender, (struct sockaddr *)&at, sizeof(at)))
		return -errno;
	n->receiver = accept4(n->listener, NULL, NULL, SOCK_CLOEXEC);
	return n->receiver < 0 ? -errno : 0;
}

static int prepare_net(struct tipme_task_run *r)
{
	struct net *n = calloc(1, sizeof(*n));

	r->state = n;
	if (!n)
		return -ENOMEM;
	n->listener = n->sender = n->receiver = -1;
	int err = connect_pair(n);

	if (err)
		return tipme_task_fail(r, err, "loopback: %s", strerror(-err));
	err = -pthread_create(&n->thread, NULL, receive, n);
	n->threaded = !err;
	return err;
}

static int transfer(struct net *n)
{
	char said;

	for (size_t at = 0; at < SENT_BYTES;) {
		ssize_t sent = send(n->sender, n->out + at, SENT_BYTES - at, MSG_NOSIGNAL);

		if (sent < 0)
			return -errno;
		at += (size_t)sent;
	}
	return recv(n->sender, &said, 1, 0) == 1 ? 0 : -EIO;
}

static int run_net(struct tipme_task_run *r)
{
	int err = 0;

	for (unsigned int i = 0; i < r->references && !err; i++)
		err = transfer(r->state);
	return err;
}

static void finish_net(struct tipme_task_run *r)
{
	struct net *n = r->state;

	if (!n)
		return;
	if (n->sender >= 0)
		shutdown(n->sender, SHUT_RDWR);
	if (n->threaded)
		pthread_join(n->thread, NULL);
	for (int *fd = &n->listener; fd <= &n->receiver; fd++)
		if (*fd >= 0)
			close(*fd);
	free(n);
}

/* --- wakeup: two threads wake each other in turn --- */

struct wakeup {
	int (*send)(struct wakeup *w, int to);
	int (*take)(struct wakeup *w, int from);
	int fds[2][2]; /* pipes, or eventfds in both places */
	_Atomic uint32_t turn[2];
	atomic_bool ending;
	pthread_t thread;
	bool threaded;
	cpu_set_t peer_cpu;
};

static int pipe_send(struct wakeup *w, int to)
{
	return write(w->fds[to][1], "", 1) == 1 ? 0 : -errno;
}

static int pipe_take(struct wakeup *w, int from)
{
	char byte;

	return read(w->fds[from][0], &byte, 1) == 1 ? 0 : -errno;
}

static int event_send(struct wakeup *w, int to)
{
	return eventfd_write(w->fds[to][0], 1) ? -errno : 0;
}

static int event_take(struct wakeup *w, int from)
{
	eventfd_t n;

	return eventfd_read(w->fds[from][0], &n) ? -errno : 0;
}

static int futex_send(struct wakeup *w, int to)
{
	atomic_store(&w->turn[to], 1);
	return syscall(SYS_futex, &w->turn[to], FUTEX_WAKE_PRIVATE, 1, NULL) < 0 ? -errno : 0;
}

static int futex_take(struct wakeup *w, int from)
{
	while (!atomic_exchange(&w->turn[from], 0))
		if (syscall(SYS_futex, &w->turn[from], FUTEX_WAIT_PRIVATE, 0, NULL) < 0 &&
		    errno != EAGAIN)
			return -errno;
	return 0;
}

static void *answer(void *arg)
{
	struct wakeup *w = arg;

	sched_setaffinity(0, sizeof(w->peer_cpu), &w->peer_cpu);
	while (!w->take(w, 0) && !atomic_load(&w->ending) && !w->send(w, 1))
		;
	return NULL;
}

static int choose(struct tipme_task_run *r, struct wakeup *w)
{
	static const struct {
		const char *name;
		int (*send)(struct wakeup *w, int to);
		int (*take)(struct wakeup *w, int from);
	} ways[] = { { "pipe", pipe_send, pipe_take },
		     { "eventfd", event_send, event_take },
		     { "futex", futex_send, futex_take } };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strstr(r->variant, ways[i].name)) {
			w->send = ways[i].send;
			w->take = ways[i].take;
		}
	for (int i = 0; i < 2; i++)
		w->fds[i][0] = w->fds[i][1] = -1;
	if (w->send == pipe_send)
		return pipe(w->fds[0]) || pipe(w->fds[1]) ? -errno : 0;
	for (int i = 0; w->send == event_send && i < 2; i++)
		w->fds[i][0] = eventfd(0, EFD_CLOEXEC);
	return 0;
}

/* Caller to the first CPU that it may use; peer to the same, or to the second. */
static int place(struct tipme_task_run *r, struct wakeup *w)
{
	bool other = strstr(r->variant, "other");
	cpu_set_t may, own;
	int found = 0;

	CPU_ZERO(&own);
	CPU_ZERO(&w->peer_cpu);
	if (sched_getaffinity(0, sizeof(may), &may))
		return -errno;
	for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET(cpu, &may)) {
			if (!found)
				CPU_SET(cpu, &own);
			if (found == other)
				CPU_SET(cpu, &w->peer_cpu);
			found++;
		}
	if (found < 2 && other)
		return tipme_task_fail(r, -ENOTSUP, "there is one CPU only");
	return sched_setaffinity(0, sizeof(own), &own) ? -errno : 0;
}

static int prepare_wakeup(struct tipme_task_run *r)
{
	struct wakeup *w = calloc(1, sizeof(*w));
	int err = w ? choose(r, w) : -ENOMEM;

	r->state = w;
	err = err ? err : place(r, w);
	err = err ? err : -pthread_create(&w->thread, NULL, answer, w);
	if (w)
		w->threaded = !err;
	return err;
}

static int run_wakeup(struct tipme_task_run *r)
{
	struct wakeup *w = r->state;
	int err = 0;

	for (unsigned int i = 0; i < r->references && !err; i++) {
		err = w->send(w, 0);
		err = err ? err : w->take(w, 1);
	}
	return err;
}

static void finish_wakeup(struct tipme_task_run *r)
{
	struct wakeup *w = r->state;

	if (w && w->threaded) {
		atomic_store(&w->ending, true);
		w->send(w, 0);
		pthread_join(w->thread, NULL);
	}
	for (int i = 0; w && i < 4; i++)
		if (w->fds[i / 2][i % 2] >= 0)
			close(w->fds[i / 2][i % 2]);
	free(w);
}

/* --- a call on a bus of our own, to the bus itself --- */

struct bus {
	sd_bus *bus;
	int pid, fd;
};

static int read_line(int fd, char *line, size_t len)
{
	size_t n = 0;

	while (n + 1 < len && read(fd, line + n, 1) == 1 && line[n] != '\n')
		n++;
	line[n] = 0;
	return n ? 0 : -EIO;
}

static int prepare_bus(struct tipme_task_run *r)
{
	static char *const argv[] = { (char *)"dbus-daemon",	 (char *)"--session",
				      (char *)"--nofork",	 (char *)"--nopidfile",
				      (char *)"--print-address", NULL };
	struct bus *b = calloc(1, sizeof(*b));
	char address[400];

	r->state = b;
	if (!b)
		return -ENOMEM;
	b->fd = -1;
	b->pid = tipme_task_spawn(argv, &b->fd);
	if (b->pid < 0 || read_line(b->fd, address, sizeof(address)))
		return tipme_task_fail(r, -ENOTSUP, "dbus-daemon does not start: install it");
	setenv("DBUS_SESSION_BUS_ADDRESS", address, 1);
	return sd_bus_open_user(&b->bus) < 0 ? -ECONNREFUSED : 0;
}

static int run_bus(struct tipme_task_run *r)
{
	struct bus *b = r->state;
	int err = 0;

	for (unsigned int i = 0; i < r->references && err >= 0; i++) {
		sd_bus_message *reply = NULL;

		err = sd_bus_call_method(b->bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
					 "org.freedesktop.DBus", "GetId", NULL, &reply, "");
		sd_bus_message_unref(reply);
	}
	return err < 0 ? err : 0;
}

static void finish_bus(struct tipme_task_run *r)
{
	struct bus *b = r->state;

	if (!b)
		return;
	sd_bus_close(b->bus);
	sd_bus_unref(b->bus);
	if (b->fd >= 0)
		close(b->fd);
	tipme_task_end(b->pid);
	free(b);
}

const struct tipme_task tipme_tasks_talk[] = {
	{ .name = "net",
	  .what = "256 KB by TCP over loopback, receive buffer 24 KB",
	  .unit = "transfer",
	  .references = 20,
	  .repeats = 8,
	  .prepare = prepare_net,
	  .run = run_net,
	  .finish = finish_net },
	{ .name = "wakeup/pipe-same/pipe-other/futex-same/futex-other/eventfd-same/eventfd-other",
	  .what = "two threads wake each other, on one CPU or on two",
	  .unit = "round trip",
	  .references = 1000,
	  .repeats = 8,
	  .prepare = prepare_wakeup,
	  .run = run_wakeup,
	  .finish = finish_wakeup },
	{ .name = "dbus-call",
	  .what = "a call to the message bus, and its answer",
	  .unit = "call",
	  .references = 200,
	  .repeats = 8,
	  .prepare = prepare_bus,
	  .run = run_bus,
	  .finish = finish_bus },
	{ 0 },
};
