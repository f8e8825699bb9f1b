// SPDX-License-Identifier: GPL-2.0-only
/*
 * A window of a Wayland session, from its first request to the frame that shows it: the sibling of
 * `window`. It speaks the protocol itself, so that no library's time is in it. The compositor is
 * that of $WAYLAND_DISPLAY, or a weston without a screen that is started for it.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "task.h"

#define WIDTH 570
#define HEIGHT 760
#define BYTES (WIDTH * HEIGHT * 4)
#define XRGB8888 1
#define TRIES 500
#define TRY_US 10000

/* Numbers of requests and events, by the order in which the protocol lists them. */
enum { DISPLAY = 1, DISPLAY_SYNC = 0, DISPLAY_GET_REGISTRY = 1, DISPLAY_ERROR = 0 };
enum { REGISTRY_BIND = 0, REGISTRY_GLOBAL = 0, COMPOSITOR_CREATE_SURFACE = 0 };
enum { SHM_CREATE_POOL = 0, POOL_CREATE_BUFFER = 0, DESTROY = 0 };
enum { WM_GET_XDG_SURFACE = 2, WM_PONG = 3, WM_PING = 0 };
enum { XDG_GET_TOPLEVEL = 1, XDG_ACK_CONFIGURE = 4, FIRST = 0 };
enum { SURFACE_ATTACH = 1, SURFACE_DAMAGE = 2, SURFACE_FRAME = 3, SURFACE_COMMIT = 6 };

struct wayland {
	int pid, fd, memory; /* of the compositor, if it is ours; the connection; of the picture */
	uint32_t last_id;
	uint32_t registry, compositor, shm, wm, buffer;
	uint32_t awaited, said; /* whose first event is waited for, and that event's first word */
	bool came, refused;
	uint32_t out[256], in[16384];
	size_t out_words, in_bytes;
};

/* --- requests are gathered, and sent when something is waited for --- */

static void request(struct wayland *w, uint32_t object, uint32_t what, const uint32_t *args,
		    size_t words)
{
	w->out[w->out_words++] = object;
	w->out[w->out_words++] = (uint32_t)(8 + 4 * words) << 16 | what;
	if (words)
		memcpy(w->out + w->out_words, args, 4 * words);
	w->out_words += words;
}

#define REQUEST(w, object, what, ...)                               \
	request(w, object, what, (const uint32_t[]){ __VA_ARGS__ }, \
		sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

/* A request whose first word names what it makes. Returns that name. */
static uint32_t make(struct wayland *w, uint32_t object, uint32_t what)
{
	REQUEST(w, object, what, ++w->last_id);
	return w->last_id;
}

/* Sends what was gathered, with a descriptor if fd is none below 0. */
static int flush(struct wayland *w, int fd)
{
	struct iovec data = { w->out, 4 * w->out_words };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.head = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	ssize_t sent = sendmsg(w->fd, &m, MSG_NOSIGNAL);

	w->out_words = 0;
	return sent == (ssize_t)data.iov_len ? 0 : sent < 0 ? -errno : -EIO;
}

/* --- events --- */

static void bind_global(struct wayland *w, const uint32_t *args, uint32_t words)
{
	const char *interface = (const char *)(args + 2);
	const struct {
		const char *name;
		uint32_t *id;
	} wanted[] = { { "wl_compositor", &w->compositor },
		       { "wl_shm", &w->shm },
		       { "xdg_wm_base", &w->wm } };
	uint32_t name_words = words > 2 ? (args[1] + 3) / 4 : 0, bind[20];

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (name_words < 1 || name_words > 16 || name_words + 2 > words ||
		    strcmp(interface, wanted[i].name))
			continue;
		/* name, interface, version 1, our name for it */
		memcpy(bind, args, 4 * (2 + name_words));
		bind[2 + name_words] = 1;
		bind[3 + name_words] = *wanted[i].id = ++w->last_id;
		request(w, w->registry, REGISTRY_BIND, bind, 4 + name_words);
	}
}

static void event(struct wayland *w, uint32_t object, uint32_t what, const uint32_t *args,
		  uint32_t words)
{
	if (object == DISPLAY && what == DISPLAY_ERROR)
		w->refused = true;
	else if (object == w->registry && what == REGISTRY_GLOBAL)
		bind_global(w, args, words);
	else if (object == w->wm && what == WM_PING && words)
		REQUEST(w, w->wm, WM_PONG, args[0]);
	else if (object == w->awaited && what == FIRST && words) {
		w->said = args[0];
		w->came = true;
	}
}

/* Handles all whole events that have come. */
static void take_events(struct wayland *w)
{
	size_t at = 0;

	while (w->in_bytes - at >= 8) {
		const uint32_t *e = w->in + at / 4;
		uint32_t size = e[1] >> 16;

		if (size < 8 || size % 4 || size > w->in_bytes - at)
			break;
		event(w, e[0], e[1] & 0xffff, e + 2, size / 4 - 2);
		at += size;
	}
	w->in_bytes -= at;
	memmove(w->in, (char *)w->in + at, w->in_bytes);
}

/* Sends what was gathered, and waits for the first event of an object: a callback's, or a size. */
static int wait_for(struct wayland *w, uint32_t object)
{
	int err = 0;

	w->awaited = object;
	for (w->came = false; !err && !w->came && !w->refused;) {
		err = w->out_words ? flush(w, -1) : 0;
		ssize_t n = err ? 0
				: recv(w->fd, (char *)w->in + w->in_bytes,
				       sizeof(w->in) - w->in_bytes, 0);

		err = err ? err : n < 0 ? -errno : n ? 0 : -EPIPE;
		w->in_bytes += n > 0 ? (size_t)n : 0;
		take_events(w);
	}
	return w->refused ? -EPROTO : err;
}

