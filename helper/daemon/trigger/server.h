/* SPDX-License-Identifier: GPL-2.0-only */
/* The trigger thread: answers the socket, and takes the snapshots. */
#ifndef TIPMED_SERVER_H
#define TIPMED_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "agents.h"
#include "auto.h"
#include "classes.h"
#include "identity.h"
#include "evdev_hotkey.h"
#include "limitations.h"
#include "message.h"
#include "options.h"
#include "presses.h"
#include "quota.h"
#include "closer.h"
#include "doors.h"
#include "snapshot.h"
#include "watch.h"
#include "writer.h"

#define TIPMED_PEERS_MAX 64
/* Root gets in even when others hold all the places that others may hold, */
#define TIPMED_PEERS_OTHERS 56
/* and the owner when those hold theirs who are neither; */
#define TIPMED_PEERS_FRIENDS 40
/* of those, for one user: as many X servers as there may be. */
#define TIPMED_PEERS_FRIEND 16

struct tipmed_peer {
	int fd; /* -1: free */
	uint64_t number; /* of the connection; never used again */
	struct ucred cred;
	unsigned int door; /* by which it came */
	bool may_all; /* root and the owner; others only offer rings and trigger */
	bool watches; /* wants to know of each trigger and episode */
	uint32_t x_rings; /* a bit for each place of a ring that came over this connection */
	struct tipmed_press_teller press;
	bool paused; /* not read until the closer has done its work, or what came is paid for */
};

/*
 * Who else than a peer may ask for an episode: a key on the console, a threshold in the kernel, a
 * watcher of our own.
 */
struct tipmed_origin {
	int fd; /* readable when there is something to take */
	/*
	 * In the trigger thread: takes what is there without blocking. Returns 0 for a snapshot,
	 * with its kind, the user who asked, if one did, and what was seen; else -errno.
	 */
	int (*take)(void *arg, enum tipmed_trigger_kind *kind, uid_t *by, char *text, size_t len);
	void *arg;
};

#define TIPMED_ORIGINS_MAX 8

/*
 * One more episode each, while one is being saved, or its time has not come; in this order they are
 * taken.
 */
enum {
	TIPMED_PENDING_OWN,
	TIPMED_PENDING_FRIEND,
	TIPMED_PENDING_UNASKED, /* of a threshold: never in the way of somebody who presses */
	TIPMED_PENDING
};

struct tipmed_server {
	const struct tipmed_options *opt;
	const struct tipmed_limits *limits;
	struct tipmed_watch *watch;
	struct tipmed_writer *writer;
	struct tipmed_classes *classes;
	struct tipmed_identity *identity;
	struct tipmed_snapshot snap;
	struct tipmed_pending {
		bool is;
		uint64_t from_ns; /* it is not begun before */
		struct tipmed_trigger trigger;
	} pending[TIPMED_PENDING];
	struct tipmed_doors doors;
	int epoll_fd, timer_fd, quit_fd;
	uint64_t post_end_ns; /* in the phase POST: when recording is complete */
	bool quitting;
	struct tipmed_peer peer[TIPMED_PEERS_MAX];
	uint64_t peers_seen;
	/* of friends; of root and the owner, whom no friend keeps out by what he passes */
	struct tipmed_closer closer, closer_own;
	bool paused; /* so are some peers, or doors */
	struct tipmed_agents agents;
	char session[TIPMED_SESSION_BYTES];
	struct tipmed_auto automatic;
	struct tipmed_evdev *evdev; /* the hot-key on the keyboards; NULL: none */
	unsigned int keyboards_refused;
	struct tipmed_presses presses;
	struct tipmed_origin origin[TIPMED_ORIGINS_MAX];
	unsigned int origins;
	struct tipmed_quota quota; /* of those who are not root */
	uint64_t refused_triggers, refused_peers;
	uint64_t start_ns;
	uint64_t episodes, failures;
	int realtime_error; /* of the trigger thread: 0: it is real-time */
	char last_id[TIPMED_ID_BYTES];
	pthread_t thread;
	char in[TIPME_MESSAGE_MAX];
	char out[TIPME_MESSAGE_TEXT_MAX];
};

/* Before the trigger thread is started. Returns 0, or -ENOSPC. An fd of -1 is passed over. */
int tipmed_server_origin_add(struct tipmed_server *server, const struct tipmed_origin *origin);

/* Starts the trigger thread. */
int tipmed_server_start(struct tipmed_server *server);

/* Completes and saves what is under way; removes the sockets. Connections end with the process. */
void tipmed_server_stop(struct tipmed_server *server);

/* For the answer to `status`: JSON into server->out; returns its length. */
size_t tipmed_status_write(struct tipmed_server *server);

/* For the answer to `set`: all classes. */
size_t tipmed_status_classes(struct tipmed_server *server);

/* JSON of the rings that a reader may ask for; the same buffer. */
size_t tipmed_status_rings(struct tipmed_server *server);

#endif
