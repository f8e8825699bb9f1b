// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading runs in a thread of GTask: it fills an Opened, which the main thread takes over whole.
 * A newer open() cancels the older one, whose result is then thrown away.
 */
#include "config.h"

#include "session.h"

#include "command.h"

typedef struct {
	char *episode, *folder;
	char *more; /* lanes that were asked for by name; NULL: none */
	GArray *threads; /* of the path, where the answer is there already; else NULL */
	TipmeAnswer *answer;
	TipmeLanes *lanes;
	char *problem;
} Opened;

struct _TipmeSession {
	GObject parent_instance;
	Opened *opened;
	GCancellable *loading;
	TipmeView view;
	guint lane, span;
	gint64 from_ns, to_ns; /* the range that is measured; equal: none */
};

G_DEFINE_FINAL_TYPE(TipmeSession, tipme_session, G_TYPE_OBJECT)

enum { LOADED, LANES_CHANGED, VIEW_CHANGED, SELECTION_CHANGED, SIGNALS };
static guint signals[SIGNALS];

static void opened_free(gpointer data)
{
	Opened *opened = data;

	if (!opened)
		return;
	g_free(opened->episode);
	g_free(opened->folder);
	g_free(opened->problem);
	g_free(opened->more);
	g_clear_pointer(&opened->threads, g_array_unref);
	tipme_answer_free(opened->answer);
	tipme_lanes_free(opened->lanes);
	g_free(opened);
}

static void tipme_session_finalize(GObject *object)
{
	TipmeSession *self = TIPME_SESSION(object);

	g_cancellable_cancel(self->loading);
	g_clear_object(&self->loading);
	opened_free(self->opened);
	G_OBJECT_CLASS(tipme_session_parent_class)->finalize(object);
}

static void tipme_session_class_init(TipmeSessionClass *klass)
{
	static const char *const names[SIGNALS] = { "loaded", "lanes-changed", "view-changed",
						    "selection-changed" };

	G_OBJECT_CLASS(klass)->finalize = tipme_session_finalize;
	for (int i = 0; i < SIGNALS; i++)
		signals[i] = g_signal_new(names[i], TIPME_TYPE_SESSION, G_SIGNAL_RUN_LAST, 0, NULL,
					  NULL, NULL, G_TYPE_NONE, 0);
}

static void tipme_session_init(TipmeSession *self)
{
	self->span = G_MAXUINT;
	tipme_view_init(&self->view, 0, G_GINT64_CONSTANT(1000000000));
}

TipmeSession *tipme_session_new(void)
{
	return g_object_new(TIPME_TYPE_SESSION, NULL);
}

static void diagnose(Opened *opened, GCancellable *cancellable)
{
	const char *args[] = { "diagnose", "--json", opened->episode, NULL };
	g_autoptr(GError) error = NULL;
	struct json_object *diagnosis = tipme_command_json(args, cancellable, &error);

	opened->answer =
		diagnosis ? tipme_answer_from_json(diagnosis) : tipme_answer_failed(error->message);
	json_object_put(diagnosis);
}

static void load(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	const Opened *asked = data;
	g_autoptr(GError) error = NULL;
	Opened *opened = g_new0(Opened, 1);

	opened->episode = g_strdup(asked->episode);
	opened->folder = g_strdup(asked->folder);
	opened->more = g_strdup(asked->more);
	if (!asked->threads)
		diagnose(opened, cancellable);
	const GArray *threads = asked->threads ? asked->threads : opened->answer->threads;

	opened->lanes = tipme_lanes_load(opened->folder, (const guint32 *)(void *)threads->data,
					 threads->len, asked->more, cancellable, &error);
	if (error)
		opened->problem = g_strdup(error->message);
	g_task_return_pointer(task, opened, opened_free);
}

/* Of a thread or a CPU: those above are of events. */
static guint first_lane(const TipmeLanes *lanes)
{
	for (guint i = 0; lanes && i < lanes->lanes->len; i++)
		if (!((const TipmeLane *)g_ptr_array_index(lanes->lanes, i))->is_events)
			return i;
	return 0;
}

static void load_done(GObject *source, GAsyncResult *result, gpointer data)
{
	TipmeSession *self = TIPME_SESSION(source);
	Opened *opened = g_task_propagate_pointer(G_TASK(result), NULL);

	if (!opened)
		return;
	g_clear_object(&self->loading);
	gboolean again = !opened->answer;

	if (again)
		opened->answer = g_steal_pointer(&self->opened->answer);
	opened_free(self->opened);
	self->opened = opened;
	self->lane = first_lane(opened->lanes);
	if (again) {
		self->span = G_MAXUINT;
		g_signal_emit(self, signals[LANES_CHANGED], 0);
		g_signal_emit(self, signals[SELECTION_CHANGED], 0);
		return;
	}
	self->from_ns = self->to_ns = 0;
	if (opened->lanes)
		tipme_view_init(&self->view, opened->lanes->first_ns, opened->lanes->last_ns);
	self->span = G_MAXUINT;
	tipme_session_fit(self);
	g_signal_emit(self, signals[LOADED], 0);
	g_signal_emit(self, signals[SELECTION_CHANGED], 0);
}

/* It takes `asked`. */
static void start(TipmeSession *self, Opened *asked)
{
	g_cancellable_cancel(self->loading);
	g_clear_object(&self->loading);
	self->loading = g_cancellable_new();
	g_autoptr(GTask) task = g_task_new(self, self->loading, load_done, NULL);

	g_task_set_task_data(task, asked, opened_free);
	g_task_run_in_thread(task, load);
}

