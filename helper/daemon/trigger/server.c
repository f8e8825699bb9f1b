// SPDX-License-Identifier: GPL-2.0-only
/* The trigger thread: one loop over all descriptors that it waits for. */
#include "config.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock.h"
#include "privileges.h"
#include "server_parts.h"

#define EVENTS_AT_ONCE 8

/* How often those who were paused are looked at. */
#define PAUSE_MS 20

#define STACK_BYTES (256 << 10)
#define STACK_SPARE_BYTES (32 << 10) /* what threads have of it for themselves, and calls */

void tipmed_server_watch(struct tipmed_server *server, int fd, uint32_t what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = what };

	epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* Ends the waiting after a trigger, so that what was asked for is saved before we stop. */
static void on_quit(struct tipmed_server *server)
{
	eventfd_t n;

	eventfd_read(server->quit_fd, &n);
	server->quitting = true;
	if (server->snap.phase == TIPMED_POST)
		tipmed_taking_finish(server);
	else if (server->snap.phase == TIPMED_IDLE)
		tipmed_taking_go_on(server);
}

static void dispatch(struct tipmed_server *server, uint32_t what)
{
	switch (what) {
	case ON_TIMER: tipmed_taking_on_timer(server); return;
	case ON_QUIT: on_quit(server); return;
	case ON_DONE: tipmed_taking_on_done(server); return;
	case ON_CLASSES: tipmed_verbs_classes_done(server); return;
	}
	if (what >= ON_ORIGIN) {
		tipmed_taking_on_origin(server, &server->origin[what - ON_ORIGIN]);
		return;
	}
	if (what >= ON_DOOR) {
		tipmed_peers_accept(server, &server->doors.door[what - ON_DOOR]);
		return;
	}
	if (server->peer[what].fd >= 0)
		tipmed_verbs_on_peer(server, &server->peer[what]);
}

/* Memory is locked as it is used: who may not wait for memory uses its stack at once. */
static __attribute__((noinline)) void stack_ready(void)
{
	volatile char room[STACK_BYTES - STACK_SPARE_BYTES];

	for (size_t i = 0; i < sizeof(room); i += 1024)
		room[i] = 0;
}

static void *server_run(void *arg)
{
	struct tipmed_server *server = arg;
	struct epoll_event events[EVENTS_AT_ONCE];

	stack_ready();
	server->realtime_error = tipmed_realtime_enter();
	while (!server->quitting || server->snap.phase != TIPMED_IDLE) {
		/* Each 10 seconds at least: rings of servers that are gone are given up. */
		int n = epoll_wait(server->epoll_fd, events, EVENTS_AT_ONCE,
				   server->paused ? PAUSE_MS : 10000);

		for (int i = 0; i < n; i++)
			dispatch(server, events[i].data.u32);
		tipmed_peers_resume(server);
		if (server->snap.phase == TIPMED_IDLE)
			tipmed_x_servers_expire(&server->snap.x, tipme_clock_ns());
	}
	return NULL;
}

int tipmed_server_origin_add(struct tipmed_server *server, const struct tipmed_origin *origin)
{
	if (origin->fd < 0)
		return 0;
	if (server->origins == TIPMED_ORIGINS_MAX)
		return -ENOSPC;
	server->origin[server->origins++] = *origin;
	return 0;
}

int tipmed_server_start(struct tipmed_server *server)
{
	pthread_attr_t attr;

	for (int i = 0; i < TIPMED_PEERS_MAX; i++)
		server->peer[i] = (struct tipmed_peer){ .fd = -1 };
	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	server->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	server->quit_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->epoll_fd < 0 || server->timer_fd < 0 || server->quit_fd < 0)
		return -errno;
	for (uint32_t i = 0; i < server->doors.count; i++)
		tipmed_server_watch(server, server->doors.door[i].fd, ON_DOOR + i);
	tipmed_server_watch(server, server->timer_fd, ON_TIMER);
	tipmed_server_watch(server, server->quit_fd, ON_QUIT);
	tipmed_server_watch(server, server->writer->done_fd, ON_DONE);
	tipmed_server_watch(server, server->classes->done_fd, ON_CLASSES);
	for (unsigned int i = 0; i < server->origins; i++)
		tipmed_server_watch(server, server->origin[i].fd, ON_ORIGIN + i);
	int err = tipmed_closer_start(&server->closer, TIPMED_CLOSER_THREADS);

	if (!err)
		err = tipmed_closer_start(&server->closer_own, 1);
	if (err)
		return err;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = -pthread_create(&server->thread, &attr, server_run, server);

	pthread_attr_destroy(&attr);
	return err;
}

void tipmed_server_stop(struct tipmed_server *server)
{
	eventfd_write(server->quit_fd, 1);
	pthread_join(server->thread, NULL);
	tipmed_doors_unlink(&server->doors, server->opt);
	tipmed_closer_stop(&server->closer);
	tipmed_closer_stop(&server->closer_own);
	/* The connections stay until the process ends: who asked us to stop knows by that. */
	tipmed_doors_close(&server->doors);
}
