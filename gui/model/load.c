// SPDX-License-Identifier: GPL-2.0-only
/* Lanes from the reader of episodes. */
#include "config.h"

#include "episode/episode.h"
#include "lane_events.h"
#include "lane_waits.h"
#include "lanes.h"
#include "numbers.h"
#include "retold.h"
#include "language.h"

/* All that is open while lanes are made. */
typedef struct {
	struct tipme_episode *ep;
	struct tipme_events ev;
	struct tipme_threads *th;
	struct tipme_states st;
	struct tipme_cpu_intervals ci;
	struct tipme_episode_span span;
} Reading;

static void reading_close(Reading *r)
{
	tipme_cpu_intervals_free(&r->ci);
	tipme_states_free(&r->st);
	tipme_threads_free(r->th);
	tipme_events_free(&r->ev);
	tipme_episode_close(r->ep);
}

#define MOST_MORE 40U /* lanes for one search */

char *tipme_lanes_safe(const char *text)
{
	char *safe = g_utf8_make_valid(text, -1);

	for (char *c = safe; *c; c++)
		if ((guchar)*c < ' ' || *c == 127)
			*c = '?';
	return safe;
}

char *tipme_lanes_who(const char *comm, guint32 tid)
{
	g_autofree char *name = tipme_lanes_safe(comm);

	return g_strdup_printf("%s (%u)", name, tid);
}

static char *who_name(Reading *r, guint32 tid, guint64 ns)
{
	struct tipme_who who;

	tipme_threads_at(r->th, tid, ns, &who);
	return tipme_lanes_who(who.comm, tid);
}

static guint32 process_of(Reading *r, guint32 tid, guint64 ns)
{
	struct tipme_who who;

	tipme_threads_at(r->th, tid, ns, &who);
	return who.pid;
}

static void note_name(TipmeLanes *lanes, Reading *r, guint32 tid, guint64 ns)
{
	gpointer key = GUINT_TO_POINTER(tid);

	if (!tid || tid == TIPME_NONE || g_hash_table_contains(lanes->names, key))
		return;
	g_hash_table_insert(lanes->names, key, who_name(r, tid, ns));
	g_hash_table_insert(lanes->processes, key, GUINT_TO_POINTER(process_of(r, tid, ns)));
}

static void note_stack(TipmeLanes *lanes, Reading *r, guint32 id)
{
	gpointer key = GUINT_TO_POINTER(id);
	const char *frames = id && !g_hash_table_contains(lanes->stacks, key)
				     ? tipme_threads_stack(r->th, id)
				     : NULL;

	if (frames)
		g_hash_table_insert(lanes->stacks, key, g_utf8_make_valid(frames, -1));
}

static TipmeLane *add_lane(TipmeLanes *lanes, char *name, GArray *spans, gboolean is_cpu,
			   guint32 number)
{
	TipmeLane *lane = tipme_lane_new(name, (const TipmeSpan *)(void *)spans->data, spans->len);

	lane->is_cpu = is_cpu;
	lane->number = number;
	g_ptr_array_add(lanes->lanes, lane);
	g_array_set_size(spans, 0);
	return lane;
}

static void cpu_lanes(TipmeLanes *lanes, Reading *r)
{
	g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(TipmeSpan));
	const struct tipme_cpu_intervals *ci = &r->ci;

	for (guint32 i = 0; i < ci->count; i++) {
		TipmeSpan span = { (gint64)ci->from_ns[i],
				   (gint64)ci->to_ns[i],
				   ci->tid[i],
				   TIPME_LANE_RUNNING,
				   0,
				   ci->prio[i] };

		note_name(lanes, r, ci->tid[i], ci->from_ns[i]);
		if (ci->tid[i] != 0 && ci->tid[i] != TIPME_NONE)
			g_array_append_val(spans, span);
		if (i + 1 == ci->count || ci->cpu[i + 1] != ci->cpu[i])
			add_lane(lanes, g_strdup_printf("CPU %u", ci->cpu[i]), spans, TRUE,
				 ci->cpu[i]);
	}
}

static guint8 lane_state(guint8 kind)
{
	switch (kind) {
	case TIPME_INTERVAL_RUNNING: return TIPME_LANE_RUNNING;
	case TIPME_INTERVAL_RUNNABLE: return TIPME_LANE_RUNNABLE;
	case TIPME_INTERVAL_BLOCKED: return TIPME_LANE_BLOCKED;
	default: return TIPME_LANE_NOTHING;
	}
}

