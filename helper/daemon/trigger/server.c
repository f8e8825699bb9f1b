// SPDX-License-Identifier: GPL-2.0-only
/* The trigger thread: answers the socket, and takes the snapshots. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock.h"
#include "privileges.h"
#include "server.h"
#include "text.h"
#include "told.h"

/* Two triggers at once are fine, then one each 5 seconds. */
#define TRIGGER_COST_NS (5 * TIPME_NS_PER_S)
#define TRIGGER_BURST 2

/* How often the copy goes on after a trigger. */
#define POST_STEP_NS 200000000

#define EVENTS_AT_ONCE 8

/* How often those who were paused are looked at. */
#define PAUSE_MS 20

#define STACK_BYTES (256 << 10)

/* What epoll events are about: the place of a peer, or one of these. */
enum { ON_TIMER = TIPMED_PEERS_MAX, ON_QUIT, ON_DONE, ON_CLASSES, ON_DOOR, ON_ORIGIN = ON_DOOR + TIPMED_DOORS_MAX };

/* Who brings a descriptor, for whoever drops it. */
struct bringer {
	struct tipmed_server *server;
	bool may_all;
};

static void answer(struct tipmed_peer *peer, uint32_t error, const char *text)
{
	/* A peer that does not read loses its answers; waiting for it is no option here. */
	tipme_message_send(peer->fd, TIPME_VERB_REPLY, error, text, strlen(text), MSG_DONTWAIT);
}

static void watch_fd(struct tipmed_server *server, int fd, uint32_t what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = what };

	epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static struct tipmed_closer *closer_of(struct tipmed_server *server, bool may_all)
{
	return may_all ? &server->closer_own : &server->closer;
}

/* Memory of the kind that rings and records come in is closed at once; of all else strangers decide how long it takes. */
static void passed_close(void *arg, int fd)
{
	const struct bringer *by = arg;

	if (fcntl(fd, F_GET_SEALS) >= 0)
		close(fd);
	else
		tipmed_closer_close(closer_of(by->server, by->may_all), fd, false);
}

static void peer_close(struct tipmed_server *server, struct tipmed_peer *peer)
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
	return (new->cred.uid && others >= TIPMED_PEERS_OTHERS) || (!new->may_all && friends >= TIPMED_PEERS_FRIENDS) ? "too many connections: close some" : NULL;
}

static struct tipmed_peer *peer_place(struct tipmed_server *server)
{
	for (int i = 0; i < TIPMED_PEERS_MAX; i++)
		if (server->peer[i].fd < 0)
			return &server->peer[i];
	return NULL;
}

/*
 * A socket that is closed with something unread in it takes our answer away from the peer: let nothing more in, and have what is there
 * thrown away before it is closed.
 */
static void peer_refuse(struct tipmed_server *server, struct tipmed_peer *new, uint32_t error, const char *why)
{
	shutdown(new->fd, SHUT_RD);
	answer(new, error, why);
	server->refused_peers++;
	tipmed_closer_close(closer_of(server, new->may_all), new->fd, true);
}

/*
 * Whoever keeps the closer from its work could fill our table of descriptors: then nobody new of his kind comes in or is read. Those who are connected and may do all
 * are read on: what they pass by mistake is little. And whoever asks without end would have this thread, which is real-time, work for him alone.
 */
static bool must_wait(struct tipmed_server *server, const struct tipmed_door *door, bool may_all, uint64_t now_ns)
{
	return tipmed_closer_full(closer_of(server, may_all)) || (!may_all && !tipmed_door_affords(door, now_ns));
}

static bool must_pause(struct tipmed_server *server, struct tipmed_door *door, bool may_all, int fd, bool *paused)
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

static bool goes_on(struct tipmed_server *server, const struct tipmed_door *door, bool may_all, int fd, bool *paused, uint32_t what)
{
	if (fd < 0 || !*paused)
		return true;
	if (must_wait(server, door, may_all, tipme_clock_ns()))
		return false;
	*paused = false;
	watch_fd(server, fd, what);
	return true;
}

