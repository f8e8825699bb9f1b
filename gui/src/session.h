/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a window shows: one episode, its visible time, its selection. Widgets talk to this, not to
 * each other. Signals, all in the main thread: "loaded" (answer, lanes or both are there, or a
 * problem is), "lanes-changed", "view-changed" (the range, too), "selection-changed", "progress"
 * (loading begins, goes on or ends).
 */
#ifndef TIPME_GUI_SESSION_H
#define TIPME_GUI_SESSION_H

#include <gio/gio.h>

#include "answer.h"
#include "lanes.h"
#include "view.h"

#define TIPME_TYPE_SESSION (tipme_session_get_type())
G_DECLARE_FINAL_TYPE(TipmeSession, tipme_session, TIPME, SESSION, GObject)

TipmeSession *tipme_session_new(void);

/* Opens an episode in a thread of its own; what was being opened is cancelled. */
void tipme_session_open(TipmeSession *self, const char *episode, const char *folder);

/* Adds lanes of threads whose name or number is one of these words, in a thread of its own. */
void tipme_session_more(TipmeSession *self, const char *words);

/* The range that is measured; equal times: none. */
void tipme_session_set_range(TipmeSession *self, gint64 from_ns, gint64 to_ns);

/* That range, or FALSE and what is visible. */
gboolean tipme_session_range(TipmeSession *self, gint64 *from_ns, gint64 *to_ns);

/* NULL until it is there. They belong to the session, up to the next open(). */
const TipmeAnswer *tipme_session_answer(TipmeSession *self);
const TipmeLanes *tipme_session_lanes(TipmeSession *self);

/* Why there are no lanes, or NULL. */
const char *tipme_session_problem(TipmeSession *self);
gboolean tipme_session_is_loading(TipmeSession *self);

/* How much of what is loaded is there, 0 to 1, about. */
double tipme_session_share(TipmeSession *self);

/* What was open before stays open. */
void tipme_session_cancel(TipmeSession *self);

/* What was opened, as open() was told; or NULL. */
const char *tipme_session_episode(TipmeSession *self);

/* Change it, then call tipme_session_view_changed(). */
TipmeView *tipme_session_view(TipmeSession *self);
void tipme_session_view_changed(TipmeSession *self);

/* Shows the problem interval with a margin, or all where there is none. */
void tipme_session_fit(TipmeSession *self);

/* A stretch of a thread with a margin, selected in its lane. */
void tipme_session_show(TipmeSession *self, guint32 tid, gint64 from_ns, gint64 to_ns);

/* Lane and span; span G_MAXUINT: none. */
void tipme_session_select(TipmeSession *self, guint lane, guint span);
guint tipme_session_selected_lane(TipmeSession *self);
guint tipme_session_selected_span(TipmeSession *self);

/* The selected span, or NULL. */
const TipmeSpan *tipme_session_span(TipmeSession *self);

/* Selects the next (1) or previous (-1) span of the selected lane, in sight; or another lane. */
void tipme_session_step_span(TipmeSession *self, int by);
void tipme_session_step_lane(TipmeSession *self, int by);

/* Selects where the selected thread was woken next (1), or last (-1). */
void tipme_session_step_wake(TipmeSession *self, int by);

/* Order of the lanes: names of those that are pinned, NULL behind the last; threads by process. */
void tipme_session_arrange(TipmeSession *self, const char *const *pinned, gboolean grouped);
const char *const *tipme_session_pinned(TipmeSession *self);
gboolean tipme_session_is_grouped(TipmeSession *self);

/* Pins the selected lane, or lets it go; groups, or not. */
void tipme_session_pin(TipmeSession *self);
void tipme_session_group(TipmeSession *self);

/* The stretch that open() of that episode shows at first. */
void tipme_session_restore(TipmeSession *self, const char *episode, gint64 from_ns, gint64 to_ns);

#endif