/* --- a connection --- */

static int connect_to(struct wayland *w, const char *folder, const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int n = snprintf(at.sun_path, sizeof(at.sun_path), "%s%s%s", name[0] == '/' ? "" : folder,
			 name[0] == '/' ? "" : "/", name);

	if (n >= (int)sizeof(at.sun_path))
		return -ENAMETOOLONG;
	w->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (w->fd >= 0 && !connect(w->fd, (struct sockaddr *)&at, sizeof(at)))
		return 0;
	int err = -errno;

	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	return err;
}

/* Without a screen; its socket lies in the task's folder. */
static int start_weston(struct tipme_task_run *r, struct wayland *w)
{
	static char *const argv[] = {
		(char *)"weston",      (char *)"--backend=headless-backend.so",
		(char *)"--no-config", (char *)"--idle-time=0",
		(char *)"--socket=w",  NULL
	};
	int err = -ENOENT;

	setenv("XDG_RUNTIME_DIR", r->folder, 1);
	w->pid = tipme_task_spawn(argv, NULL);
	for (int i = 0; w->pid > 0 && i < TRIES && !tipme_task_interrupted; i++) {
		err = connect_to(w, r->folder, "w");
		if (!err || err == -ENAMETOOLONG)
			break;
		usleep(TRY_US);
	}
	return err ? tipme_task_fail(r, -ENOTSUP, "weston does not start: install it") : 0;
}

/* What is needed of the compositor, and one picture for all windows. */
static int set_up(struct tipme_task_run *r, struct wayland *w)
{
	uint32_t pool;
	int err;

	w->last_id = DISPLAY;
	w->registry = make(w, DISPLAY, DISPLAY_GET_REGISTRY);
	err = wait_for(w, make(w, DISPLAY, DISPLAY_SYNC));
	if (!err && !(w->compositor && w->shm && w->wm))
		return tipme_task_fail(r, -ENOTSUP,
				       "the compositor knows no windows (xdg_wm_base)");
	w->memory = memfd_create("tipme-bench", MFD_CLOEXEC);
	if (err || w->memory < 0 || ftruncate(w->memory, BYTES))
		return err ? err : -errno;
	pool = ++w->last_id;
	REQUEST(w, w->shm, SHM_CREATE_POOL, pool, BYTES);
	err = flush(w, w->memory);
	w->buffer = ++w->last_id;
	REQUEST(w, pool, POOL_CREATE_BUFFER, w->buffer, 0, WIDTH, HEIGHT, WIDTH * 4, XRGB8888);
	return err;
}

static int prepare_wayland(struct tipme_task_run *r)
{
	const char *folder = getenv("XDG_RUNTIME_DIR"), *name = getenv("WAYLAND_DISPLAY");
	struct wayland *w = calloc(1, sizeof(*w));
	int err = w ? 0 : -ENOMEM;

	r->state = w;
	if (err)
		return err;
	w->fd = w->memory = -1;
	if (name && name[0])
		err = connect_to(w, folder ? folder : "", name)
			      ? tipme_task_fail(r, -ENOTSUP, "no Wayland compositor answers")
			      : 0;
	else
		err = start_weston(r, w);
	return err ? err : set_up(r, w);
}

/* --- windows --- */

static int show_window(struct wayland *w)
{
	uint32_t surface = make(w, w->compositor, COMPOSITOR_CREATE_SURFACE);
	uint32_t window = ++w->last_id, toplevel, frame;
	int err;

	REQUEST(w, w->wm, WM_GET_XDG_SURFACE, window, surface);
	toplevel = make(w, window, XDG_GET_TOPLEVEL);
	request(w, surface, SURFACE_COMMIT, NULL, 0);
	err = wait_for(w, window);
	if (err)
		return err;
	REQUEST(w, window, XDG_ACK_CONFIGURE, w->said);
	REQUEST(w, surface, SURFACE_ATTACH, w->buffer, 0, 0);
	REQUEST(w, surface, SURFACE_DAMAGE, 0, 0, WIDTH, HEIGHT);
	frame = make(w, surface, SURFACE_FRAME);
	request(w, surface, SURFACE_COMMIT, NULL, 0);
	err = wait_for(w, frame);
	request(w, toplevel, DESTROY, NULL, 0);
	request(w, window, DESTROY, NULL, 0);
	request(w, surface, DESTROY, NULL, 0);
	return err ? err : flush(w, -1);
}

static int run_wayland(struct tipme_task_run *r)
{
	int err = 0;

	for (unsigned int i = 0; i < r->references && !err; i++)
		err = show_window(r->state);
	return err;
}

static void finish_wayland(struct tipme_task_run *r)
{
	struct wayland *w = r->state;

	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	if (w->memory >= 0)
		close(w->memory);
	tipme_task_end(w->pid);
	free(w);
}

const struct tipme_task tipme_tasks_wayland[] = {
	{ .name = "window/wayland",
	  .what = "a window of a Wayland session, to the first frame with it",
	  .unit = "window",
	  .references = 10,
	  .repeats = 4,
	  .disk_bytes = 1 << 20,
	  .prepare = prepare_wayland,
	  .run = run_wayland,
	  .finish = finish_wayland },
	{ 0 },
};