static void resume(struct tipmed_server *server)
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

		all &= goes_on(server, &server->doors.door[peer->door], peer->may_all, peer->fd, &peer->paused, i);
	}
	server->paused = !all;
}

static void on_door(struct tipmed_server *server, struct tipmed_door *door)
{
	struct tipmed_peer new = { .number = ++server->peers_seen, .door = (unsigned int)(door - server->doors.door) };
	socklen_t len = sizeof(new.cred);

	if (must_pause(server, door, door->own, door->fd, &door->paused))
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
		peer_refuse(server, &new, why ? EACCES : EAGAIN, why ? why : "too many connections: close some");
		return;
	}
	*place = new;
	watch_fd(server, new.fd, (uint32_t)(place - server->peer));
}

static void tell_watchers(struct tipmed_server *server, uint16_t verb, uint32_t error, const char *text)
{
	for (int i = 0; i < TIPMED_PEERS_MAX; i++)
		if (server->peer[i].fd >= 0 && server->peer[i].watches)
			tipme_message_send(server->peer[i].fd, verb, error, text, strlen(text), MSG_DONTWAIT);
}

static void tell_triggered(struct tipmed_server *server, const struct tipmed_trigger *trigger)
{
	char text[64];

	snprintf(text, sizeof(text), "%s\n%s", trigger->id, tipmed_trigger_kinds[trigger->kind]);
	tell_watchers(server, TIPME_VERB_TRIGGERED, 0, text);
}

static void snapshot_finish(struct tipmed_server *server)
{
	timerfd_settime(server->timer_fd, 0, &(struct itimerspec){ 0 }, NULL);
	uint64_t since_ns = tipme_clock_ns() - (uint64_t)server->opt->window_s * TIPME_NS_PER_S;

	tipmed_snapshot_end(&server->snap);
	server->snap.agent_count = tipmed_agents_list(&server->agents, since_ns, server->snap.agents);
	tipmed_writer_save(server->writer, &server->snap);
}

/* The copy goes on while recording does: at once at the end, a flood of records would have overwritten the first of them. */
static void snapshot_begin(struct tipmed_server *server, const struct tipmed_trigger *trigger)
{
	struct itimerspec post = { .it_value.tv_nsec = POST_STEP_NS, .it_interval.tv_nsec = POST_STEP_NS };

	tipmed_snapshot_begin(&server->snap, trigger);
	server->post_end_ns = tipme_clock_ns() + server->opt->post_s * TIPME_NS_PER_S;
	if (!server->opt->post_s || server->quitting)
		snapshot_finish(server);
	else
		timerfd_settime(server->timer_fd, 0, &post, NULL);
}

static void on_timer(struct tipmed_server *server)
{
	uint64_t n;

	if (read(server->timer_fd, &n, sizeof(n)) <= 0 || server->snap.phase != TIPMED_POST)
		return;
	if (tipme_clock_ns() >= server->post_end_ns)
		snapshot_finish(server);
	else
		tipmed_snapshot_more(&server->snap);
}

static struct tipmed_peer *peer_by_number(struct tipmed_server *server, uint64_t number)
{
	for (int i = 0; i < TIPMED_PEERS_MAX; i++)
		if (server->peer[i].fd >= 0 && server->peer[i].number == number)
			return &server->peer[i];
	return NULL;
}

static void tell_saved(struct tipmed_server *server)
{
	const struct tipmed_snapshot *snap = &server->snap;
	struct tipmed_peer *peer = peer_by_number(server, snap->trigger.requester);
	uint32_t error = (uint32_t)-snap->saved_error;

	if (peer && !peer->watches)
		tipme_message_send(peer->fd, TIPME_VERB_SAVED, error, snap->saved_text, strlen(snap->saved_text), MSG_DONTWAIT);
	tell_watchers(server, TIPME_VERB_SAVED, error, snap->saved_text);
}