static void thread_lanes(TipmeLanes *lanes, Reading *r)
{
	g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(TipmeSpan));
	const struct tipme_states *st = &r->st;

	for (guint32 i = 0; i < st->count; i++) {
		TipmeSpan span = { (gint64)st->from_ns[i],  (gint64)st->to_ns[i], st->cpu[i],
				   lane_state(st->kind[i]), st->state[i],	  st->prio[i] };

		if (span.state == TIPME_LANE_BLOCKED) {
			span.who = st->stack_id[i];
			note_stack(lanes, r, span.who);
		} else if (st->flags[i] & TIPME_INTERVAL_NO_CPU)
			span.who = TIPME_NONE;
		if (span.state != TIPME_LANE_NOTHING)
			g_array_append_val(spans, span);
		if (i + 1 == st->count || st->tid[i + 1] != st->tid[i]) {
			note_name(lanes, r, st->tid[i], st->to_ns[i] - 1);
			add_lane(lanes, who_name(r, st->tid[i], st->to_ns[i] - 1), spans, FALSE,
				 st->tid[i])
				->process = process_of(r, st->tid[i], st->to_ns[i] - 1);
		}
	}
}

static gboolean is_wanted(Reading *r, guint32 tid, guint64 to, char **words)
{
	g_autofree char *who = who_name(r, tid, to);
	g_autofree char *number = g_strdup_printf("%u", tid);
	g_autofree char *name = g_utf8_casefold(who, -1);

	for (; *words; words++) {
		g_autofree char *word = g_utf8_casefold(*words, -1);

		if (*word && (g_str_has_prefix(name, word) || !g_strcmp0(number, word)))
			return TRUE;
	}
	return FALSE;
}

/* Threads that ran, slept or were woken, whose name or number is asked for. */
static void add_wanted(Reading *r, GArray *threads, const char *more, guint64 to)
{
	g_auto(GStrv) words = g_strsplit(more ? more : "", " ", -1);
	guint most = threads->len + MOST_MORE;

	for (guint32 i = 0; *words && i < r->ev.by_tid.count && threads->len < most; i++) {
		guint32 tid = r->ev.by_tid.key[i];
		gboolean there = !tid;

		for (guint k = 0; !there && k < threads->len; k++)
			there = g_array_index(threads, guint32, k) == tid;
		if (!there && is_wanted(r, tid, to, words))
			g_array_append_val(threads, tid);
	}
}

/* Tells how far it is; -ECANCELED: nobody waits for it any more. */
static int reached(const TipmeReading *how, double share)
{
	if (how->progress)
		how->progress(share, how->data);
	return g_cancellable_is_cancelled(how->cancellable) ? -ECANCELED : 0;
}

static int read_all(Reading *r, GArray *threads, const TipmeReading *how)
{
	guint64 from = r->span.from_ns, to = r->span.to_ns;
	int err = reached(how, 0.1);

	err = err ? err : tipme_events_load(&r->ev, r->ep, from, to);
	err = err ? err : reached(how, 0.4);
	err = err ? err : tipme_threads_load(&r->th, r->ep, &r->ev);
	if (!err)
		add_wanted(r, threads, how->more, to);
	err = err ? err : reached(how, 0.5);
	err = err ? err
		  : tipme_states_make(&r->st, &r->ev, r->th, (const guint32 *)(void *)threads->data,
				      threads->len, from, to);
	err = err ? err : reached(how, 0.7);
	/* Of a CPU nothing is known before its records. */
	return err ? err : tipme_cpu_intervals_make(&r->ci, &r->ev, r->th, r->span.records_ns, to);
}

static void take_damage(TipmeLanes *lanes, Reading *r)
{
	const struct tipme_episode_facts *facts = tipme_episode_facts(r->ep);
	gint64 before = lanes->records_ns - lanes->first_ns;

	if (before) {
		g_autofree char *time = tipme_text_ms(before);

		g_ptr_array_add(
			lanes->said,
			g_strdup_printf(
				_("The kernel's records begin %s after the problem: what threads did before follows from what they did next."),
				time));
	}

	for (size_t i = 0; i < tipme_episode_damage_count(r->ep); i++) {
		g_autofree char *damage = tipme_retold(tipme_episode_damage(r->ep, i));

		g_ptr_array_add(lanes->said, g_utf8_make_valid(damage ? damage : "", -1));
	}
	if (r->ev.sampled)
		g_ptr_array_add(
			lanes->said,
			g_strdup(_(
				"Only samples of /proc: what lies between two samples is not known.")));
	if (facts->has_bundle)
		g_ptr_array_add(
			lanes->said,
			g_strdup(_("A bundle: it holds only the records around the problem.")));
	if (!lanes->lanes->len)
		g_ptr_array_add(
			lanes->said,
			g_strdup(
				_("It has no records of the kernel: there are no lanes to draw.")));
}

