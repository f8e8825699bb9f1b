// SPDX-License-Identifier: GPL-2.0-only
/*
 * Answers under Wayland: what compositors sent their clients, took from them, and told them of
 * their pictures. An answer ends when the client is told that its last picture was used.
 *
 * The rules are those of Tipme::DisplaySource::Wayland, as far as they need no look at threads.
 */
#include "config.h"

#include "answers.h"
#include "clock.h"

/* A client that has two keyboards is told twice of one key within this. */
#define SAME_NS TIPME_MS_NS
/* An input method makes text of a key within this. */
#define HELD_NS (2000 * TIPME_MS_NS)
/* Both axes of a wheel, and steps of a touchpad, within this are one turn. */
#define TURN_NS (8 * TIPME_MS_NS)
/* A motion that has no effect for so long: the next one is an event of its own. */
#define MOTION_NS (1000 * TIPME_MS_NS)
/* For a window that nobody sees a client may wait for its turn without end. */
#define DUE_NS (1000 * TIPME_MS_NS)

/* As X servers number their clients. */
static uint16_t client_of(uint32_t hash)
{
	return (uint16_t)(hash ^ hash >> 16);
}

/* --- input --- */

static bool is_told_again(struct tipme_wayland *w, const struct tipme_wl_deliver *r)
{
	bool same = w->last.client == r->client && w->last.kind == r->kind &&
		    w->last.what == r->what && w->last.object != r->object &&
		    r->ts_ns - w->last.ns < SAME_NS;

	w->last.ns = r->ts_ns;
	w->last.client = r->client;
	w->last.object = r->object;
	w->last.kind = r->kind;
	w->last.what = r->what;
	return same;
}

/* Of motions and small turns that wait for one picture only the first waits. */
static bool goes_along(struct tipme_wayland *w, const struct tipme_wl_deliver *r)
{
	bool motion = r->kind == TIPME_INPUT_KIND_MOTION, wheel = r->kind == TIPME_INPUT_KIND_WHEEL;

	if (motion && w->motion_client == r->client && r->ts_ns - w->motion_ns < MOTION_NS)
		return true;
	if (wheel && w->wheel_client == r->client && r->ts_ns - w->wheel_ns < TURN_NS)
		return true;
	if (motion) {
		w->motion_client = r->client;
		w->motion_ns = r->ts_ns;
	}
	if (wheel) {
		w->wheel_client = r->client;
		w->wheel_ns = r->ts_ns;
	}
	return false;
}

static void method_add(struct tipme_wayland *w, uint64_t ns)
{
	if (w->methods == TIPME_METHODS) {
		w->methods--;
		for (unsigned int i = 0; i < w->methods; i++)
			w->method[i] = w->method[i + 1];
	}
	w->method[w->methods].ns = ns;
	w->method[w->methods++].seq = w->seq;
}

/* The key of which an input method has made text; 0: of none that is known. */
static uint32_t method_take(struct tipme_wayland *w, uint64_t ns)
{
	uint32_t seq = 0;

	while (w->methods && !seq) {
		if (w->method[0].ns + HELD_NS > ns)
			seq = w->method[0].seq;
		w->methods--;
		for (unsigned int i = 0; i < w->methods; i++)
			w->method[i] = w->method[i + 1];
	}
	return seq;
}

static void event_new(struct tipme_answers *s, const struct tipme_wl_deliver *r)
{
	struct tipme_wayland *w = &s->wayland;
	uint64_t age_ns = r->age_ms * TIPME_MS_NS;
	struct tipme_x_device d = {
		.ts_ns = r->ts_ns,
		.input_seq = ++w->seq,
		.server_ms = (uint32_t)(r->ts_ns / TIPME_MS_NS),
		.device = (uint16_t)r->object,
		.kind = r->kind,
	};

	tipme_answers_device(s, &d, age_ns < r->ts_ns ? r->ts_ns - age_ns : r->ts_ns);
	if (r->what == TIPME_WL_INPUT_INPUT_METHOD && r->kind == TIPME_INPUT_KIND_KEY_PRESS)
		method_add(w, r->ts_ns);
}

static void on_deliver(struct tipme_answers *s, const struct tipme_wl_deliver *r)
{
	struct tipme_wayland *w = &s->wayland;
	uint32_t seq = 0;

	if (is_told_again(w, r) ||
	    ((s->held || r->kind != TIPME_INPUT_KIND_MOTION) && goes_along(w, r)))
		return;
	if (r->what == TIPME_WL_INPUT_TEXT)
		seq = method_take(w, r->ts_ns);
	if (!seq) {
		event_new(s, r);
		seq = w->seq;
	}
	struct tipme_x_deliver d = {
		.ts_ns = r->ts_ns,
		.pid = r->pid,
		.client = client_of(r->client),
		.input_seq = seq,
		.kind = r->kind,
	};

	tipme_answers_deliver(s, &d);
}

/* --- pictures --- */

static void on_commit(struct tipme_answers *s, const struct tipme_wl_commit *r)
{
	struct tipme_wayland *w = &s->wayland;
	unsigned int i = (r->client + r->surface) % TIPME_PICTURES;

	if (w->motion_client == r->client)
		w->motion_client = 0;
	if (r->callback) {
		w->picture[i].ns = r->ts_ns;
		w->picture[i].pid = r->pid;
		w->picture[i].client = client_of(r->client);
		w->picture[i].callback = r->callback;
	}
	tipme_answers_change(s, r->ts_ns, client_of(r->client), &r->pid, r->callback);
}

static void on_done(struct tipme_answers *s, const struct tipme_wl_done *r)
{
	uint16_t client = client_of(r->client);

	for (unsigned int i = 0; i < TIPME_PICTURES; i++)
		if (s->wayland.picture[i].callback == r->callback &&
		    s->wayland.picture[i].client == client && s->wayland.picture[i].pid == r->pid)
			s->wayland.picture[i].callback = 0;
	for (unsigned int i = 0; i < s->count; i++) {
		struct tipme_pending *p = tipme_pending_nth(s, i);

		if (p->closed || p->picture != r->callback || p->a.client != client ||
		    p->a.pid != r->pid)
			continue;
		p->picture = 0;
		p->a.end_ns = r->ts_ns;
	}
}

bool tipme_answers_picture_due(const struct tipme_answers *s, uint32_t pid, uint64_t now_ns)
{
	for (unsigned int i = 0; s->wayland.is && i < TIPME_PICTURES; i++)
		if (s->wayland.picture[i].callback && s->wayland.picture[i].pid == pid &&
		    now_ns < s->wayland.picture[i].ns + DUE_NS)
			return true;
	return false;
}

void tipme_answers_wayland(struct tipme_answers *s, const struct tipme_head *rec)
{
	if (rec->type < TIPME_WL_DELIVER || rec->type > TIPME_WL_DONE)
		return;
	s->wayland.is = true;
	if (rec->type == TIPME_WL_DELIVER)
		on_deliver(s, (const void *)rec);
	else if (rec->type == TIPME_WL_COMMIT)
		on_commit(s, (const void *)rec);
	else if (((const struct tipme_wl_done *)rec)->what == TIPME_WL_TOLD_DONE)
		on_done(s, (const void *)rec);
}