static void answer_note(struct tipmed_server *server, const struct tipmed_note *note)
{
	struct tipmed_peer *peer = peer_by_number(server, note->requester);
	char text[128];

	if (!peer)
		return;
	if (note->error == -ENOENT)
		snprintf(text, sizeof(text), "%s: no such episode: see tipme list", note->id);
	else if (note->error)
		snprintf(text, sizeof(text), "%s: the words could not be saved: %s", note->id, strerror(-note->error));
	else
		snprintf(text, sizeof(text), "{\"id\": \"%s\"}", note->id);
	answer(peer, (uint32_t)-note->error, text);
}

static void notes_done(struct tipmed_server *server)
{
	for (int i = 0; i < TIPMED_NOTES_MAX; i++) {
		struct tipmed_note *note = &server->writer->notes.note[i];

		if (atomic_load_explicit(&note->state, memory_order_acquire) != TIPMED_NOTE_DONE)
			continue;
		answer_note(server, note);
		atomic_store_explicit(&note->state, TIPMED_NOTE_FREE, memory_order_relaxed);
	}
}

/* The writer gave something back: notes, the snapshot, or both. */
static void on_done(struct tipmed_server *server)
{
	eventfd_t n;

	if (eventfd_read(server->writer->done_fd, &n))
		return;
	notes_done(server);
	if (server->snap.phase != TIPMED_SAVING || !tipmed_writer_saved(server->writer))
		return;
	server->snap.phase = TIPMED_IDLE;
	tipme_kernel_copy_spare_release(&server->snap.kernel);
	if (server->snap.saved_error)
		server->failures++;
	else
		server->episodes++;
	/* A threshold has caught what somebody may be about to ask for. */
	if (!server->snap.saved_error && server->snap.trigger.kind != TIPMED_TRIGGER_AUTO)
		server->snap.before_ns = server->snap.trigger.ns;
	memcpy(server->last_id, server->snap.trigger.id, sizeof(server->last_id));
	tell_saved(server);
	if (!server->has_pending)
		return;
	server->has_pending = false;
	snapshot_begin(server, &server->pending);
}

static bool rate_allows(struct tipmed_server *server, uint64_t now_ns)
{
	if (server->tokens_ns < now_ns)
		server->tokens_ns = now_ns;
	if (server->tokens_ns - now_ns > (TRIGGER_BURST - 1) * TRIGGER_COST_NS)
		return false;
	server->tokens_ns += TRIGGER_COST_NS;
	return true;
}

/* Returns 0, or an errno (and why) if no episode can be taken now. */
static uint32_t trigger_refusal(struct tipmed_server *server, bool limited, uint64_t now_ns, const char **why)
{
	if (server->has_pending) {
		*why = "one episode is being saved and one more waits: ask again in some seconds";
		return EBUSY;
	}
	if (limited && !rate_allows(server, now_ns)) {
		*why = "more than one episode in 5 seconds: ask again in some seconds";
		return EAGAIN;
	}
	return 0;
}

/* A keyboard, or the kernel, has a press; servers and agents may tell of it, too. True: it is known already. */
static bool press_seen(struct tipmed_server *server, const struct tipmed_trigger *trigger)
{
	if (trigger->kind != TIPMED_TRIGGER_HOTKEY)
		return false;
	for (int i = 0; i < TIPMED_PEERS_MAX; i++)
		if (server->peer[i].fd >= 0)
			tipmed_press_owe(&server->peer[i].press, trigger->ns);
	return tipmed_press_seen(&server->presses, trigger->ns);
}

static void trigger_take(struct tipmed_server *server, const struct tipmed_trigger *trigger)
{
	if (server->snap.phase == TIPMED_IDLE) {
		snapshot_begin(server, trigger);
	} else {
		server->pending = *trigger;
		server->has_pending = true;
	}
	/* After the copy: who hears of it may change the screen. */
	tell_triggered(server, trigger);
}

