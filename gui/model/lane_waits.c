// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lanes of disks, kernel locks, interrupts and samples. Spans of a lane do not overlap: a request
 * that began while another was in the disk is drawn from where that one ends, and told whole.
 */
#include "config.h"

#include "lane_waits.h"

#include "episode/episode.h"
#include "language.h"
#include "numbers.h"

static void note_name(TipmeLanes *lanes, const struct tipme_threads *th, guint32 tid, guint64 ns)
{
	struct tipme_who who;
	gpointer key = GUINT_TO_POINTER(tid);

	if (!tid || g_hash_table_contains(lanes->names, key))
		return;
	tipme_threads_at(th, tid, ns, &who);
	g_hash_table_insert(lanes->names, key, tipme_lanes_who(who.comm, tid));
}

static void add_span(TipmeLanes *lanes, GArray *spans, TipmeFact fact, gint64 from, gint64 to)
{
	const TipmeSpan *last =
		spans->len ? &g_array_index(spans, TipmeSpan, spans->len - 1) : NULL;
	gint64 begin = last ? MAX(from, last->to_ns) : from;
	TipmeSpan span = {
		begin, MAX(to, begin + 1), lanes->facts->len, TIPME_LANE_EVENT, fact.type, 0
	};

	fact.ns = to - from;
	g_array_append_val(lanes->facts, fact);
	g_array_append_val(spans, span);
}

/* Takes the name. */
static void add_lane(TipmeLanes *lanes, char *name, GArray *spans)
{
	if (!spans->len) {
		g_free(name);
		return;
	}
	TipmeLane *lane = tipme_lane_new(name, (const TipmeSpan *)(void *)spans->data, spans->len);

	lane->is_events = lane->has_facts = TRUE;
	lane->samples = g_array_index(spans, TipmeSpan, 0).task_state == TIPME_SAMPLE;
	g_ptr_array_add(lanes->lanes, lane);
	g_array_set_size(spans, 0);
}

static char *disk_name(const struct tipme_names *nm, guint32 dev)
{
	const char *known = tipme_names_disk(nm, dev);
	g_autofree char *name = known ? tipme_lanes_safe(known) : NULL;

	return name ? g_strdup_printf(_("Disk %s"), name)
		    : g_strdup_printf(_("Disk %u:%u"), dev >> 20, dev & 0xfffff);
}

static TipmeFact fact_of(const struct tipme_waits *w, guint32 i)
{
	return (TipmeFact){ .queued_ns = (gint64)(w->from_ns[i] - w->asked_ns[i]),
			    .tid = w->tid[i],
			    .number = w->number[i],
			    .cpu = w->cpu[i],
			    .type = w->type[i],
			    .kind = w->kind[i],
			    .open = w->open[i] };
}

/* All of one type; of disks, those of one device. */
static void add_type(TipmeLanes *lanes, const struct tipme_waits *w, const struct tipme_threads *th,
		     guint8 type, guint32 dev, char *name)
{
	g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(TipmeSpan));

	for (guint32 i = 0; i < w->count; i++) {
		if (w->type[i] != type || (type == TIPME_IO && w->number[i] != dev))
			continue;
		note_name(lanes, th, w->tid[i], w->from_ns[i]);
		if (type == TIPME_LOCK_CONTENTION)
			note_name(lanes, th, w->number[i], w->from_ns[i]);
		add_span(lanes, spans, fact_of(w, i), (gint64)w->from_ns[i], (gint64)w->to_ns[i]);
	}
	add_lane(lanes, name, spans);
}

static void add_disks(TipmeLanes *lanes, const struct tipme_waits *w,
		      const struct tipme_threads *th, const struct tipme_names *nm)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	for (guint32 i = 0; i < w->count; i++)
		if (w->type[i] == TIPME_IO && g_hash_table_size(seen) < TIPME_LANES_MOST_DISKS &&
		    g_hash_table_add(seen, GUINT_TO_POINTER(w->number[i])))
			add_type(lanes, w, th, TIPME_IO, w->number[i], disk_name(nm, w->number[i]));
}

