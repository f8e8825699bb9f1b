// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading runs in a thread of GTask: it fills a TipmeOpened, which the main thread takes over
 * whole. A newer open() cancels the older one, whose result is then thrown away.
 */
#include "config.h"

#include "session.h"

#include "opened.h"

struct _TipmeSession {
	GObject parent_instance;
	TipmeOpened *opened;
	GCancellable *loading;
	TipmeView view;
	guint lane, span;
	gint64 from_ns, to_ns; /* the range that is measured; equal: none */
	double share; /* of what is being loaded */
	char **pinned; /* names of lanes, never NULL */
	gboolean grouped;
	char *left; /* the episode whose view is restored, or NULL */
	gint64 left_from_ns, left_to_ns;
};

G_DEFINE_FINAL_TYPE(TipmeSession, tipme_session, G_TYPE_OBJECT)

enum { LOADED, LANES_CHANGED, VIEW_CHANGED, SELECTION_CHANGED, PROGRESS, SIGNALS };

static guint signals[SIGNALS];

static void tipme_session_finalize(GObject *object)
{
	TipmeSession *self = TIPME_SESSION(object);

	g_cancellable_cancel(self->loading);
	g_clear_object(&self->loading);
	tipme_opened_free(self->opened);
	g_strfreev(self->pinned);
	g_free(self->left);
	G_OBJECT_CLASS(tipme_session_parent_class)->finalize(object);
}

static void tipme_session_class_init(TipmeSessionClass *klass)
{
	static const char *const names[SIGNALS] = { "loaded", "lanes-changed", "view-changed",
						    "selection-changed", "progress" };

	G_OBJECT_CLASS(klass)->finalize = tipme_session_finalize;
	for (int i = 0; i < SIGNALS; i++)
		signals[i] = g_signal_new(names[i], TIPME_TYPE_SESSION, G_SIGNAL_RUN_LAST, 0, NULL,
					  NULL, NULL, G_TYPE_NONE, 0);
}

static void tipme_session_init(TipmeSession *self)
{
	self->span = G_MAXUINT;
	self->pinned = g_new0(char *, 1);
	tipme_view_init(&self->view, 0, G_GINT64_CONSTANT(1000000000));
}

TipmeSession *tipme_session_new(void)
{
	return g_object_new(TIPME_TYPE_SESSION, NULL);
}

/* A step of a loading, on its way from its thread to the main one. */
typedef struct {
	TipmeSession *session;
	GCancellable *loading;
	double share;
} Step;

static void step_free(gpointer data)
{
	Step *step = data;

	g_object_unref(step->session);
	g_object_unref(step->loading);
	g_free(step);
}

static gboolean on_step(gpointer data)
{
	const Step *step = data;

	if (step->session->loading == step->loading) {
		step->session->share = step->share;
		g_signal_emit(step->session, signals[PROGRESS], 0);
	}
	return G_SOURCE_REMOVE;
}

/* Called in the loading's thread. */
static void tell(double share, gpointer data)
{
	GTask *task = data;
	Step *step = g_new(Step, 1);

	*step = (Step){ g_object_ref(g_task_get_source_object(task)),
			g_object_ref(g_task_get_cancellable(task)), share };
	g_idle_add_full(G_PRIORITY_DEFAULT, on_step, step, step_free);
}

/* How much of the verdict's path a thread has. */
static gint64 on_path(const TipmeAnswer *answer, guint32 tid)
{
	gint64 ns = 0;

	for (guint i = 0; answer && i < answer->path->len; i++) {
		const TipmeStretch *stretch = g_ptr_array_index(answer->path, i);

		if (stretch->tid == tid)
			ns += stretch->to_ns - stretch->from_ns;
	}
	return ns;
}

/* The thread that the interval was spent on, else the first of a thread or CPU. */
static guint first_lane(const TipmeLanes *lanes, const TipmeAnswer *answer)
{
	gint64 most = -1;
	guint best = 0;

	for (guint i = 0; lanes && i < lanes->lanes->len; i++) {
		const TipmeLane *lane = g_ptr_array_index(lanes->lanes, i);
		gint64 ns = lane->is_cpu ? 0 : on_path(answer, lane->number);

		if (lane->is_events || ns <= most)
			continue;
		most = ns;
		best = i;
	}
	return best;
}

static void load_done(GObject *source, GAsyncResult *result, gpointer data)
{
	TipmeSession *self = TIPME_SESSION(source);
	TipmeOpened *opened = g_task_propagate_pointer(G_TASK(result), NULL);

	if (!opened)
		return;
	g_clear_object(&self->loading);
	g_signal_emit(self, signals[PROGRESS], 0);
	if (opened->lanes)
		tipme_lanes_arrange(opened->lanes, (const char *const *)self->pinned,
				    self->grouped);
	gboolean again = !opened->answer;

	if (again)
		opened->answer = g_steal_pointer(&self->opened->answer);
	tipme_opened_free(self->opened);
	self->opened = opened;
	self->lane = first_lane(opened->lanes, opened->answer);
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
	if (!g_strcmp0(self->left, opened->episode))
		tipme_view_set(&self->view, self->left_from_ns, self->left_to_ns);
	g_clear_pointer(&self->left, g_free);
	g_signal_emit(self, signals[LOADED], 0);
	g_signal_emit(self, signals[SELECTION_CHANGED], 0);
}

