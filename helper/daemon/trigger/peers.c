// SPDX-License-Identifier: GPL-2.0-only
/* Connections to the trigger thread: who may connect, when one is read, and how it ends. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "server_parts.h"

void tipmed_peer_answer(struct tipmed_peer *peer, uint32_t error, const char *text)
{
	/* A peer that does not read loses its answers; waiting for it is no option here. */
	tipme_message_send(peer->fd, TIPME_VERB_REPLY, error, text, strlen(text), MSG_DONTWAIT);
}

static struct tipmed_closer *closer_of(struct tipmed_server *server, bool may_all)
{
	return may_all ? &server->closer_own : &server->closer;
}

/*
 * Memory of the kind that rings and records come in is closed at once; of all else strangers decide
 * how long it takes.
 */
void tipmed_peer_passed_close(void *arg, int fd)
{
	const struct tipmed_bringer *by = arg;

	if (fcntl(fd, F_GET_SEALS) >= 0)
		close(fd);
	else
		tipmed_closer_close(closer_of(by->server, by->may_all), fd, false);
}

void tipmed_peer_close(struct tipmed_server *server, struct tipmed_peer *peer)
{
	uint32_t gone = peer->x_rings;

	if (peer->watches)
		tipmed_agents_gone(&server->agents, peer->cred.pid, tipme_clock_ns());
	epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, peer->fd, NULL);
	shutdown(peer->fd, SHUT_RDWR);
	tipmed_closer_close(closer_of(server, peer->may_all), peer->fd, false);
	*peer = (struct tipmed_peer){ .fd = -1 };
	for (int i = 0; i < TIPMED_PEERS_MAX; i++)
		if (server->peer[i].fd >= 0)
			gone &= ~server->peer[i].x_rings;
	for (int place = 0; place < TIPMED_X_SERVERS_MAX; place++)
		if (gone >> place & 1)
			tipmed_x_servers_gone(&server->snap.x, place, tipme_clock_ns());
}

static bool uid_allowed(const struct tipmed_options *opt, uid_t uid)
{
	for (unsigned int i = 0; i < opt->allow_count; i++)
		if (opt->allow[i] == uid)
			return true;
	return false;
}

static const char *peer_refusal(const struct tipmed_server *server, const struct tipmed_peer *new)
{
	unsigned int others = 0, friends = 0, same = 0;

	if (server->quitting)
		return "the recorder is about to stop";
	if (!new->may_all && !uid_allowed(server->opt, new->cred.uid))
		return "this recorder serves root and its owner: ask them to start it with --allow-uid for you";
	for (int i = 0; i < TIPMED_PEERS_MAX; i++) {
		others += server->peer[i].fd >= 0 && server->peer[i].cred.uid;
		friends += server->peer[i].fd >= 0 && !server->peer[i].may_all;
		same += server->peer[i].fd >= 0 && server->peer[i].cred.uid == new->cred.uid;
	}
	if (!new->may_all && same >= TIPMED_PEERS_FRIEND)
		return "too many connections of this user: close some";
	if (new->cred.uid && others >= TIPMED_PEERS_OTHERS)
		return "too many connections: close some";
	if (!new->may_all && friends >= TIPMED_PEERS_FRIENDS)
		return "too many connections: close some";
	return NULL;
}

static struct tipmed_peer *peer_place(struct tipmed_server *server)
{
	for (int i = 0; i < TIPMED_PEERS_MAX; i++)
		if (server->peer[i].fd < 0)
			return &server->peer[i];
	return NULL;
}

/*
 * A socket that is closed with something unread in it takes our answer away from the peer: let
 * nothing more in, and have what is there thrown away before it is closed.
 */
static void peer_refuse(struct tipmed_server *server, struct tipmed_peer *new, uint32_t error,
			const char *why)
{
	shutdown(new->fd, SHUT_RD);
	tipmed_peer_answer(new, error, why);
	server->refused_peers++;
	tipmed_closer_close(closer_of(server, new->may_all), new->fd, true);
}

