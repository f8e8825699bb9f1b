// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the records of a display source to answers, while they come: which events entered when, to
 * whom
 * they went, and which change of the screen answered them. Constant memory; no kernel records.
 *
 * The rules are those of Tipme::InputPath and Tipme::Answered, as far as they need no look at
 * threads.
 */
#include "config.h"

#include <string.h>

#include "answers.h"

/* Damages closer than this are one burst. */
#define BURST_GAP_NS (10 * TIPME_MS_NS)
/* What is drawn so soon after the event is one answer, however it is broken up. */
#define SURE_NS (30 * TIPME_MS_NS)
/* An input thread may be kept from working for so long between reading an event and stamping it. */
#define READ_NS (100 * TIPME_MS_NS)
/* A client whom an event is sent later than this after another had it first: that one let it go. */
#define HELD_NS TIPME_MS_NS
/* Less CPU time than this between two looks is waking up and going to sleep again. */
#define BUSY_NS 200000
/* A button that is held for less is a wheel: the quickest clicks of people last some 30 ms. */
#define WHEEL_MS 10

void tipme_answers_init(struct tipme_answers *s, uint64_t patience_ns)
{
	memset(s, 0, sizeof(*s));
	s->patience_ns = patience_ns;
}

/* --- how an event ends --- */

/* In order of delivery: one that is complete waits for those before it. */
static void hand_on(struct tipme_answers *s)
{
	while (s->count && tipme_pending_nth(s, 0)->closed) {
		struct tipme_pending *p = tipme_pending_nth(s, 0);

		if (!p->dropped)
			s->done(s->arg, &p->a);
		p->used = false;
		s->first = (s->first + 1) % TIPME_PENDING;
		s->count--;
	}
}

static void close_as(struct tipme_pending *p, enum tipme_outcome outcome, uint64_t end_ns)
{
	p->closed = true;
	p->a.outcome = (uint8_t)outcome;
	p->a.end_ns = end_ns > p->a.entered_ns ? end_ns : p->a.entered_ns;
	/* Letting go of a button is an event of its own only where something happens. */
	if (p->release && outcome != TIPME_ANSWERED)
		p->dropped = true;
}

static bool seq_is_elsewhere(struct tipme_answers *s, const struct tipme_pending *p)
{
	for (unsigned int i = 0; i < s->count; i++) {
		const struct tipme_pending *o = tipme_pending_nth(s, i);

		if (o != p && o->seq == p->seq && !o->dropped &&
		    (!o->closed || o->a.outcome == TIPME_ANSWERED))
			return true;
	}
	return false;
}

/* One event that went to several clients is one event: that of who answers, else of the last. */
static void without_effect(struct tipme_answers *s, struct tipme_pending *p, uint64_t end_ns)
{
	close_as(p, TIPME_WITHOUT_EFFECT, end_ns);
	if (p->shared && seq_is_elsewhere(s, p))
		p->dropped = true;
}

/* Whoever asked to be told when his picture is used is waited for until he is. */
static void answered(struct tipme_pending *p)
{
	if (p->picture)
		p->whole = true;
	else
		close_as(p, TIPME_ANSWERED, p->a.end_ns);
}

/* --- what the server tells --- */

static uint8_t kind_of(uint8_t input_kind)
{
	switch (input_kind) {
	case TIPME_INPUT_KIND_KEY_PRESS:
	case TIPME_INPUT_KIND_KEY_REPEAT: return TIPME_KIND_KEY;
	case TIPME_INPUT_KIND_BUTTON_PRESS:
	case TIPME_INPUT_KIND_BUTTON_RELEASE: return TIPME_KIND_BUTTON;
	case TIPME_INPUT_KIND_MOTION: return TIPME_KIND_MOTION;
	case TIPME_INPUT_KIND_WHEEL: return TIPME_KIND_WHEEL;
	case TIPME_INPUT_KIND_TOUCH: return TIPME_KIND_TOUCH;
	default: return TIPME_KINDS;
	}
}

static void on_input(struct tipme_answers *s, const struct tipme_x_input *r)
{
	unsigned int i = s->inputs++ % TIPME_INPUTS;

	s->input[i].ns = r->kernel_ns && r->kernel_ns <= r->ts_ns ? r->kernel_ns : r->ts_ns;
	s->input[i].kind = r->kind;
}

/*
 * When the input thread had read it, and not much before: the oldest of the kind that is not
 * taken.
 */
