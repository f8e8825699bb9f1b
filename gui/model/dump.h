/* SPDX-License-Identifier: GPL-2.0-only */
/* What the window would show, as text: for tests, and for machines without a display. */
#ifndef TIPME_GUI_DUMP_H
#define TIPME_GUI_DUMP_H

#include <glib.h>

#include "answer.h"
#include "episodes.h"
#include "lanes.h"

/*
 * One line for each row: id, response in ns or "-", application, verdict; parted by tabs. Free it.
 */
char *tipme_dump_rows(GPtrArray *rows);

/* Of which range, in ms from the interval's beginning; NAN: where the interval begins or ends. */
typedef struct {
	double from_ms, to_ms;
	const char *lane; /* the name of one, or its beginning: all that it did; NULL: none */
} TipmeDumped;

/*
 * Lines of words parted by tabs: `sentence`, `interval` (from, to), `part` (kind, who, ns), `stage`
 * (name, ns from the interval's beginning), `path` (thread, from, to), `sum` (lane, then ns
 * running, runnable, blocked within the range), `candidate`, `known`, `said`, `problem`; of the
 * lane that is asked for `span` (lane, from, to, what) and `function` (what samples say). Either
 * of the two may be NULL.
 */
char *tipme_dump_episode(const TipmeAnswer *answer, const TipmeLanes *lanes,
			 const TipmeDumped *dumped);

/*
 * The row that EPISODE means: an id, the beginning of just one, or `last`. It belongs to the list.
 * NULL: none or several; `found`: how many.
 */
TipmeRow *tipme_rows_find(GPtrArray *rows, const char *episode, guint *found);

/* Why it is no row, in words. Free it. */
char *tipme_rows_why_not(const char *episode, guint found);

#endif