static void note_irqs(TipmeLanes *lanes, const struct tipme_waits *w, const struct tipme_names *nm)
{
	for (guint32 i = 0; i < w->count; i++) {
		gpointer key = GUINT_TO_POINTER(w->number[i]);
		const char *name = w->type[i] == TIPME_IRQ &&
						   w->kind[i] == TIPME_IRQ_KIND_HARDIRQ &&
						   !g_hash_table_contains(lanes->irqs, key)
					   ? tipme_names_irq(nm, w->number[i])
					   : NULL;

		if (name)
			g_hash_table_insert(lanes->irqs, key, tipme_lanes_safe(name));
	}
}

/* The frames of a stack are kept once, however many samples have it. */
static guint32 stack_number(TipmeLanes *lanes, const struct tipme_names *nm,
			    const struct tipme_threads *th, guint32 kernel, guint32 user)
{
	gint64 both = (gint64)((guint64)kernel << 32 | user);
	gpointer nr;
	char frames[16384];

	if (g_hash_table_lookup_extended(lanes->stack_of, &both, NULL, &nr))
		return GPOINTER_TO_UINT(nr);
	tipme_names_frames(nm, th, kernel, user, frames, sizeof(frames));
	g_ptr_array_add(lanes->frames, g_utf8_make_valid(frames, -1));
	g_hash_table_insert(lanes->stack_of, g_memdup2(&both, sizeof(both)),
			    GUINT_TO_POINTER(lanes->frames->len - 1));
	return lanes->frames->len - 1;
}

static void add_samples(TipmeLanes *lanes, const struct tipme_events *ev,
			const struct tipme_threads *th, const struct tipme_names *nm)
{
	g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(TipmeSpan));
	guint32 count;
	const guint32 *of = tipme_group(&ev->by_kind, TIPME_SAMPLE, &count);

	for (guint32 k = 0; k < count; k++) {
		guint32 i = of[k];
		TipmeFact fact = { .queued_ns = (gint64)ev->c[i] * 1000,
				   .tid = ev->tid[i],
				   .number = stack_number(lanes, nm, th, ev->a[i], ev->b[i]),
				   .cpu = (guint16)(ev->d[i] & 65535),
				   .type = TIPME_SAMPLE };

		if (!ev->tid[i])
			continue; /* of an idle CPU */
		note_name(lanes, th, ev->tid[i], ev->ts_ns[i]);
		add_span(lanes, spans, fact, (gint64)ev->ts_ns[i], (gint64)ev->ts_ns[i] + 1);
	}
	add_lane(lanes, g_strdup(_("Samples")), spans);
}

/* What a Wayland compositor and its clients tell each other. */
static void add_messages(TipmeLanes *lanes, const struct tipme_events *ev, guint8 type)
{
	guint32 count;
	const guint32 *of = tipme_group(&ev->by_kind, type, &count);

	for (guint32 k = 0; k < count; k++) {
		guint32 server = ev->tid[of[k]], client = ev->a[of[k]];
		gboolean to_client = type == TIPME_WL_DELIVER;
		TipmeMessage message = { (gint64)ev->ts_ns[of[k]], to_client ? server : client,
					 to_client ? client : server };

		g_array_append_val(lanes->messages, message);
	}
}

static int by_time(gconstpointer one, gconstpointer other)
{
	const TipmeMessage *a = one, *b = other;

	return (a->ns > b->ns) - (a->ns < b->ns);
}

int tipme_waits_add(TipmeLanes *lanes, struct tipme_episode *ep, const struct tipme_events *ev,
		    const struct tipme_threads *th, gint64 to_ns)
{
	struct tipme_waits w = { 0 };
	struct tipme_names *nm = NULL;
	int err = tipme_names_load(&nm, ep);

	err = err ? err : tipme_waits_make(&w, ev, (guint64)to_ns);
	if (!err) {
		add_disks(lanes, &w, th, nm);
		add_type(lanes, &w, th, TIPME_LOCK_CONTENTION, 0, g_strdup(_("Locks")));
		note_irqs(lanes, &w, nm);
		add_type(lanes, &w, th, TIPME_IRQ, 0, g_strdup(_("Interrupts")));
		add_samples(lanes, ev, th, nm);
		add_messages(lanes, ev, TIPME_WL_DELIVER);
		add_messages(lanes, ev, TIPME_WL_COMMIT);
		g_array_sort(lanes->messages, by_time);
	}
	tipme_waits_free(&w);
	tipme_names_free(nm);
	return err;
}