static uint64_t entered(struct tipme_answers *s, const struct tipme_x_device *r)
{
	uint64_t from = s->wakeup_ns ? s->wakeup_ns : r->ts_ns;

	for (unsigned int n = s->inputs > TIPME_INPUTS ? s->inputs - TIPME_INPUTS : 0;
	     n < s->inputs; n++) {
		unsigned int i = n % TIPME_INPUTS;

		if (s->input[i].kind != r->kind || !s->input[i].ns || s->input[i].ns > r->ts_ns)
			continue;
		uint64_t ns = s->input[i].ns;

		s->input[i].ns = 0;
		if (ns + READ_NS >= r->ts_ns)
			return ns < from ? ns : from;
	}
	return from;
}

/* A wheel is a button that its device lets go at once: no finger is so quick. */
static void see_wheel(struct tipme_answers *s, const struct tipme_x_device *r)
{
	for (unsigned int i = s->count; i-- > 0;) {
		struct tipme_pending *p = tipme_pending_nth(s, i);

		if (p->a.kind != TIPME_KIND_BUTTON || p->release || p->device != r->device)
			continue;
		if (r->server_ms - p->server_ms < WHEEL_MS)
			p->a.kind = TIPME_KIND_WHEEL;
		return;
	}
}

static void pointer_moved(struct tipme_answers *s, uint64_t entered_ns, uint64_t device_ns)
{
	struct tipme_answer a = {
		.kind = TIPME_KIND_MOTION,
		.outcome = TIPME_ANSWERED,
		.pointer = true,
		.entered_ns = entered_ns,
		.device_ns = device_ns,
		.deliver_ns = device_ns,
		.first_ns = device_ns,
		.end_ns = device_ns,
	};

	s->done(s->arg, &a);
}

void tipme_answers_device(struct tipme_answers *s, const struct tipme_x_device *r,
			  uint64_t entered_ns)
{
	unsigned int i = r->input_seq % TIPME_DEVICES;

	s->device[i].entered_ns = entered_ns;
	s->device[i].device_ns = r->ts_ns;
	s->device[i].seq = r->input_seq;
	s->device[i].server_ms = r->server_ms;
	s->device[i].device = r->device;
	s->device[i].kind = r->kind;
	if (r->kind == TIPME_INPUT_KIND_BUTTON_PRESS)
		s->held++;
	if (r->kind == TIPME_INPUT_KIND_BUTTON_RELEASE) {
		s->held -= s->held > 0;
		if (!s->wayland.is)
			see_wheel(s, r);
	}
}

static void on_device(struct tipme_answers *s, const struct tipme_x_device *r)
{
	unsigned int i = r->input_seq % TIPME_DEVICES;

	/* The master device repeats what its slaves have told. */
	if (r->is_master || (s->device[i].device_ns && s->device[i].seq == r->input_seq))
		return;
	tipme_answers_device(s, r, entered(s, r));
	if (r->kind == TIPME_INPUT_KIND_MOTION && !s->held && !s->wanted)
		pointer_moved(s, s->device[i].entered_ns, r->ts_ns);
}

/* What follows: what the client has drawn up to now is all of the answer to those before. */
static void overtake(struct tipme_answers *s, const struct tipme_pending *by)
{
	for (unsigned int i = 0; i < s->count; i++) {
		struct tipme_pending *p = tipme_pending_nth(s, i);

		if (p->closed || p == by || p->seq == by->seq || p->a.pid != by->a.pid ||
		    p->a.client != by->a.client)
			continue;
		/*
		 * Letting go of a button ends its press; what a wheel or a key asked for goes on.
		 */
		if (by->release && p->a.kind != TIPME_KIND_BUTTON)
			continue;
		if (p->a.first_ns)
			answered(p);
		p->overtaken = true;
	}
}

/* Whether a client gets the event beside, or instead of, somebody who had it before. */
static bool see_others(struct tipme_answers *s, const struct tipme_x_deliver *r, bool *shared)
{
	for (unsigned int i = 0; i < s->count; i++) {
		struct tipme_pending *p = tipme_pending_nth(s, i);

		if (p->closed || p->seq != r->input_seq)
			continue;
		if (p->a.pid == r->pid && p->a.client == r->client)
			return true;
		if (r->ts_ns > p->a.deliver_ns + HELD_NS)
			p->closed = p->dropped = true;
		else
			p->shared = *shared = true;
	}
	return false;
}

static struct tipme_pending *pending_new(struct tipme_answers *s)
{
	struct tipme_pending *p;

	if (s->count == TIPME_PENDING) {
		s->lost++;
		return NULL;
	}
	p = tipme_pending_nth(s, s->count++);
	memset(p, 0, sizeof(*p));
	p->used = true;
	return p;
}

static bool is_wanted(const struct tipme_answers *s, uint32_t pid)
{
	return !s->wanted || s->wanted(s->arg, pid);
}

