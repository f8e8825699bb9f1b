// SPDX-License-Identifier: GPL-2.0-only
/* What peers ask for, verb by verb. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "server_parts.h"

static void on_wish(struct tipmed_server *server, struct tipmed_peer *peer, const char *wish,
		    size_t len)
{
	int err = tipmed_classes_ask(server->classes, wish, len, peer->number);

	if (err == -EBUSY)
		tipmed_peer_answer(peer, EBUSY,
				   "another wish of this kind is being done: ask again");
	else if (err)
		tipmed_peer_answer(peer, (uint32_t)-err, "the wish is too long");
}

/*
 * From this moment on; the kernel's own records of input devices follow when the class is switched.
 */
static void on_input_chord(struct tipmed_server *server, struct tipmed_peer *peer, bool input)
{
	const char *wish = input ? "{\"input\": true}" : "{\"input\": false}";

	if (!peer->may_all) {
		tipmed_peer_answer(peer, EACCES,
				   "only root and the owner of the recorder may do that");
		return;
	}
	if (!input)
		tipme_x_quiet_set(&server->snap.x.quiet, true, tipme_clock_ns());
	on_wish(server, peer, wish, strlen(wish));
}

static void on_chord(struct tipmed_server *server, struct tipmed_peer *peer,
		     const struct tipme_incoming *in, int fd)
{
	if (in->arg == 0 || in->arg == TIPME_CHORD_ACTION_SNAPSHOT)
		tipmed_taking_on_trigger(server, peer, in, fd);
	else if (in->arg == TIPME_CHORD_ACTION_START)
		tipmed_peer_answer(peer, 0, "{\"recording\": true}");
	else if (in->arg == TIPME_CHORD_ACTION_NO_INPUT ||
		 in->arg == TIPME_CHORD_ACTION_DEFAULT_INPUT)
		on_input_chord(server, peer, in->arg == TIPME_CHORD_ACTION_DEFAULT_INPUT);
	else
		tipmed_peer_answer(peer, EOPNOTSUPP, "no hot-key asks for this");
}

static void on_hello(struct tipmed_server *server, struct tipmed_peer *peer,
		     const struct tipme_incoming *in, int fd)
{
	const char *why;
	int place = tipmed_x_servers_add(&server->snap.x, in,
					 &(struct tipmed_x_writer){ peer->cred.pid, peer->cred.uid,
								    !peer->may_all },
					 fd, server->snap.phase != TIPMED_IDLE, &why);

	if (place < 0) {
		tipmed_peer_answer(peer, (uint32_t)-place, why);
		return;
	}
	peer->x_rings |= 1U << place;
	tipmed_peer_answer(peer, 0, "{\"ring\": true}");
}

/* An agent that has something to tell of the session does so with its wish to watch, and again. */
static void on_watch(struct tipmed_server *server, struct tipmed_peer *peer,
		     const struct tipme_incoming *in)
{
	if (in->text_len)
		tipmed_session_take(server->session, in->text, in->text_len);
	if (!peer->watches)
		tipmed_agents_add(&server->agents, peer->cred.pid);
	peer->watches = true;
	tipmed_peer_answer(peer, 0, "{\"watching\": true}");
}

/*
 * Words about an episode that is not written yet go with it; the snapshot is not the writer's
 * before SAVING.
 */
static bool note_goes_along(struct tipmed_server *server, const struct tipmed_note *note)
{
	struct tipmed_trigger *trigger = NULL;

	if (server->snap.phase == TIPMED_POST && !strcmp(server->snap.trigger.id, note->id))
		trigger = &server->snap.trigger;
	for (int i = 0; !trigger && i < TIPMED_PENDING; i++)
		if (server->pending[i].is && !strcmp(server->pending[i].trigger.id, note->id))
			trigger = &server->pending[i].trigger;
	if (trigger)
		memcpy(trigger->words, note->words, sizeof(trigger->words));
	return trigger;
}

static void on_note(struct tipmed_server *server, struct tipmed_peer *peer,
		    const struct tipme_incoming *in)
{
	struct tipmed_note *note = tipmed_notes_free_one(&server->writer->notes);

	if (!note) {
		tipmed_peer_answer(peer, EAGAIN,
				   "other words are being saved: ask again in a second");
		return;
	}
	if (tipmed_note_parse(note, in->text, in->text_len)) {
		tipmed_peer_answer(peer, EINVAL,
				   "a note begins with the id of its episode and a line end");
		return;
	}
	note->requester = peer->number;
	note->error = 0;
	if (note_goes_along(server, note)) {
		tipmed_taking_note_answer(server, note);
		return;
	}
	/* Release: the words are the writer's from here on. */
	atomic_store_explicit(&note->state, TIPMED_NOTE_ASKED, memory_order_release);
	tipmed_writer_notes(server->writer);
}