/* It takes `asked`. */
static void start(TipmeSession *self, TipmeOpened *asked)
{
	g_cancellable_cancel(self->loading);
	g_clear_object(&self->loading);
	self->loading = g_cancellable_new();
	g_autoptr(GTask) task = g_task_new(self, self->loading, load_done, NULL);

	asked->tell = tell;
	g_task_set_task_data(task, asked, tipme_opened_free);
	self->share = 0;
	g_task_run_in_thread(task, tipme_opened_load);
	g_signal_emit(self, signals[PROGRESS], 0);
}

void tipme_session_cancel(TipmeSession *self)
{
	if (!self->loading)
		return;
	g_cancellable_cancel(self->loading);
	g_clear_object(&self->loading);
	g_signal_emit(self, signals[PROGRESS], 0);
}

double tipme_session_share(TipmeSession *self)
{
	return self->share;
}

void tipme_session_open(TipmeSession *self, const char *episode, const char *folder)
{
	TipmeOpened *asked = g_new0(TipmeOpened, 1);

	asked->episode = g_strdup(episode);
	asked->folder = g_strdup(folder);
	start(self, asked);
}

void tipme_session_more(TipmeSession *self, const char *words)
{
	TipmeOpened *asked;

	if (!self->opened || self->loading)
		return;
	asked = g_new0(TipmeOpened, 1);
	asked->episode = g_strdup(self->opened->episode);
	asked->folder = g_strdup(self->opened->folder);
	asked->more = g_strdup(words);
	asked->threads = g_array_copy(self->opened->answer->threads);
	asked->about_ns = self->opened->answer->from_ns;
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

/* The first moment after a sleep: its thread has just been woken. */
static gboolean is_woken(const TipmeLane *lane, guint span)
{
	return span && lane->spans[span - 1].state == TIPME_LANE_BLOCKED &&
	       lane->spans[span].state != TIPME_LANE_BLOCKED &&
	       lane->spans[span - 1].to_ns == lane->spans[span].from_ns;
}

void tipme_session_step_wake(TipmeSession *self, int by)
{
	const TipmeLane *lane = selected(self);
	gint64 span;

	if (!lane || lane->is_cpu || lane->is_events)
		return;
	span = self->span == G_MAXUINT ? (gint64)tipme_lane_at(lane, self->view.from_ns) - (by > 0)
				       : (gint64)self->span;
	do
		span += by;
	while (span >= 0 && span < (gint64)lane->count && !is_woken(lane, (guint)span));
	if (span < 0 || span >= (gint64)lane->count)
		return;
	self->span = (guint)span;
	tipme_session_step_span(self, 0);
	g_signal_emit(self, signals[SELECTION_CHANGED], 0);
}

/* The selection stays with its lane. */
static void arrange(TipmeSession *self)
{
	const TipmeLane *lane = selected(self);
	TipmeLanes *lanes = self->opened ? self->opened->lanes : NULL;
	guint nr = 0;

	if (!lanes)
		return;
	tipme_lanes_arrange(lanes, (const char *const *)self->pinned, self->grouped);
	if (lane && g_ptr_array_find(lanes->lanes, lane, &nr))
		self->lane = nr;
	g_signal_emit(self, signals[LANES_CHANGED], 0);
	g_signal_emit(self, signals[SELECTION_CHANGED], 0);
}

void tipme_session_arrange(TipmeSession *self, const char *const *pinned, gboolean grouped)
{
	g_strfreev(self->pinned);
	self->pinned = g_strdupv((char **)pinned);
	self->grouped = grouped;
	arrange(self);
}

void tipme_session_group(TipmeSession *self)
{
	self->grouped = !self->grouped;
	arrange(self);
}

void tipme_session_pin(TipmeSession *self)
{
	const TipmeLane *lane = selected(self);
	g_autofree char *name = lane ? tipme_lane_pin_name(lane) : NULL;
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	gboolean there = FALSE;

	if (!lane)
		return;
	for (char **one = self->pinned; *one; one++) {
		if (g_str_equal(*one, name))
			there = TRUE;
		else
			g_strv_builder_add(names, *one);
	}
	if (!there)
		g_strv_builder_add(names, name);
	g_strfreev(self->pinned);
	self->pinned = g_strv_builder_end(names);
	arrange(self);
}

const char *const *tipme_session_pinned(TipmeSession *self)
{
	return (const char *const *)self->pinned;
}

gboolean tipme_session_is_grouped(TipmeSession *self)
{
	return self->grouped;
}

void tipme_session_restore(TipmeSession *self, const char *episode, gint64 from_ns, gint64 to_ns)
{
	g_free(self->left);
	self->left = to_ns > from_ns ? g_strdup(episode) : NULL;
	self->left_from_ns = from_ns;
	self->left_to_ns = to_ns;
}

const char *tipme_session_episode(TipmeSession *self)
{
	return self->opened ? self->opened->episode : NULL;
}