void tipme_answers_deliver(struct tipme_answers *s, const struct tipme_x_deliver *r)
{
	unsigned int i = r->input_seq % TIPME_DEVICES;
	uint8_t kind = kind_of(r->kind);
	bool shared = false, motion = kind == TIPME_KIND_MOTION;

	if (!r->input_seq || kind == TIPME_KINDS || s->device[i].seq != r->input_seq ||
	    s->device[i].kind != r->kind || !is_wanted(s, r->pid))
		return;
	/*
	 * Of the motions that were read in one go only the first waited; without a button the
	 * pointer is the answer.
	 */
	if (motion && (!s->held || s->last_drag_go_ns == s->device[i].entered_ns))
		return;
	if (see_others(s, r, &shared))
		return;
	struct tipme_pending *p = pending_new(s);

	if (!p)
		return;
	if (motion)
		s->last_drag_go_ns = s->device[i].entered_ns;
	p->seq = r->input_seq;
	p->device = s->device[i].device;
	p->server_ms = s->device[i].server_ms;
	p->shared = shared;
	p->release = r->kind == TIPME_INPUT_KIND_BUTTON_RELEASE;
	p->a = (struct tipme_answer){
		.pid = r->pid,
		.client = r->client,
		.kind = kind,
		.entered_ns = s->device[i].entered_ns,
		.device_ns = s->device[i].device_ns,
		.deliver_ns = r->ts_ns,
	};
	/* A hand does not wait for the answer to its own motion. */
	if (!motion)
		overtake(s, p);
}

static void drop_shared(struct tipme_answers *s, const struct tipme_pending *with)
{
	for (unsigned int i = 0; i < s->count; i++) {
		struct tipme_pending *p = tipme_pending_nth(s, i);

		if (p != with && p->seq == with->seq &&
		    !(p->closed && p->a.outcome == TIPME_ANSWERED))
			p->closed = p->dropped = true;
	}
}

/* A press was waiting for just that change. */
static bool press_waited(struct tipme_answers *s, const struct tipme_pending *p, uint64_t ns)
{
	for (unsigned int i = 0; i < s->count; i++) {
		const struct tipme_pending *o = tipme_pending_nth(s, i);

		if (o != p && !o->dropped && !o->release && o->a.kind != TIPME_KIND_MOTION &&
		    o->a.pid == p->a.pid && o->a.client == p->a.client && o->a.first_ns &&
		    (!o->closed || o->a.end_ns >= ns))
			return true;
	}
	return false;
}

/*
 * The first change since the event: its answer, unless a later press came between, and nobody saw
 * the client busy.
 */
static void first_change(struct tipme_answers *s, struct tipme_pending *p, uint64_t ns)
{
	if (p->overtaken && !p->seen_busy) {
		without_effect(s, p, p->a.deliver_ns);
		return;
	}
	if ((p->release || p->a.kind == TIPME_KIND_MOTION) && press_waited(s, p, ns)) {
		p->closed = p->dropped = true;
		return;
	}
	p->a.ahead = p->overtaken;
	p->a.first_ns = p->a.end_ns = p->changed_ns = ns;
	drop_shared(s, p);
}

void tipme_answers_change(struct tipme_answers *s, uint64_t ts_ns, uint16_t client,
			  const uint32_t *pid, uint32_t picture)
{
	for (unsigned int i = 0; i < s->count; i++) {
		struct tipme_pending *p = tipme_pending_nth(s, i);

		if (p->closed || p->whole || (pid && p->a.pid != *pid) || p->a.client != client ||
		    ts_ns < p->a.deliver_ns)
			continue;
		if (!p->a.first_ns)
			first_change(s, p, ts_ns);
		else if (ts_ns - p->changed_ns < BURST_GAP_NS || ts_ns - p->a.deliver_ns < SURE_NS)
			p->a.end_ns = p->changed_ns = ts_ns;
		else
			answered(p);
		if (picture && !p->closed && p->changed_ns == ts_ns)
			p->picture = picture;
	}
}

static void on_damage(struct tipme_answers *s, const struct tipme_x_damage *r)
{
	tipme_answers_change(s, r->ts_ns, r->client, &r->pid, 0);
}

/* Under a compositor: what that makes of it is not followed here. */
static void on_drawn(struct tipme_answers *s, const struct tipme_x_drawn *r)
{
	if (r->client)
		tipme_answers_change(s, r->ts_ns, r->client, NULL, 0);
}

