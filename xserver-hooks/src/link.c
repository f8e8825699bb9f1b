// SPDX-License-Identifier: GPL-2.0-only
/* Connection to tipmed. Calls nothing of the X server: it runs beside its main thread. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "dump.h"
#include "evdev.h"
#include "link.h"

#include "hot.h"
#include "tipme_records.h"

#define MESSAGE_MAGIC 0x4d504954U
#define RETRY_MS 1000
#define NAME_LEN 16
/* Of our own files, the fewest seconds between two, and the most in the life of a server. */
#define SAVE_GAP_S 5
#define SAVES_MAX 16
#define SYSCTL "/proc/sys/kernel/tipme/trigger"

struct link {
	char run_dir[sizeof(((struct sockaddr_un *)0)->sun_path) -
		     sizeof("/tipmed-4294967295.sock")];
	char server_name[NAME_LEN];
	char dump_dir[128];
	uint32_t display;
	int ring_fd;
	bool offered[TIPME_LINK_RINGS];
	int event_fd;
	int sock; /* -1: not connected */
	bool start; /* to be passed on */
	bool snapshot; /* to be passed on */
	time_t saved_s;
	unsigned saves;
};

static struct link link_state = { .event_fd = -1, .sock = -1 };

/*
 * Between the threads: what was asked for (a bit for each chord_action), the file that was saved.
 */
static _Atomic unsigned asked;
static char saved_path[TIPME_LINK_PATH_LEN];
_Atomic bool tipme_link_saved_is_new TIPME_HOT_DATA;

static void link_close(struct link *link)
{
	if (link->sock >= 0)
		close(link->sock);
	link->sock = -1;
	memset(link->offered, 0, sizeof(link->offered));
}

/* Whether anybody could have made a folder of this name. */
static bool is_in_open_place(const char *path)
{
	char above[sizeof(link_state.run_dir)];
	struct stat st;
	char *slash;

	strcpy(above, path);
	slash = strrchr(above, '/');
	if (!slash)
		return true;
	slash[slash == above] = '\0';
	return stat(above, &st) || (st.st_mode & S_IWOTH);
}

/*
 * The ring tells who types when. It goes to whoever owns the folder, or to root. A folder in which
 * anybody can put a socket is no address; nor is one that anybody could have made, unless it is
 * root's or the server's own; nor a link, which leads wherever its maker likes.
 */
static bool peer_is_trusted(const struct link *link, int sock)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	struct stat st;

	if (lstat(link->run_dir, &st) || !S_ISDIR(st.st_mode) || (st.st_mode & S_IWOTH))
		return false;
	if (st.st_uid != 0 && st.st_uid != getuid() && is_in_open_place(link->run_dir))
		return false;
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return false;
	return peer.uid == 0 || peer.uid == st.st_uid;
}

/*
 * The socket is root's and the recorder's owner's; whom they have named has one of his own beside
 * it.
 */
static int link_knock(const struct link *link, int sock)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/tipmed.sock", link->run_dir);
	if (!connect(sock, (struct sockaddr *)&addr, sizeof(addr)))
		return 0;
	if (errno != EACCES)
		return -errno;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/tipmed-%u.sock", link->run_dir,
		 (unsigned int)geteuid());
	return connect(sock, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
}

static int link_socket(const struct link *link)
{
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (sock < 0)
		return -errno;
	if (link_knock(link, sock) || !peer_is_trusted(link, sock)) {
		close(sock);
		return -ECONNREFUSED;
	}
	return sock;
}

/*
 * Sends one message, with a descriptor unless fd is -1. Returns 0 or -errno; -EAGAIN: the peer does
 * not read.
 */
