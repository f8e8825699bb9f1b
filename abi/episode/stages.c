// SPDX-License-Identifier: GPL-2.0-only
/* Input events and what X servers did, as columns in order of time. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "episode/private.h"
#include "episode/table.h"

#define STAGES_MOST (16U << 20) /* rows: a server's ring has 1 Mi slots at most */

struct stage {
	uint64_t ts, duration;
	uint32_t tid, server, pid, window, input_seq, order;
	uint16_t client, request;
	uint8_t type, kind;
};

struct stage_list {
	struct stage *at;
	size_t count, room;
	uint64_t from, to;
	uint32_t file;
};

static uint16_t request_of(uint64_t major, uint64_t minor)
{
	return (uint16_t)(major << 8 | minor);
}

/* What the kinds have in common; each field stands where its own record has it. */
static void fill_stage(struct stage *s, const struct tipme_rec *r)
{
#define TAKE(to, kind, name) s->to = (__typeof__(s->to))TIPME_FIELD(r, kind, name)
#define CLIENT(kind) TAKE(pid, kind, pid), TAKE(client, kind, client)
#define REQUEST(kind) \
	s->request = request_of(TIPME_FIELD(r, kind, major), TIPME_FIELD(r, kind, minor))
	switch (r->type) {
	case TIPME_INPUT: TAKE(kind, input, kind); break;
	case TIPME_X_DEVICE:
		TAKE(kind, x_device, kind), TAKE(input_seq, x_device, input_seq);
		break;
	case TIPME_X_DELIVER:
		CLIENT(x_deliver), TAKE(kind, x_deliver, kind), TAKE(window, x_deliver, window),
			TAKE(input_seq, x_deliver, input_seq);
		break;
	case TIPME_X_REQUEST:
		CLIENT(x_request), REQUEST(x_request), TAKE(duration, x_request, duration_ns);
		break;
	case TIPME_X_DAMAGE:
		CLIENT(x_damage), REQUEST(x_damage), TAKE(window, x_damage, window);
		break;
	case TIPME_X_FLUSH: CLIENT(x_flush), TAKE(duration, x_flush, duration_ns); break;
	case TIPME_X_CHORD: TAKE(kind, x_chord, action), TAKE(input_seq, x_chord, input_seq); break;
	case TIPME_X_CLIENT: CLIENT(x_client), TAKE(kind, x_client, state); break;
	case TIPME_X_GRAB: CLIENT(x_grab), TAKE(kind, x_grab, what); break;
	case TIPME_X_INPUT: TAKE(kind, x_input, kind); break;
	case TIPME_X_REPLY: CLIENT(x_reply), REQUEST(x_reply); break;
	case TIPME_X_OUTPUT_FULL: CLIENT(x_output_full), TAKE(kind, x_output_full, phase); break;
	case TIPME_X_PRESENT:
		CLIENT(x_present), TAKE(kind, x_present, phase), TAKE(window, x_present, window);
		break;
	case TIPME_X_IDLE: TAKE(duration, x_idle, duration_ns); break;
	case TIPME_X_ARRIVAL: CLIENT(x_arrival); break;
	case TIPME_X_DRAWN:
		TAKE(client, x_drawn, client), REQUEST(x_drawn), TAKE(window, x_drawn, window);
		break;
	case TIPME_X_TOLD: CLIENT(x_told); break;
	case TIPME_X_TAKEN: CLIENT(x_taken); break;
	case TIPME_X_REDIRECT: TAKE(window, x_redirect, window); break;
	case TIPME_X_PAINTED: CLIENT(x_painted), REQUEST(x_painted); break;
	}
#undef TAKE
#undef CLIENT
#undef REQUEST
}

static bool is_stage(const struct tipme_rec *r)
{
	return r->type == TIPME_INPUT || (r->type >= TIPME_X_DEVICE && r->type <= TIPME_X_PAINTED);
}

