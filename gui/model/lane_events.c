// SPDX-License-Identifier: GPL-2.0-only
/* Lanes of input, requests and drawings, from records of X servers and input devices. */
#include "config.h"

#include "lane_events.h"

#include "episode/episode.h"
#include "language.h"

/* One lane; records of other types are in none. */
typedef struct {
	const char *name;
	guint8 types[5]; /* 0 ends them */
} Kind;

static const Kind kinds[] = {
	{ N_("Input"), { TIPME_INPUT, TIPME_X_DEVICE, TIPME_X_DELIVER } },
	{ N_("Requests"), { TIPME_X_REQUEST } },
	{ N_("Drawn"), { TIPME_X_DAMAGE, TIPME_X_PRESENT, TIPME_X_PAINTED } },
};

static gboolean has_type(const Kind *kind, guint8 type)
{
	for (const guint8 *one = kind->types; *one; one++)
		if (*one == type)
			return TRUE;
	return FALSE;
}

static void note_name(TipmeLanes *lanes, const struct tipme_threads *th, guint32 pid, guint64 ns)
{
	struct tipme_who who;
	gpointer key = GUINT_TO_POINTER(pid);

	if (!pid || g_hash_table_contains(lanes->names, key))
		return;
	tipme_threads_at(th, pid, ns, &who);
	g_hash_table_insert(lanes->names, key, tipme_lanes_who(who.comm, pid));
}

/* Spans of a lane do not overlap: one that does begins where the one before ends. */
static void add_span(GArray *spans, const struct tipme_stages *st, guint32 i)
{
	const TipmeSpan *last =
		spans->len ? &g_array_index(spans, TipmeSpan, spans->len - 1) : NULL;
	gint64 from = (gint64)st->ts_ns[i];
	gint64 to = from + (gint64)MIN(st->duration_ns[i], (guint64)G_MAXINT32) + 1;
	TipmeSpan span = { last ? MAX(from, last->to_ns) : from,
			   0,
			   st->pid[i],
			   TIPME_LANE_EVENT,
			   st->type[i],
			   st->kind[i] };

	span.to_ns = MAX(to, span.from_ns + 1);
	g_array_append_val(spans, span);
}

static void add_kind(TipmeLanes *lanes, const Kind *kind, const struct tipme_stages *st,
		     const struct tipme_threads *th)
{
	g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(TipmeSpan));

	for (guint32 i = 0; i < st->count; i++) {
		if (!has_type(kind, st->type[i]))
			continue;
		note_name(lanes, th, st->pid[i], st->ts_ns[i]);
		add_span(spans, st, i);
	}
	if (!spans->len)
		return;
	TipmeLane *lane = tipme_lane_new(g_strdup(_(kind->name)),
					 (const TipmeSpan *)(void *)spans->data, spans->len);

	lane->is_events = TRUE;
	g_ptr_array_add(lanes->lanes, lane);
}

static gboolean same(const TipmeMessage *a, const TipmeMessage *b)
{
	return a->ns == b->ns && a->from == b->from && a->to == b->to;
}

/* Events go from the server's thread to the client's first one, requests back. */
static void add_messages(TipmeLanes *lanes, const struct tipme_stages *st)
{
	for (guint32 i = 0; i < st->count; i++) {
		TipmeMessage message = { (gint64)st->ts_ns[i], st->tid[i], st->pid[i] };
		GArray *all = lanes->messages;

		if (st->type[i] == TIPME_X_REQUEST)
			message = (TipmeMessage){ message.ns, message.to, message.from };
		else if (st->type[i] != TIPME_X_DELIVER)
			continue;
		if (message.from && message.to &&
		    !(all->len && same(&g_array_index(all, TipmeMessage, all->len - 1), &message)))
			g_array_append_val(all, message);
	}
}

int tipme_events_add(TipmeLanes *lanes, struct tipme_episode *ep, const struct tipme_threads *th,
		     gint64 from_ns, gint64 to_ns)
{
	struct tipme_stages st = { 0 };
	int err = tipme_stages_load(&st, ep, (guint64)from_ns, (guint64)to_ns);

	for (guint i = 0; !err && i < G_N_ELEMENTS(kinds); i++)
		add_kind(lanes, &kinds[i], &st, th);
	if (!err)
		add_messages(lanes, &st);
	tipme_stages_free(&st);
	return err;
}

static const char *input_words(guint8 kind)
{
	switch (kind) {
	case TIPME_INPUT_KIND_KEY_PRESS: return _("key pressed");
	case TIPME_INPUT_KIND_KEY_RELEASE: return _("key released");
	case TIPME_INPUT_KIND_KEY_REPEAT: return _("key repeated");
	case TIPME_INPUT_KIND_BUTTON_PRESS: return _("button pressed");
	case TIPME_INPUT_KIND_BUTTON_RELEASE: return _("button released");
	case TIPME_INPUT_KIND_MOTION: return _("pointer moved");
	case TIPME_INPUT_KIND_TOUCH: return _("touch");
	case TIPME_INPUT_KIND_WHEEL: return _("wheel turned");
	default: return _("other event");
	}
}

char *tipme_events_words(const TipmeLanes *lanes, const TipmeSpan *span)
{
	const char *name = g_hash_table_lookup(lanes->names, GUINT_TO_POINTER(span->who));

	if (!name)
		name = "?";
	switch (span->task_state) {
	case TIPME_INPUT:
		return g_strdup_printf(_("%s: the kernel has it"), input_words(span->prio));
	case TIPME_X_DEVICE:
		return g_strdup_printf(_("%s: the display server has it"), input_words(span->prio));
	case TIPME_X_DELIVER:
		return g_strdup_printf(_("%s: sent to %s"), input_words(span->prio), name);
	case TIPME_X_REQUEST: return g_strdup_printf(_("request of %s"), name);
	case TIPME_X_PRESENT: return g_strdup_printf(_("frame of %s"), name);
	default: return g_strdup_printf(_("%s has drawn"), name);
	}
}
