/* SPDX-License-Identifier: GPL-2.0-only */
/* The episodes of the library, as `tipme list --json` prints them. */
#ifndef TIPME_GUI_EPISODES_H
#define TIPME_GUI_EPISODES_H

#include <glib-object.h>
#include <json-c/json.h>

#define TIPME_TYPE_ROW (tipme_row_get_type())
G_DECLARE_FINAL_TYPE(TipmeRow, tipme_row, TIPME, ROW, GObject)

struct _TipmeRow {
	GObject parent_instance;
	char *id, *path; /* path: its folder */
	char *time; /* as recorded: UTC, ISO 8601 */
	char *app; /* who answered; "" where that is not known yet */
	char *culprit; /* whom the verdict names, with its process; "" where nobody */
	char *kind; /* of the verdict; "" without one */
	char *verdict; /* in plain words, never empty */
	char *note; /* the user's words, or "" */
	char *tags; /* a blank between two, or "" */
	char *problem; /* why it cannot be read, or "" */
	gboolean pinned; /* never removed to make room */
	gint64 response_ns; /* G_MININT64: not known */
};

/* Rows of such an object, the newest first; never NULL. Elements are TipmeRow. */
GPtrArray *tipme_rows_from_json(struct json_object *list);

/* Do two rows of one id say the same? */
gboolean tipme_row_same(TipmeRow *a, TipmeRow *b);

/* Does the list say something else when this file of the library has changed? */
gboolean tipme_rows_change(const char *name);

/* The folder of the library that `tipme list --json` names, or "". It belongs to the object. */
const char *tipme_rows_folder(struct json_object *list);

/*
 * Does a row have all words of a search? A word is looked for in the id, time, application, verdict
 * note and tags, without regard to case; `is:pinned` wants a
 * pinned one; `app:NAME` in the application, `kind:KIND` in the kind, `tag:WORD` in the tags,
 * `after:DATE` and `before:DATE` compare days (YYYY-MM-DD, today, yesterday; local time).
 */
gboolean tipme_row_matches(TipmeRow *row, const char *search);

#endif
