// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a trigger to the saved episode: copy at once, copy on for some seconds, hand over to the
 * writer, tell who asked.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock.h"
#include "server_parts.h"
#include "text.h"
#include "told.h"

/* How often the copy goes on after a trigger. */
#define POST_STEP_NS 200000000

static void tell_triggered(struct tipmed_server *server, const struct tipmed_trigger *trigger)
{
	char text[96];

	snprintf(text, sizeof(text), "%s\n%s\n%.1f", trigger->id,
		 tipmed_trigger_kinds[trigger->kind],
		 tipmed_watch_kept_s(server->watch, trigger->ns));
	tipmed_peers_tell(server, TIPME_VERB_TRIGGERED, 0, text);
}

void tipmed_taking_finish(struct tipmed_server *server)
{
	timerfd_settime(server->timer_fd, 0, &(struct itimerspec){ 0 }, NULL);
	uint64_t since_ns = tipme_clock_ns() - (uint64_t)server->opt->window_s * TIPME_NS_PER_S;

	tipmed_snapshot_end(&server->snap);
	server->snap.agent_count =
		tipmed_agents_list(&server->agents, since_ns, server->snap.agents);
	memcpy(server->snap.session, server->session, sizeof(server->session));
	tipmed_writer_save(server->writer, &server->snap);
}

/*
 * The copy goes on while recording does: at once at the end, a flood of records would have
 * overwritten the first of them. A large pool is copied in parts, one after the other; who asks
 * something, or triggers again, is served in between.
 */
static void copy_go_on(struct tipmed_server *server)
{
	struct itimerspec part = { .it_value.tv_nsec = 1 };
	struct itimerspec post = { .it_value.tv_nsec = POST_STEP_NS,
				   .it_interval.tv_nsec = POST_STEP_NS };

	timerfd_settime(server->timer_fd, 0, server->snap.copying ? &part : &post, NULL);
}

static void snapshot_begin(struct tipmed_server *server, const struct tipmed_trigger *trigger)
{
	tipmed_snapshot_begin(&server->snap, trigger);
	server->post_end_ns = tipme_clock_ns() + server->opt->post_s * TIPME_NS_PER_S;
	if (!server->opt->post_s || server->quitting)
		tipmed_taking_finish(server);
	else
		copy_go_on(server);
}

void tipmed_taking_go_on(struct tipmed_server *server)
{
	uint64_t now_ns = tipme_clock_ns(), next_ns = UINT64_MAX;

	for (int i = 0; i < TIPMED_PENDING; i++) {
		struct tipmed_pending *waits = &server->pending[i];

		if (!waits->is)
			continue;
		if (server->quitting || waits->from_ns <= now_ns) {
			waits->is = false;
			snapshot_begin(server, &waits->trigger);
			return;
		}
		if (waits->from_ns < next_ns)
			next_ns = waits->from_ns;
	}
	if (next_ns == UINT64_MAX)
		return;
	struct itimerspec next = {
		.it_value.tv_sec = (time_t)((next_ns - now_ns) / TIPME_NS_PER_S),
		.it_value.tv_nsec = (long)((next_ns - now_ns) % TIPME_NS_PER_S),
	};

	timerfd_settime(server->timer_fd, 0, &next, NULL);
}

void tipmed_taking_on_timer(struct tipmed_server *server)
{
	uint64_t n;

	if (read(server->timer_fd, &n, sizeof(n)) <= 0)
		return;
	if (server->snap.phase == TIPMED_IDLE)
		tipmed_taking_go_on(server);
	if (server->snap.phase != TIPMED_POST)
		return;
	if (server->snap.copying) {
		tipmed_snapshot_part(&server->snap);
		copy_go_on(server);
	} else if (tipme_clock_ns() >= server->post_end_ns) {
		tipmed_taking_finish(server);
	} else {
		tipmed_snapshot_more(&server->snap);
	}
}

static void tell_saved(struct tipmed_server *server)
{
	const struct tipmed_snapshot *snap = &server->snap;
	struct tipmed_peer *peer = tipmed_peer_find(server, snap->trigger.requester);
	uint32_t error = (uint32_t)-snap->saved_error;

	if (peer && !peer->watches)
		tipme_message_send(peer->fd, TIPME_VERB_SAVED, error, snap->saved_text,
				   strlen(snap->saved_text), MSG_DONTWAIT);
	tipmed_peers_tell(server, TIPME_VERB_SAVED, error, snap->saved_text);
}