static void on_gone(struct tipme_answers *s, const struct tipme_x_client *r)
{
	for (unsigned int i = 0; i < s->count && r->state == TIPME_X_CLIENT_STATE_GONE; i++) {
		struct tipme_pending *p = tipme_pending_nth(s, i);

		if (p->closed || p->a.pid != r->pid || p->a.client != r->client)
			continue;
		p->picture = 0;
		if (p->a.first_ns)
			answered(p);
		else
			close_as(p, TIPME_CLIENT_GONE, r->ts_ns);
	}
}

/* A hot-key is the user's question, not what it is about. */
static void on_chord(struct tipme_answers *s, const struct tipme_x_chord *r)
{
	for (unsigned int i = 0; i < s->count; i++)
		if (tipme_pending_nth(s, i)->seq == r->input_seq)
			tipme_pending_nth(s, i)->closed = tipme_pending_nth(s, i)->dropped = true;
}

void tipme_answers_record(struct tipme_answers *s, const struct tipme_head *rec)
{
	s->last_ns = rec->ts_ns;
	switch (rec->type) {
	case TIPME_X_WAKEUP: s->wakeup_ns = rec->ts_ns; break;
	case TIPME_X_SLEEP: s->wakeup_ns = 0; break;
	case TIPME_X_IDLE:
		s->wakeup_ns = rec->ts_ns + ((const struct tipme_x_idle *)rec)->duration_ns;
		break;
	case TIPME_X_INPUT: on_input(s, (const void *)rec); break;
	case TIPME_X_DEVICE: on_device(s, (const void *)rec); break;
	case TIPME_X_DELIVER: tipme_answers_deliver(s, (const void *)rec); break;
	case TIPME_X_DAMAGE: on_damage(s, (const void *)rec); break;
	case TIPME_X_DRAWN: on_drawn(s, (const void *)rec); break;
	case TIPME_X_CLIENT: on_gone(s, (const void *)rec); break;
	case TIPME_X_CHORD: on_chord(s, (const void *)rec); break;
	default: tipme_answers_wayland(s, rec); break;
	}
	if (s->count && tipme_pending_nth(s, 0)->closed)
		hand_on(s);
}

/* --- what time tells --- */

void tipme_answers_until(struct tipme_answers *s, uint64_t now_ns)
{
	for (unsigned int i = 0; i < s->count; i++) {
		struct tipme_pending *p = tipme_pending_nth(s, i);

		if (p->closed)
			continue;
		if (p->whole && now_ns >= p->changed_ns + TIPME_PICTURE_NS)
			p->picture = 0;
		if (p->a.first_ns && now_ns >= p->changed_ns + BURST_GAP_NS &&
		    now_ns >= p->a.deliver_ns + SURE_NS)
			answered(p);
		else if (!p->a.first_ns && now_ns >= p->a.deliver_ns + s->patience_ns)
			without_effect(s, p, p->a.deliver_ns);
	}
	hand_on(s);
}

void tipme_answers_seen(struct tipme_answers *s, const struct tipme_seen *seen)
{
	bool busy = !seen->rests || seen->ran_ns > BUSY_NS;

	for (unsigned int i = 0; i < s->count; i++) {
		struct tipme_pending *p = tipme_pending_nth(s, i);

		if (p->closed || p->a.first_ns || p->a.pid != seen->pid ||
		    p->a.deliver_ns >= seen->now_ns)
			continue;
		uint64_t since = seen->now_ns - p->a.deliver_ns;
		uint64_t worked = p->worked_ns + seen->ran_ns;
		/* Whether it is a wheel is not known yet. */
		bool young = p->a.kind == TIPME_KIND_BUTTON && !p->release &&
			     since < WHEEL_MS * TIPME_MS_NS;

		/* It may be about to draw, when its turn comes. */
		young |= tipme_answers_picture_due(s, seen->pid, seen->now_ns);

		p->seen_busy |= busy;
		/* It computed for so long; when, within the look, is not known. */
		p->worked_ns = seen->rests && worked < since ? worked : since;
		if (!busy && !young && seen->served)
			without_effect(s, p, p->a.deliver_ns + p->worked_ns);
	}
	hand_on(s);
}

void tipme_answers_end(struct tipme_answers *s, uint64_t now_ns)
{
	tipme_answers_until(s, now_ns);
	for (unsigned int i = 0; i < s->count; i++) {
		struct tipme_pending *p = tipme_pending_nth(s, i);

		if (p->closed)
			continue;
		p->picture = 0;
		if (p->a.first_ns)
			answered(p);
		else if (p->shared && seq_is_elsewhere(s, p))
			p->closed = p->dropped = true;
		else
			close_as(p, TIPME_UNANSWERED, now_ns);
	}
	hand_on(s);
}