TipmeLanes *tipme_lanes_load(const char *folder, const guint32 *threads, guint thread_count,
			     const TipmeReading *how, GError **error)
{
	Reading r = { 0 };
	g_autoptr(GArray) wanted = g_array_new(FALSE, FALSE, sizeof(guint32));
	char why[512] = "";

	if (tipme_episode_open(&r.ep, folder, why, sizeof(why))) {
		g_autofree char *told = tipme_retold(why);
		g_autofree char *words = g_utf8_make_valid(told ? told : why, -1);

		g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s: %s", folder, words);
		return NULL;
	}
	TipmeLanes *lanes = tipme_lanes_new();

	r.span = tipme_episode_span(r.ep, (guint64)MAX(0, how->about_ns));
	lanes->first_ns = (gint64)r.span.from_ns;
	lanes->records_ns = (gint64)r.span.records_ns;
	lanes->last_ns = (gint64)r.span.to_ns;
	if (thread_count)
		g_array_append_vals(wanted, threads, thread_count);
	int err = read_all(&r, wanted, how);

	err = err ? err : tipme_events_add(lanes, r.ep, r.th, lanes->first_ns, lanes->last_ns);
	err = err ? err : tipme_waits_add(lanes, r.ep, &r.ev, r.th, lanes->last_ns);
	err = err ? err : reached(how, 0.8);
	if (err) {
		g_set_error(error, G_IO_ERROR,
			    err == -ECANCELED ? G_IO_ERROR_CANCELLED : G_IO_ERROR_FAILED, "%s: %s",
			    folder, g_strerror(-err));
		reading_close(&r);
		tipme_lanes_free(lanes);
		return NULL;
	}
	thread_lanes(lanes, &r);
	cpu_lanes(lanes, &r);
	take_damage(lanes, &r);
	for (guint i = 0; i < lanes->lanes->len; i++)
		((TipmeLane *)g_ptr_array_index(lanes->lanes, i))->place = i;
	reading_close(&r);
	return lanes;
}

static const char *name_of(const TipmeLanes *lanes, guint32 tid)
{
	const char *name = g_hash_table_lookup(lanes->names, GUINT_TO_POINTER(tid));

	return name ? name : "?";
}

/* What a sleep is, in the words of docs/formats.md; its reason is the diagnosis's to say. */
static const char *sleep_words(guint8 state)
{
	switch (state) {
	case TIPME_TASK_STATE_DISK_SLEEP: return _("blocked, not to be interrupted");
	case TIPME_TASK_STATE_STOPPED: return _("stopped");
	case TIPME_TASK_STATE_TRACED: return _("stopped by a debugger");
	default: return _("blocked");
	}
}

static char *state_words(const TipmeSpan *span)
{
	if (span->state == TIPME_LANE_BLOCKED)
		return g_strdup(sleep_words(span->task_state));
	if (span->who == TIPME_NONE)
		return g_strdup(span->state == TIPME_LANE_RUNNING ? _("running")
								  : _("waits for a CPU"));
	if (span->state == TIPME_LANE_RUNNING && span->prio)
		return g_strdup_printf(_("running on CPU %u, priority %u"), span->who, span->prio);
	return g_strdup_printf(span->state == TIPME_LANE_RUNNING ? _("running on CPU %u")
								 : _("waits for CPU %u"),
			       span->who);
}

char *tipme_lanes_words(const TipmeLanes *lanes, const TipmeLane *lane, const TipmeSpan *span)
{
	if (lane->has_facts)
		return tipme_waits_words(lanes, span);
	if (lane->is_events)
		return tipme_events_words(lanes, span);
	if (lane->is_cpu)
		return g_strdup_printf(_("runs %s"), name_of(lanes, span->who));
	g_autofree char *words = state_words(span);

	return span->from_ns < lanes->records_ns
		       ? g_strconcat(words, _(" (inferred: no record is so old)"), NULL)
		       : g_steal_pointer(&words);
}

char *tipme_lanes_stack(const TipmeLanes *lanes, const TipmeSpan *span)
{
	const char *frames =
		span->state == TIPME_LANE_BLOCKED
			? g_hash_table_lookup(lanes->stacks, GUINT_TO_POINTER(span->who))
			: NULL;

	return frames ? g_strdelimit(g_strdup(frames), ";", '\n') : NULL;
}