void tipmed_taking_note_answer(struct tipmed_server *server, const struct tipmed_note *note)
{
	struct tipmed_peer *peer = tipmed_peer_find(server, note->requester);
	char text[128];

	if (!peer)
		return;
	if (note->error == -ENOENT)
		snprintf(text, sizeof(text), "%s: no such episode: see tipme list", note->id);
	else if (note->error)
		snprintf(text, sizeof(text), "%s: the words could not be saved: %s", note->id,
			 strerror(-note->error));
	else
		snprintf(text, sizeof(text), "{\"id\": \"%s\"}", note->id);
	tipmed_peer_answer(peer, (uint32_t)-note->error, text);
}

static void notes_done(struct tipmed_server *server)
{
	for (int i = 0; i < TIPMED_NOTES_MAX; i++) {
		struct tipmed_note *note = &server->writer->notes.note[i];

		if (atomic_load_explicit(&note->state, memory_order_acquire) != TIPMED_NOTE_DONE)
			continue;
		tipmed_taking_note_answer(server, note);
		atomic_store_explicit(&note->state, TIPMED_NOTE_FREE, memory_order_relaxed);
	}
}

/* The writer gave something back: notes, the snapshot, or both. */
void tipmed_taking_on_done(struct tipmed_server *server)
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
	tipmed_taking_go_on(server);
}

static struct tipmed_pending *pending_of(struct tipmed_server *server,
					 const struct tipmed_trigger *trigger)
{
	int which = trigger->of_friend ? TIPMED_PENDING_FRIEND : TIPMED_PENDING_OWN;

	return &server->pending[trigger->unasked ? TIPMED_PENDING_UNASKED : which];
}

/*
 * `who` is a user, or what stands for nobody; 0, root, may ask as he likes. Returns 0 and from when
 * on it may be taken, or an errno (and why) if no episode can be taken. A press of whose recorder
 * it is only waits: the records of that moment are still there in some seconds.
 */
static uint32_t trigger_refusal(struct tipmed_server *server, const struct tipmed_trigger *trigger,
				uint64_t who, uint64_t *from_ns, const char **why)
{
	bool may_wait =
		trigger->kind == TIPMED_TRIGGER_HOTKEY && !trigger->of_friend && !trigger->unasked;

	*from_ns = trigger->ns;
	if (server->snap.phase != TIPMED_IDLE && pending_of(server, trigger)->is) {
		*why = "one episode is being saved and one more waits: ask again in some seconds";
		return EBUSY;
	}
	bool allowed = true;

	if (who && may_wait) {
		*from_ns = tipmed_quota_when(&server->quota, who, trigger->ns);
		allowed = *from_ns != UINT64_MAX;
	} else if (who) {
		allowed = tipmed_quota_allows(&server->quota, who, trigger->ns);
	}
	if (!allowed) {
		*why = "more than one episode in 5 seconds: ask again in some seconds";
		return EAGAIN;
	}
	return 0;
}

/*
 * Where somebody presses while an episode waits for its turn, that one has this press in it: it is
 * about the last press from then on, and what was slow before it is looked at. NULL: none waits.
 */
static const struct tipmed_trigger *press_joins(struct tipmed_server *server,
						const struct tipmed_trigger *press)
{
	struct tipmed_pending *waits = pending_of(server, press);

	if (press->kind != TIPMED_TRIGGER_HOTKEY || press->unasked || !waits->is)
		return NULL;
	if (press->of_friend && press->by != waits->trigger.by)
		return NULL;
	waits->trigger.kind = press->kind;
	waits->trigger.ns = press->ns;
	waits->trigger.wall_s = press->wall_s;
	return &waits->trigger;
}

/*
 * A keyboard, or the kernel, has a press; servers and agents may tell of it, too. True: it is known
 * already.
 */
static bool press_seen(struct tipmed_server *server, const struct tipmed_trigger *trigger)
{
	if (trigger->kind != TIPMED_TRIGGER_HOTKEY)
		return false;
	for (int i = 0; i < TIPMED_PEERS_MAX; i++)
		if (server->peer[i].fd >= 0)
			tipmed_press_owe(&server->peer[i].press, trigger->ns);
	return tipmed_press_seen(&server->presses, trigger->ns);
}