static int add_stage(void *arg, const struct tipme_rec *r)
{
	struct stage_list *l = arg;

	if (!is_stage(r) || r->ts_ns < l->from || r->ts_ns >= l->to)
		return 0;
	int err = l->count >= STAGES_MOST
			  ? -E2BIG
			  : tipme_grow(&l->at, &l->room, l->count + 1, sizeof(*l->at));

	if (err)
		return err;
	struct stage *s = &l->at[l->count];

	*s = (struct stage){ .ts = r->ts_ns,
			     .tid = r->tid,
			     .server = l->file,
			     .type = r->type,
			     .order = (uint32_t)l->count };
	l->count++;
	fill_stage(s, r);
	return 0;
}

static int by_time(const void *one, const void *other)
{
	const struct stage *a = one, *b = other;

	if (a->ts != b->ts)
		return a->ts < b->ts ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int stage_columns(struct tipme_stages *st, const struct stage_list *l)
{
	uint64_t n = l->count, *ts, *duration;
	uint32_t *tid, *server, *pid, *window, *seq;
	uint16_t *client, *request;
	uint8_t *type, *kind;
	struct tipme_columns_map map = { 0 }, *kept = malloc(sizeof(*kept));
	const struct tipme_columns_want want[] = {
		{ "stages", "ts", 8, n, (void **)&ts },
		{ "stages", "duration_ns", 8, n, (void **)&duration },
		{ "stages", "type", 1, n, (void **)&type },
		{ "stages", "kind", 1, n, (void **)&kind },
		{ "stages", "tid", 4, n, (void **)&tid },
		{ "stages", "server", 4, n, (void **)&server },
		{ "stages", "pid", 4, n, (void **)&pid },
		{ "stages", "client", 2, n, (void **)&client },
		{ "stages", "window", 4, n, (void **)&window },
		{ "stages", "input_seq", 4, n, (void **)&seq },
		{ "stages", "request", 2, n, (void **)&request },
	};
	int err = kept ? tipme_columns_make(&map, -1, false, want, sizeof(want) / sizeof(want[0]))
		       : -ENOMEM;

	if (err) {
		free(kept);
		return err;
	}
	for (size_t i = 0; i < n; i++) {
		const struct stage *s = &l->at[i];

		ts[i] = s->ts, duration[i] = s->duration, type[i] = s->type, kind[i] = s->kind,
		tid[i] = s->tid, server[i] = s->server;
		pid[i] = s->pid, client[i] = s->client, window[i] = s->window,
		seq[i] = s->input_seq, request[i] = s->request;
	}
	*kept = map;
	*st = (struct tipme_stages){ (uint32_t)n, ts,	  duration, type, kind,	   tid, server,
				     pid,	  client, window,   seq,  request, kept };
	return 0;
}

static bool may_have(const struct tipme_episode_section *s, uint64_t from, uint64_t to)
{
	bool in = (s->last_ns >= UINT64_MAX - TIPME_SLACK_NS ||
		   s->last_ns + TIPME_SLACK_NS >= from) &&
		  (to >= UINT64_MAX - TIPME_SLACK_NS || s->first_ns < to + TIPME_SLACK_NS);

	return in &&
	       (s->source == TIPME_SOURCE_KERNEL_BPF || s->source == TIPME_SOURCE_KERNEL_MODULE ||
		s->source == TIPME_SOURCE_X_HOOKS || s->source == TIPME_SOURCE_X_CLIENT);
}

int tipme_stages_load(struct tipme_stages *st, struct tipme_episode *ep, uint64_t from_ns,
		      uint64_t to_ns)
{
	struct stage_list l = { .from = from_ns, .to = to_ns };
	int err = 0;

	*st = (struct tipme_stages){ 0 };
	for (size_t i = 0; !err && i < ep->section_count; i++) {
		l.file = ep->sections[i].file;
		if (may_have(&ep->sections[i], from_ns, to_ns))
			err = tipme_section_each(ep, &ep->sections[i], add_stage, &l);
	}
	if (l.count)
		qsort(l.at, l.count, sizeof(*l.at), by_time);
	if (!err)
		err = stage_columns(st, &l);
	free(l.at);
	return err;
}

void tipme_stages_free(struct tipme_stages *st)
{
	if (st->memory)
		tipme_columns_free(st->memory);
	free(st->memory);
	*st = (struct tipme_stages){ 0 };
}