void tipme_session_open(TipmeSession *self, const char *episode, const char *folder)
{
	Opened *asked = g_new0(Opened, 1);

	asked->episode = g_strdup(episode);
	asked->folder = g_strdup(folder);
	start(self, asked);
}

void tipme_session_more(TipmeSession *self, const char *words)
{
	Opened *asked;

	if (!self->opened || self->loading)
		return;
	asked = g_new0(Opened, 1);
	asked->episode = g_strdup(self->opened->episode);
	asked->folder = g_strdup(self->opened->folder);
	asked->more = g_strdup(words);
	asked->threads = g_array_copy(self->opened->answer->threads);
	start(self, asked);
}

void tipme_session_set_range(TipmeSession *self, gint64 from_ns, gint64 to_ns)
{
	self->from_ns = MIN(from_ns, to_ns);
	self->to_ns = MAX(from_ns, to_ns);
	tipme_session_view_changed(self);
}

gboolean tipme_session_range(TipmeSession *self, gint64 *from_ns, gint64 *to_ns)
{
	gboolean chosen = self->to_ns > self->from_ns;

	*from_ns = chosen ? self->from_ns : self->view.from_ns;
	*to_ns = chosen ? self->to_ns : self->view.to_ns;
	return chosen;
}

const TipmeAnswer *tipme_session_answer(TipmeSession *self)
{
	return self->opened ? self->opened->answer : NULL;
}

const TipmeLanes *tipme_session_lanes(TipmeSession *self)
{
	return self->opened ? self->opened->lanes : NULL;
}

const char *tipme_session_problem(TipmeSession *self)
{
	return self->opened ? self->opened->problem : NULL;
}

gboolean tipme_session_is_loading(TipmeSession *self)
{
	return self->loading != NULL;
}

TipmeView *tipme_session_view(TipmeSession *self)
{
	return &self->view;
}

void tipme_session_view_changed(TipmeSession *self)
{
	g_signal_emit(self, signals[VIEW_CHANGED], 0);
}

void tipme_session_fit(TipmeSession *self)
{
	const TipmeAnswer *answer = tipme_session_answer(self);
	gint64 margin;

	if (!answer || !answer->has_interval) {
		tipme_view_set(&self->view, self->view.first_ns, self->view.last_ns);
	} else {
		margin = (answer->to_ns - answer->from_ns) / 5;
		tipme_view_set(&self->view, answer->from_ns - margin, answer->to_ns + margin);
	}
	tipme_session_view_changed(self);
}

void tipme_session_select(TipmeSession *self, guint lane, guint span)
{
	if (self->lane == lane && self->span == span)
		return;
	self->lane = lane;
	self->span = span;
	g_signal_emit(self, signals[SELECTION_CHANGED], 0);
}

void tipme_session_show(TipmeSession *self, guint32 tid, gint64 from_ns, gint64 to_ns)
{
	const TipmeLanes *lanes = tipme_session_lanes(self);
	gint64 margin = MAX(to_ns - from_ns, 20000);

	tipme_view_set(&self->view, from_ns - margin, to_ns + margin);
	for (guint i = 0; lanes && i < lanes->lanes->len; i++) {
		const TipmeLane *lane = g_ptr_array_index(lanes->lanes, i);
		guint span = tipme_lane_at(lane, from_ns);

		if (!lane->is_cpu && !lane->is_events && lane->number == tid)
			tipme_session_select(self, i, span < lane->count ? span : G_MAXUINT);
	}
	tipme_session_view_changed(self);
}

guint tipme_session_selected_lane(TipmeSession *self)
{
	return self->lane;
}

guint tipme_session_selected_span(TipmeSession *self)
{
	return self->span;
}

static const TipmeLane *selected(TipmeSession *self)
{
	const TipmeLanes *lanes = tipme_session_lanes(self);

	return lanes && self->lane < lanes->lanes->len ? g_ptr_array_index(lanes->lanes, self->lane)
						       : NULL;
}

const TipmeSpan *tipme_session_span(TipmeSession *self)
{
	const TipmeLane *lane = selected(self);

	return lane && self->span < lane->count ? &lane->spans[self->span] : NULL;
}

void tipme_session_step_span(TipmeSession *self, int by)
{
	const TipmeLane *lane = selected(self);
	gint64 length = self->view.to_ns - self->view.from_ns, from;
	guint span = self->span;

	if (!lane || !lane->count)
		return;
	if (span == G_MAXUINT)
		span = MIN(tipme_lane_at(lane, self->view.from_ns), lane->count - 1);
	else
		span = (guint)CLAMP((gint64)span + by, 0, (gint64)lane->count - 1);
	from = lane->spans[span].from_ns;
	if (from < self->view.from_ns || from >= self->view.to_ns)
		tipme_view_set(&self->view, from - length / 2, from - length / 2 + length);
	tipme_session_select(self, self->lane, span);
	tipme_session_view_changed(self);
}

void tipme_session_step_lane(TipmeSession *self, int by)
{
	const TipmeLanes *lanes = tipme_session_lanes(self);
	gint64 nr = (gint64)self->lane + by;

	if (lanes && lanes->lanes->len)
		tipme_session_select(self, (guint)CLAMP(nr, 0, (gint64)lanes->lanes->len - 1),
				     G_MAXUINT);
}