static void trigger_take(struct tipmed_server *server, const struct tipmed_trigger *trigger,
			 uint64_t from_ns)
{
	if (server->snap.phase == TIPMED_IDLE && from_ns <= trigger->ns) {
		snapshot_begin(server, trigger);
	} else {
		*pending_of(server, trigger) = (struct tipmed_pending){ true, from_ns, *trigger };
		if (server->snap.phase == TIPMED_IDLE)
			tipmed_taking_go_on(server);
	}
	/* After the copy: who hears of it may change the screen. */
	tell_triggered(server, trigger);
}

void tipmed_taking_on_trigger(struct tipmed_server *server, struct tipmed_peer *peer,
			      const struct tipme_incoming *in, int fd)
{
	struct tipmed_trigger trigger = {
		.requester = peer->number,
		.of_friend = !peer->may_all,
		.by = peer->cred.uid,
		/* Only who measures brings records. */
		.unasked = peer->may_all && fd >= 0,
		.kind = in->arg == TIPME_CHORD_ACTION_SNAPSHOT ? TIPMED_TRIGGER_HOTKEY
							       : TIPMED_TRIGGER_COMMAND,
	};
	const char *why;
	char text[64];

	tipmed_trigger_stamp(&trigger);
	if (trigger.kind == TIPMED_TRIGGER_HOTKEY &&
	    tipmed_press_told(&server->presses, &peer->press, trigger.ns)) {
		tipmed_peer_answer(peer, 0, "{\"known\": true}");
		return;
	}
	const struct tipmed_trigger *joined = press_joins(server, &trigger);
	uint64_t from_ns = 0;
	uint32_t error =
		joined ? 0 : trigger_refusal(server, &trigger, peer->cred.uid, &from_ns, &why);

	if (error) {
		server->refused_triggers++;
		tipmed_peer_answer(peer, error, why);
		tipmed_peers_tell(server, TIPME_VERB_TRIGGERED, error, why);
		return;
	}
	snprintf(text, sizeof(text), "{\"id\": \"%s\"}", joined ? joined->id : trigger.id);
	tipmed_peer_answer(peer, 0, text);
	if (joined) {
		tell_triggered(server, joined);
		return;
	}
	int told = peer->may_all ? tipmed_told_keep(fd) : -1;

	/* Who brings records says what they are about: that is no user's note. */
	if (told > 0) {
		trigger.told_fd = told;
		tipme_text_clean(trigger.seen, sizeof(trigger.seen), in->text, in->text_len);
	} else {
		tipme_text_clean(trigger.words, sizeof(trigger.words), in->text, in->text_len);
	}
	trigger_take(server, &trigger, from_ns);
}

void tipmed_taking_on_origin(struct tipmed_server *server, const struct tipmed_origin *origin)
{
	struct tipmed_trigger trigger = { .kind = TIPMED_TRIGGER_KERNEL };
	char seen[256] = "";
	uid_t by = (uid_t)-1;
	const char *why;
	uint64_t from_ns;

	if (origin->take(origin->arg, &trigger.kind, &by, seen, sizeof(seen)))
		return;
	if (by != (uid_t)-1) {
		trigger.of_friend = by && by != server->opt->owner;
		trigger.by = by;
	}
	trigger.unasked =
		trigger.kind == TIPMED_TRIGGER_AUTO || trigger.kind == TIPMED_TRIGGER_KERNEL;
	tipmed_trigger_stamp(&trigger);
	if (press_seen(server, &trigger))
		return;
	const struct tipmed_trigger *joined = press_joins(server, &trigger);

	if (joined) {
		tell_triggered(server, joined);
		return;
	}
	uint64_t who = by != (uid_t)-1 ? by : TIPMED_QUOTA_KIND(trigger.kind);

	if (trigger_refusal(server, &trigger, who, &from_ns, &why)) {
		server->refused_triggers++;
		return;
	}
	if (trigger.kind == TIPMED_TRIGGER_AUTO)
		trigger.measured_ms = server->automatic.measured_ms;
	tipme_text_clean(trigger.seen, sizeof(trigger.seen), seen, strlen(seen));
	trigger_take(server, &trigger, from_ns);
}