static void on_trigger(struct tipmed_server *server, struct tipmed_peer *peer, const struct tipme_incoming *in, int fd)
{
	struct tipmed_trigger trigger = {
		.requester = peer->number,
		.kind = in->arg == TIPME_CHORD_ACTION_SNAPSHOT ? TIPMED_TRIGGER_HOTKEY : TIPMED_TRIGGER_COMMAND,
	};
	const char *why;
	char text[64];

	tipmed_trigger_stamp(&trigger);
	if (trigger.kind == TIPMED_TRIGGER_HOTKEY && tipmed_press_told(&server->presses, &peer->press, trigger.ns)) {
		answer(peer, 0, "{\"known\": true}");
		return;
	}
	uint32_t error = trigger_refusal(server, peer->cred.uid, trigger.ns, &why);

	if (error) {
		server->refused_triggers++;
		answer(peer, error, why);
		tell_watchers(server, TIPME_VERB_TRIGGERED, error, why);
		return;
	}
	snprintf(text, sizeof(text), "{\"id\": \"%s\"}", trigger.id);
	answer(peer, 0, text);
	int told = peer->may_all ? tipmed_told_keep(fd) : -1;

	/* Who brings records says what they are about: that is no user's note. */
	if (told > 0) {
		trigger.told_fd = told;
		tipme_text_clean(trigger.seen, sizeof(trigger.seen), in->text, in->text_len);
	} else {
		tipme_text_clean(trigger.words, sizeof(trigger.words), in->text, in->text_len);
	}
	trigger_take(server, &trigger);
}

static void on_origin(struct tipmed_server *server, const struct tipmed_origin *origin)
{
	struct tipmed_trigger trigger = { .kind = TIPMED_TRIGGER_KERNEL };
	char seen[256] = "";
	const char *why;

	if (origin->take(origin->arg, &trigger.kind, seen, sizeof(seen)))
		return;
	tipmed_trigger_stamp(&trigger);
	if (press_seen(server, &trigger))
		return;
	if (trigger_refusal(server, true, trigger.ns, &why)) {
		server->refused_triggers++;
		return;
	}
	if (trigger.kind == TIPMED_TRIGGER_AUTO)
		trigger.measured_ms = server->automatic.measured_ms;
	tipme_text_clean(trigger.seen, sizeof(trigger.seen), seen, strlen(seen));
	trigger_take(server, &trigger);
}

static void on_wish(struct tipmed_server *server, struct tipmed_peer *peer, const char *wish, size_t len)
{
	int err = tipmed_classes_ask(server->classes, wish, len, peer->number);

	if (err == -EBUSY)
		answer(peer, EBUSY, "another wish of this kind is being done: ask again");
	else if (err)
		answer(peer, (uint32_t)-err, "the wish is too long");
}

/* From this moment on; the kernel's own records of input devices follow when the class is switched. */
static void on_input_chord(struct tipmed_server *server, struct tipmed_peer *peer, bool input)
{
	const char *wish = input ? "{\"input\": true}" : "{\"input\": false}";

	if (!peer->may_all) {
		answer(peer, EACCES, "only root and the owner of the recorder may do that");
		return;
	}
	if (!input)
		tipme_x_quiet_set(&server->snap.x.quiet, true, tipme_clock_ns());
	on_wish(server, peer, wish, strlen(wish));
}

static void on_chord(struct tipmed_server *server, struct tipmed_peer *peer, const struct tipme_incoming *in, int fd)
{
	if (in->arg == 0 || in->arg == TIPME_CHORD_ACTION_SNAPSHOT)
		on_trigger(server, peer, in, fd);
	else if (in->arg == TIPME_CHORD_ACTION_START)
		answer(peer, 0, "{\"recording\": true}");
	else if (in->arg == TIPME_CHORD_ACTION_NO_INPUT || in->arg == TIPME_CHORD_ACTION_DEFAULT_INPUT)
		on_input_chord(server, peer, in->arg == TIPME_CHORD_ACTION_DEFAULT_INPUT);
	else
		answer(peer, EOPNOTSUPP, "no hot-key asks for this");
}