static int link_send(struct link *link, uint16_t verb, uint32_t arg, const char *text, int fd)
{
	struct tipme_message msg = {
		.magic = MESSAGE_MAGIC,
		.version = 1,
		.verb = verb,
		.arg = arg,
		.text_len = (uint32_t)strlen(text),
	};
	struct iovec iov[2] = { { &msg, sizeof(msg) }, { (void *)text, msg.text_len } };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 2 };

	if (fd >= 0) {
		mh.msg_control = control.bytes;
		mh.msg_controllen = sizeof(control.bytes);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	return sendmsg(link->sock, &mh, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* The input thread's ring is nothing before that thread has begun to write. */
static int ring_to_offer(const struct link *link, unsigned i)
{
	return i == 0 ? link->ring_fd : tipme_evdev_ring_fd();
}

static void offer_rings(struct link *link)
{
	for (unsigned i = 0; i < TIPME_LINK_RINGS && link->sock >= 0; i++) {
		int fd = ring_to_offer(link, i);

		if (fd < 0 || link->offered[i])
			continue;
		if (link_send(link, TIPME_VERB_X_HELLO, link->display, link->server_name, fd))
			link_close(link);
		else
			link->offered[i] = true;
	}
}

static void link_connect(struct link *link)
{
	int sock = link_socket(link);

	if (sock < 0)
		return;
	link->sock = sock;
	offer_rings(link);
}

/* One that the connection has no room for now is offered again when it has. */
static bool send_action(struct link *link, unsigned action)
{
	int err = link_send(link, TIPME_VERB_TRIGGER, action, "", -1);

	if (err && err != -EAGAIN)
		link_close(link);
	return !err;
}

static void send_actions(struct link *link)
{
	if (link->sock >= 0 && link->start && send_action(link, TIPME_CHORD_ACTION_START))
		link->start = false;
	if (link->sock >= 0 && link->snapshot && send_action(link, TIPME_CHORD_ACTION_SNAPSHOT))
		link->snapshot = false;
}

/*
 * Answers are for people with a command line; here they only have to be taken, so that tipmed need
 * not wait.
 */
static void take_answers(struct link *link)
{
	char answer[4096];
	ssize_t n;

	/*
	 * MSG_TRUNC keeps a long answer from looking like several; no control buffer: no descriptor
	 * is ever taken.
	 */
	do
		n = recv(link->sock, answer, sizeof(answer), MSG_DONTWAIT | MSG_TRUNC);
	while (n > 0);
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		link_close(link);
}

/* Where the kernel module runs, and we may: it says so to whoever records. */
static bool trigger_kernel(void)
{
	int fd = open(SYSCTL, O_WRONLY | O_CLOEXEC);
	bool done;

	if (fd < 0)
		return false;
	done = write(fd, "1\n", 2) == 2;
	close(fd);
	return done;
}

/*
 * Nobody listens: what the server knows itself is saved. One that comes later hears of the hot-key
 * all the same.
 */
static void save_own(struct link *link)
{
	int fds[TIPME_LINK_RINGS] = { ring_to_offer(link, 0), ring_to_offer(link, 1) };
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	if (tipme_link_saved_is_new || link->saves == SAVES_MAX ||
	    (link->saves && t.tv_sec - link->saved_s < SAVE_GAP_S))
		return;
	link->saved_s = t.tv_sec;
	link->saves++;
	if (!tipme_dump_save(link->dump_dir, fds, TIPME_LINK_RINGS, saved_path, sizeof(saved_path)))
		tipme_link_saved_is_new = true;
}

static void take_chords(struct link *link)
{
	uint64_t count;
	unsigned actions;

	if (read(link->event_fd, &count, sizeof(count)) != sizeof(count))
		return;
	actions = atomic_exchange(&asked, 0);
	/* tipmed may have started a moment ago. */
	if (link->sock < 0)
		link_connect(link);
	link->start |= actions >> TIPME_CHORD_ACTION_START & 1;
	if (!(actions >> TIPME_CHORD_ACTION_SNAPSHOT & 1))
		return;
	/* One episode holds them all. */
	link->snapshot = true;
	if (link->sock >= 0)
		return;
	if (trigger_kernel())
		link->snapshot = false;
	else
		save_own(link);
}

static void link_step(struct link *link)
{
	bool waiting = link->sock >= 0 && (link->start || link->snapshot);
	struct pollfd fds[2] = {
		{ .fd = link->event_fd, .events = POLLIN },
		{ .fd = link->sock, .events = (short)(POLLIN | (waiting ? POLLOUT : 0)) },
	};

	if (poll(fds, 2, link->sock < 0 ? RETRY_MS : -1) < 0)
		return;
	if (fds[0].revents)
		take_chords(link);
	if (link->sock >= 0 && fds[1].fd == link->sock &&
	    (fds[1].revents & (POLLIN | POLLHUP | POLLERR)))
		take_answers(link);
	if (link->sock < 0)
		link_connect(link);
	offer_rings(link);
	send_actions(link);
}

static void *link_main(void *arg)
{
	struct link *link = arg;

	pthread_setname_np(pthread_self(), "tipme-link");
	link_connect(link);
	for (;;)
		link_step(link);
	return NULL;
}

/* No signal of the server's may run its handler in this thread. */
static int start_thread(struct link *link)
{
	pthread_t thread;
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	err = pthread_create(&thread, NULL, link_main, link);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		pthread_detach(thread);
	return -err;
}

int tipme_link_start(const struct tipme_link_options *opt)
{
	struct link *link = &link_state;
	const char *run_dir = opt->run_dir && *opt->run_dir ? opt->run_dir : TIPME_RUNDIR_DEFAULT;
	const char *dump_dir =
		opt->dump_dir && *opt->dump_dir ? opt->dump_dir : TIPME_DUMPDIR_DEFAULT;

	if (strlen(run_dir) >= sizeof(link->run_dir) || strlen(dump_dir) >= sizeof(link->dump_dir))
		return -ENAMETOOLONG;
	strcpy(link->run_dir, run_dir);
	while (strlen(link->run_dir) > 1 && link->run_dir[strlen(link->run_dir) - 1] == '/')
		link->run_dir[strlen(link->run_dir) - 1] = '\0';
	strcpy(link->dump_dir, dump_dir);
	snprintf(link->server_name, sizeof(link->server_name), "%s", opt->server_name);
	link->display = opt->display;
	link->ring_fd = opt->ring_fd;
	link->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (link->event_fd < 0)
		return -errno;
	return start_thread(link);
}

void tipme_link_wake(void)
{
	uint64_t one = 1;

	/* Cannot block; if the counter were full the thread would be awake already. */
	if (write(link_state.event_fd, &one, sizeof(one)) < 0)
		return;
}

void tipme_link_trigger(unsigned action)
{
	atomic_fetch_or(&asked, 1U << action);
	tipme_link_wake();
}

bool tipme_link_saved(char path[TIPME_LINK_PATH_LEN])
{
	if (!tipme_link_saved_is_new)
		return false;
	memcpy(path, saved_path, sizeof(saved_path));
	tipme_link_saved_is_new = false;
	return true;
}
