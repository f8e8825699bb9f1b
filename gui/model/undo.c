// SPDX-License-Identifier: GPL-2.0-only
/* A stack of verbs. A removal is a verb that has not run yet: to take it back is to forget it. */
#include "config.h"

#include "undo.h"

typedef struct {
	TipmeUndo *undo;
	char **args;
	char **ids; /* of a removal that waits, else NULL */
	guint waits; /* source, or 0 */
} Step;

struct _TipmeUndo {
	TipmeUndoDoes does;
	GPtrArray *steps; /* Step, the newest last */
};

static void step_free(gpointer data)
{
	Step *step = data;

	if (step->waits)
		g_source_remove(step->waits);
	g_strfreev(step->args);
	g_strfreev(step->ids);
	g_free(step);
}

TipmeUndo *tipme_undo_new(const TipmeUndoDoes *does)
{
	TipmeUndo *undo = g_new0(TipmeUndo, 1);

	undo->does = *does;
	undo->steps = g_ptr_array_new_with_free_func(step_free);
	return undo;
}

static void run(TipmeUndo *undo, const Step *step)
{
	undo->does.run((const char *const *)step->args, undo->does.data);
}

void tipme_undo_free(TipmeUndo *undo)
{
	if (!undo)
		return;
	for (guint i = 0; i < undo->steps->len; i++) {
		const Step *step = g_ptr_array_index(undo->steps, i);

		if (step->ids)
			undo->does.last((const char *const *)step->args, undo->does.data);
	}
	g_ptr_array_unref(undo->steps);
	g_free(undo);
}

static void changed(const TipmeUndo *undo)
{
	if (undo->does.changed)
		undo->does.changed(undo->does.data);
}

gboolean tipme_undo_any(const TipmeUndo *undo)
{
	return undo->steps->len != 0;
}

static Step *push(TipmeUndo *undo, const char *const *args)
{
	Step *step = g_new0(Step, 1);

	step->undo = undo;
	step->args = g_strdupv((char **)args);
	g_ptr_array_add(undo->steps, step);
	changed(undo);
	return step;
}

void tipme_undo_push(TipmeUndo *undo, const char *const *args)
{
	push(undo, args);
}

static gboolean on_waited(gpointer data)
{
	Step *step = data;
	TipmeUndo *undo = step->undo;

	step->waits = 0;
	run(undo, step);
	undo->does.hide((const char *const *)step->ids, FALSE,
			undo->does.data); /* the list knows */
	g_ptr_array_remove(undo->steps, step);
	changed(undo);
	return G_SOURCE_REMOVE;
}

void tipme_undo_later(TipmeUndo *undo, const char *const *args, const char *const *ids)
{
	Step *step = push(undo, args);

	step->ids = g_strdupv((char **)ids);
	step->waits = g_timeout_add(undo->does.wait_ms, on_waited, step);
	undo->does.hide(ids, TRUE, undo->does.data);
}

gboolean tipme_undo_last(TipmeUndo *undo)
{
	Step *step;

	if (!undo->steps->len)
		return FALSE;
	step = g_ptr_array_index(undo->steps, undo->steps->len - 1);
	if (step->ids)
		undo->does.hide((const char *const *)step->ids, FALSE, undo->does.data);
	else
		run(undo, step);
	g_ptr_array_remove(undo->steps, step);
	changed(undo);
	return TRUE;
}