static void on_hello(struct tipmed_server *server, struct tipmed_peer *peer, const struct tipme_incoming *in, int fd)
{
	const char *why;
	int place = tipmed_x_servers_add(&server->snap.x, in, peer->cred.pid, fd, server->snap.phase != TIPMED_IDLE, &why);

	if (place < 0) {
		answer(peer, (uint32_t)-place, why);
		return;
	}
	peer->x_rings |= 1U << place;
	answer(peer, 0, "{\"ring\": true}");
}

static void on_watch(struct tipmed_server *server, struct tipmed_peer *peer)
{
	if (!peer->watches)
		tipmed_agents_add(&server->agents, peer->cred.pid);
	peer->watches = true;
	answer(peer, 0, "{\"watching\": true}");
}

/* Words about an episode that is not written yet go with it; the snapshot is not the writer's before SAVING. */
static bool note_goes_along(struct tipmed_server *server, const struct tipmed_note *note)
{
	struct tipmed_trigger *trigger = NULL;

	if (server->snap.phase == TIPMED_POST && !strcmp(server->snap.trigger.id, note->id))
		trigger = &server->snap.trigger;
	else if (server->has_pending && !strcmp(server->pending.id, note->id))
		trigger = &server->pending;
	if (trigger)
		memcpy(trigger->words, note->words, sizeof(trigger->words));
	return trigger;
}

static void on_note(struct tipmed_server *server, struct tipmed_peer *peer, const struct tipme_incoming *in)
{
	struct tipmed_note *note = tipmed_notes_free_one(&server->writer->notes);

	if (!note) {
		answer(peer, EAGAIN, "other words are being saved: ask again in a second");
		return;
	}
	if (tipmed_note_parse(note, in->text, in->text_len)) {
		answer(peer, EINVAL, "a note begins with the id of its episode and a line end");
		return;
	}
	note->requester = peer->number;
	note->error = 0;
	if (note_goes_along(server, note)) {
		answer_note(server, note);
		return;
	}
	/* Release: the words are the writer's from here on. */
	atomic_store_explicit(&note->state, TIPMED_NOTE_ASKED, memory_order_release);
	tipmed_writer_notes(server->writer);
}

static void on_stop(struct tipmed_server *server, struct tipmed_peer *peer)
{
	answer(peer, 0, "{\"stopping\": true}");
	kill(getpid(), SIGTERM);
}

/* Whoever asked may have gone meanwhile. */
static void on_classes(struct tipmed_server *server)
{
	char why[256];
	int err;
	uint64_t number = tipmed_classes_done(server->classes, &err, why, sizeof(why));

	tipme_x_quiet_set(&server->snap.x.quiet, !tipmed_classes_has(server->classes, TIPME_CLASS_INPUT), tipme_clock_ns());
	for (int i = 0; i < TIPMED_PEERS_MAX; i++) {
		struct tipmed_peer *peer = &server->peer[i];

		if (peer->fd < 0 || peer->number != number)
			continue;
		if (err)
			answer(peer, (uint32_t)-err, why);
		else
			tipme_message_send(peer->fd, TIPME_VERB_REPLY, 0, server->out, tipmed_status_classes(server), MSG_DONTWAIT);
	}
}

