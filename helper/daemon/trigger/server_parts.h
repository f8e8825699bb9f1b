/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of the trigger thread offer each other: the loop, connections, episodes being
 * taken, verbs.
 */
#ifndef TIPMED_SERVER_PARTS_H
#define TIPMED_SERVER_PARTS_H

#include "server.h"

/* What epoll events are about: the place of a peer, or one of these. */
enum {
	ON_TIMER = TIPMED_PEERS_MAX,
	ON_QUIT,
	ON_DONE,
	ON_CLASSES,
	ON_DOOR,
	ON_ORIGIN = ON_DOOR + TIPMED_DOORS_MAX
};

/* --- the loop: server.c --- */

/* Events of fd are about `what` from now on. */
void tipmed_server_watch(struct tipmed_server *server, int fd, uint32_t what);

/* --- connections: peers.c --- */

/* Who brings a descriptor, for whoever drops it. */
struct tipmed_bringer {
	struct tipmed_server *server;
	bool may_all;
};

/* A reply; a peer that does not read loses it. */
void tipmed_peer_answer(struct tipmed_peer *peer, uint32_t error, const char *text);

/* To everybody who watches. */
void tipmed_peers_tell(struct tipmed_server *server, uint16_t verb, uint32_t error,
		       const char *text);

/* NULL: it has gone. */
struct tipmed_peer *tipmed_peer_find(struct tipmed_server *server, uint64_t number);

/* Closes a descriptor that a peer passed; arg is a struct tipmed_bringer. */
void tipmed_peer_passed_close(void *arg, int fd);

void tipmed_peer_close(struct tipmed_server *server, struct tipmed_peer *peer);

/* Somebody connects. */
void tipmed_peers_accept(struct tipmed_server *server, struct tipmed_door *door);

/*
 * Whether nothing is to be read for now from a peer or a door; then it is paused. Else it has paid
 * for one message.
 */
bool tipmed_peer_must_pause(struct tipmed_server *server, struct tipmed_door *door, bool may_all,
			    int fd, bool *paused);

/* Those who were paused go on where nothing speaks against it any more. */
void tipmed_peers_resume(struct tipmed_server *server);

/* --- from a trigger to the saved episode: taking.c --- */

/* A peer asks for an episode. */
void tipmed_taking_on_trigger(struct tipmed_server *server, struct tipmed_peer *peer,
			      const struct tipme_incoming *in, int fd);

/* Something else does. */
void tipmed_taking_on_origin(struct tipmed_server *server, const struct tipmed_origin *origin);

/* What waits is begun as soon as it may, if nothing is being taken; its time comes by the timer. */
void tipmed_taking_go_on(struct tipmed_server *server);

/* The timer: what waits, or some of what came after the trigger is copied. */
void tipmed_taking_on_timer(struct tipmed_server *server);

/* Ends the waiting after a trigger: the copy is complete, and the writer's. */
void tipmed_taking_finish(struct tipmed_server *server);

/* The writer gave something back. */
void tipmed_taking_on_done(struct tipmed_server *server);

/* Tells whoever wrote a note how it went, if he is still there. */
void tipmed_taking_note_answer(struct tipmed_server *server, const struct tipmed_note *note);

/* --- verbs: verbs.c --- */

/* Reads and answers one message. */
void tipmed_verbs_on_peer(struct tipmed_server *server, struct tipmed_peer *peer);

/* A wish about classes was done, or not. */
void tipmed_verbs_classes_done(struct tipmed_server *server);

#endif