/* A descriptor of memory that can be mapped for reading alone; -1: there is none at that place. */
static int ring_at(struct tipmed_server *server, uint32_t place)
{
	const struct tipmed_x_server *s;
	uint64_t memory;

	if (place == TIPMED_WAYLAND_PLACE)
		return tipme_kernel_source_wayland_fd(server->snap.source, &memory);
	s = &server->snap.x.server[place];
	return s->used ? s->reader_fd : -1;
}

/*
 * The list, or one ring. Only root and the owner get here: a snapshot gives them the same. Of
 * Wayland it is the owner's compositors alone.
 */
static void on_rings(struct tipmed_server *server, struct tipmed_peer *peer, uint32_t place)
{
	if (place == UINT32_MAX) {
		tipme_message_send(peer->fd, TIPME_VERB_REPLY, 0, server->out,
				   tipmed_status_rings(server), MSG_DONTWAIT);
		return;
	}
	if (place > TIPMED_WAYLAND_PLACE) {
		tipmed_peer_answer(peer, EINVAL, "there is no such place");
		return;
	}
	int fd = ring_at(server, place);

	if (fd < 0)
		tipmed_peer_answer(peer, ENOENT,
				   "no ring is there, or its writer lets nobody read it");
	else
		tipme_message_send_fd(peer->fd, TIPME_VERB_REPLY, 0, "{\"ring\": true}",
				      strlen("{\"ring\": true}"), fd, MSG_DONTWAIT);
}

static void on_stop(struct tipmed_server *server, struct tipmed_peer *peer)
{
	tipmed_peer_answer(peer, 0, "{\"stopping\": true}");
	kill(getpid(), SIGTERM);
}

/* Whoever asked may have gone meanwhile. */
void tipmed_verbs_classes_done(struct tipmed_server *server)
{
	char why[256];
	int err;
	uint64_t number = tipmed_classes_done(server->classes, &err, why, sizeof(why));

	tipme_x_quiet_set(&server->snap.x.quiet,
			  !tipmed_classes_has(server->classes, TIPME_CLASS_INPUT),
			  tipme_clock_ns());
	for (int i = 0; i < TIPMED_PEERS_MAX; i++) {
		struct tipmed_peer *peer = &server->peer[i];

		if (peer->fd < 0 || peer->number != number)
			continue;
		if (err)
			tipmed_peer_answer(peer, (uint32_t)-err, why);
		else
			tipme_message_send(peer->fd, TIPME_VERB_REPLY, 0, server->out,
					   tipmed_status_classes(server), MSG_DONTWAIT);
	}
}

static void on_message(struct tipmed_server *server, struct tipmed_peer *peer,
		       const struct tipme_incoming *in, int fd)
{
	if (in->verb == TIPME_VERB_TRIGGER)
		on_chord(server, peer, in, fd);
	else if (in->verb == TIPME_VERB_X_HELLO)
		on_hello(server, peer, in, fd);
	else if (!peer->may_all)
		tipmed_peer_answer(peer, EACCES,
				   "only root and the owner of the recorder may do that");
	else if (in->verb == TIPME_VERB_STATUS)
		tipme_message_send(peer->fd, TIPME_VERB_REPLY, 0, server->out,
				   tipmed_status_write(server), MSG_DONTWAIT);
	else if (in->verb == TIPME_VERB_RINGS)
		on_rings(server, peer, in->arg);
	else if (in->verb == TIPME_VERB_STOP)
		on_stop(server, peer);
	else if (in->verb == TIPME_VERB_WATCH)
		on_watch(server, peer, in);
	else if (in->verb == TIPME_VERB_NOTE)
		on_note(server, peer, in);
	else if (in->verb == TIPME_VERB_SET)
		on_wish(server, peer, in->text, in->text_len);
	else
		tipmed_peer_answer(peer, ENOSYS,
				   "this verb is not known to this version of tipmed");
}

void tipmed_verbs_on_peer(struct tipmed_server *server, struct tipmed_peer *peer)
{
	struct tipme_incoming in;
	struct tipmed_bringer by = { server, peer->may_all };
	int fd;

	if (!peer->may_all && tipmed_peer_must_pause(server, &server->doors.door[peer->door], false,
						     peer->fd, &peer->paused))
		return;
	ssize_t n = tipme_message_receive_dropping(peer->fd, server->in, sizeof(server->in), &fd,
						   MSG_DONTWAIT, tipmed_peer_passed_close, &by);

	if (n == -EAGAIN)
		return;
	if (n == 0 || (n < 0 && n != -EMSGSIZE)) {
		tipmed_peer_close(server, peer);
		return;
	}
	int err = n < 0 ? (int)n : tipme_message_parse(server->in, (size_t)n, &in);

	if (err)
		tipmed_peer_answer(peer, (uint32_t)-err,
				   "not a message of version 1 (see docs/formats.md)");
	else
		on_message(server, peer, &in, fd);
	if (fd >= 0)
		tipmed_peer_passed_close(&by, fd);
}