static void on_message(struct tipmed_server *server, struct tipmed_peer *peer, const struct tipme_incoming *in, int fd)
{
	if (in->verb == TIPME_VERB_TRIGGER)
		on_chord(server, peer, in, fd);
	else if (in->verb == TIPME_VERB_X_HELLO)
		on_hello(server, peer, in, fd);
	else if (!peer->may_all)
		answer(peer, EACCES, "only root and the owner of the recorder may do that");
	else if (in->verb == TIPME_VERB_STATUS)
		tipme_message_send(peer->fd, TIPME_VERB_REPLY, 0, server->out, tipmed_status_write(server), MSG_DONTWAIT);
	else if (in->verb == TIPME_VERB_STOP)
		on_stop(server, peer);
	else if (in->verb == TIPME_VERB_WATCH)
		on_watch(server, peer);
	else if (in->verb == TIPME_VERB_NOTE)
		on_note(server, peer, in);
	else if (in->verb == TIPME_VERB_SET)
		on_wish(server, peer, in->text, in->text_len);
	else
		answer(peer, ENOSYS, "this verb is not known to this version of tipmed");
}

static void on_peer(struct tipmed_server *server, struct tipmed_peer *peer)
{
	struct tipme_incoming in;
	struct bringer by = { server, peer->may_all };
	int fd;

	if (!peer->may_all && must_pause(server, &server->doors.door[peer->door], false, peer->fd, &peer->paused))
		return;
	ssize_t n = tipme_message_receive_dropping(peer->fd, server->in, sizeof(server->in), &fd, MSG_DONTWAIT, passed_close, &by);

	if (n == -EAGAIN)
		return;
	if (n == 0 || (n < 0 && n != -EMSGSIZE)) {
		peer_close(server, peer);
		return;
	}
	int err = n < 0 ? (int)n : tipme_message_parse(server->in, (size_t)n, &in);

	if (err)
		answer(peer, (uint32_t)-err, "not a message of version 1 (see docs/formats.md)");
	else
		on_message(server, peer, &in, fd);
	if (fd >= 0)
		passed_close(&by, fd);
}

/* Ends the waiting after a trigger, so that what was asked for is saved before we stop. */
static void on_quit(struct tipmed_server *server)
{
	eventfd_t n;

	eventfd_read(server->quit_fd, &n);
	server->quitting = true;
	if (server->snap.phase == TIPMED_POST)
		snapshot_finish(server);
}

static void dispatch(struct tipmed_server *server, uint32_t what)
{
	switch (what) {
	case ON_TIMER: on_timer(server); return;
	case ON_QUIT: on_quit(server); return;
	case ON_DONE: on_done(server); return;
	case ON_CLASSES: on_classes(server); return;
	}
	if (what >= ON_ORIGIN) {
		on_origin(server, &server->origin[what - ON_ORIGIN]);
		return;
	}
	if (what >= ON_DOOR) {
		on_door(server, &server->doors.door[what - ON_DOOR]);
		return;
	}
	if (server->peer[what].fd >= 0)
		on_peer(server, &server->peer[what]);
}

static void *server_run(void *arg)
{
	struct tipmed_server *server = arg;
	struct epoll_event events[EVENTS_AT_ONCE];

	server->realtime_error = tipmed_realtime_enter();
	while (!server->quitting || server->snap.phase != TIPMED_IDLE) {
		/* Each 10 seconds at least: rings of servers that are gone are given up. */
		int n = epoll_wait(server->epoll_fd, events, EVENTS_AT_ONCE, server->paused ? PAUSE_MS : 10000);

		for (int i = 0; i < n; i++)
			dispatch(server, events[i].data.u32);
		resume(server);
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
		watch_fd(server, server->doors.door[i].fd, ON_DOOR + i);
	watch_fd(server, server->timer_fd, ON_TIMER);
	watch_fd(server, server->quit_fd, ON_QUIT);
	watch_fd(server, server->writer->done_fd, ON_DONE);
	watch_fd(server, server->classes->done_fd, ON_CLASSES);
	for (unsigned int i = 0; i < server->origins; i++)
		watch_fd(server, server->origin[i].fd, ON_ORIGIN + i);
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
	/* The connections last: who asked us to stop knows by their end that we did. */
	tipmed_doors_close(&server->doors);
}