/*
 * Whoever keeps the closer from its work could fill our table of descriptors: then nobody new of
 * his kind comes in or is read. Those who are connected and may do all are read on: what they pass
 * by mistake is little. And whoever asks without end would have this thread, which is real-time,
 * work for him alone.
 */
static bool must_wait(struct tipmed_server *server, const struct tipmed_door *door, bool may_all,
		      uint64_t now_ns)
{
	return tipmed_closer_full(closer_of(server, may_all)) ||
	       (!may_all && !tipmed_door_affords(door, now_ns));
}

bool tipmed_peer_must_pause(struct tipmed_server *server, struct tipmed_door *door, bool may_all,
			    int fd, bool *paused)
{
	uint64_t now_ns = tipme_clock_ns();

	if (!must_wait(server, door, may_all, now_ns)) {
		if (!may_all)
			tipmed_door_pay(door, now_ns);
		return false;
	}
	epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	*paused = server->paused = true;
	return true;
}

static bool goes_on(struct tipmed_server *server, const struct tipmed_door *door, bool may_all,
		    int fd, bool *paused, uint32_t what)
{
	if (fd < 0 || !*paused)
		return true;
	if (must_wait(server, door, may_all, tipme_clock_ns()))
		return false;
	*paused = false;
	tipmed_server_watch(server, fd, what);
	return true;
}

void tipmed_peers_resume(struct tipmed_server *server)
{
	if (!server->paused)
		return;
	bool all = true;

	for (uint32_t i = 0; i < server->doors.count; i++) {
		struct tipmed_door *door = &server->doors.door[i];

		all &= goes_on(server, door, door->own, door->fd, &door->paused, ON_DOOR + i);
	}
	for (uint32_t i = 0; i < TIPMED_PEERS_MAX; i++) {
		struct tipmed_peer *peer = &server->peer[i];

		all &= goes_on(server, &server->doors.door[peer->door], peer->may_all, peer->fd,
			       &peer->paused, i);
	}
	server->paused = !all;
}

void tipmed_peers_accept(struct tipmed_server *server, struct tipmed_door *door)
{
	struct tipmed_peer new = { .number = ++server->peers_seen,
				   .door = (unsigned int)(door - server->doors.door) };
	socklen_t len = sizeof(new.cred);

	if (tipmed_peer_must_pause(server, door, door->own, door->fd, &door->paused))
		return;
	new.fd = accept4(door->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (new.fd < 0)
		return;
	if (getsockopt(new.fd, SOL_SOCKET, SO_PEERCRED, &new.cred, &len))
		new.cred.uid = (uid_t)-1;
	new.may_all = !new.cred.uid || new.cred.uid == server->opt->owner;
	const char *why = peer_refusal(server, &new);
	struct tipmed_peer *place = peer_place(server);

	if (why || !place) {
		peer_refuse(server, &new, why ? EACCES : EAGAIN,
			    why ? why : "too many connections: close some");
		return;
	}
	*place = new;
	tipmed_server_watch(server, new.fd, (uint32_t)(place - server->peer));
}

void tipmed_peers_tell(struct tipmed_server *server, uint16_t verb, uint32_t error,
		       const char *text)
{
	for (int i = 0; i < TIPMED_PEERS_MAX; i++)
		if (server->peer[i].fd >= 0 && server->peer[i].watches)
			tipme_message_send(server->peer[i].fd, verb, error, text, strlen(text),
					   MSG_DONTWAIT);
}

struct tipmed_peer *tipmed_peer_find(struct tipmed_server *server, uint64_t number)
{
	for (int i = 0; i < TIPMED_PEERS_MAX; i++)
		if (server->peer[i].fd >= 0 && server->peer[i].number == number)
			return &server->peer[i];
	return NULL;
}