/* ---- words ---- */

static const char *op_words(guint8 op)
{
	switch (op) {
	case TIPME_IO_OP_READ: return _("read");
	case TIPME_IO_OP_WRITE: return _("write");
	case TIPME_IO_OP_FLUSH: return _("flush");
	case TIPME_IO_OP_DISCARD: return _("discard");
	default: return _("other request");
	}
}

static const char *lock_words(guint8 kind)
{
	switch (kind) {
	case TIPME_LOCK_KIND_SPIN: return _("spin lock");
	case TIPME_LOCK_KIND_MUTEX: return _("mutex");
	case TIPME_LOCK_KIND_RWSEM_READ: return _("semaphore, to read");
	case TIPME_LOCK_KIND_RWSEM_WRITE: return _("semaphore, to write");
	case TIPME_LOCK_KIND_RT_MUTEX: return _("real-time lock");
	case TIPME_LOCK_KIND_FILE: return _("lock of a file");
	default: return _("lock");
	}
}

static const char *name_of(const TipmeLanes *lanes, guint32 tid)
{
	const char *name = g_hash_table_lookup(lanes->names, GUINT_TO_POINTER(tid));

	return name ? name : "?";
}

static char *irq_words(const TipmeLanes *lanes, const TipmeFact *fact)
{
	const char *name = g_hash_table_lookup(lanes->irqs, GUINT_TO_POINTER(fact->number));

	switch (fact->kind) {
	case TIPME_IRQ_KIND_HARDIRQ:
		return name ? g_strdup_printf(_("interrupt of %s"), name)
			    : g_strdup_printf(_("interrupt of line %u"), fact->number);
	case TIPME_IRQ_KIND_SOFTIRQ: return g_strdup_printf(_("softirq %u"), fact->number);
	case TIPME_IRQ_KIND_TIMER: return g_strdup(_("interrupt of the timer"));
	case TIPME_IRQ_KIND_NMI: return g_strdup(_("interrupt that cannot be masked"));
	default: return g_strdup(_("interrupt from another CPU"));
	}
}

/* What it was and for whom, without its length. */
static char *what_words(const TipmeLanes *lanes, const TipmeFact *fact)
{
	const char *who = name_of(lanes, fact->tid);
	g_autofree char *what = NULL;

	switch (fact->type) {
	case TIPME_IO:
		return fact->tid ? g_strdup_printf(_("%s for %s"), op_words(fact->kind), who)
				 : g_strdup(op_words(fact->kind));
	case TIPME_LOCK_CONTENTION:
		return fact->number ? g_strdup_printf(_("%s waits for a %s that %s has"), who,
						      lock_words(fact->kind),
						      name_of(lanes, fact->number))
				    : g_strdup_printf(_("%s waits for a %s"), who,
						      lock_words(fact->kind));
	case TIPME_IRQ:
		what = irq_words(lanes, fact);
		return g_strdup_printf(_("%s on CPU %u, stops %s"), what, fact->cpu,
				       fact->tid ? who : _("nobody"));
	default: return g_strdup_printf(_("sample of %s on CPU %u"), who, fact->cpu);
	}
}

char *tipme_waits_words(const TipmeLanes *lanes, const TipmeSpan *span)
{
	const TipmeFact *fact = &g_array_index(lanes->facts, TipmeFact, span->who);
	g_autofree char *what = what_words(lanes, fact), *took = tipme_text_ms(fact->ns);
	g_autofree char *queued = tipme_text_ms(fact->queued_ns);

	if (fact->type == TIPME_SAMPLE)
		return g_steal_pointer(&what);
	if (fact->open)
		return g_strdup_printf(_("%s: not over when the episode ends"), what);
	if (fact->type == TIPME_IO && fact->queued_ns > 0)
		return g_strdup_printf(_("%s: %s, after %s in the queue"), what, took, queued);
	return g_strdup_printf(_("%s: %s"), what, took);
}
