/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of words that verbs print as JSON: a comparison, a week, a measurement, the recorder. */
#ifndef TIPME_GUI_FACTS_H
#define TIPME_GUI_FACTS_H

#include <glib.h>
#include <json-c/json.h>

/* Two durations that are drawn on one scale. */
typedef struct {
	gint64 a_ns, b_ns;
} TipmePair;

typedef struct {
	char *heading; /* or "" */
	gboolean has_titles; /* the first row names the columns; all but the last are numbers */
	GPtrArray *rows; /* char **: cells, at most five, NULL behind the last */
	GArray *pairs; /* TipmePair of each row behind the titles, the last one's the whole; or NULL
			*/
} TipmeFacts;

/* Tables of `tipme compare A B --json`; elements are TipmeFacts. Never NULL. */
GPtrArray *tipme_facts_of_comparison(struct json_object *comparison);

/* Tables of `tipme status --json`; one that says so where no recorder runs. Never NULL. */
GPtrArray *tipme_facts_of_status(struct json_object *status);

/* Tables of `tipme check EPISODE --json`. Never NULL. */
GPtrArray *tipme_facts_of_check(struct json_object *check);

/* Tables of `tipme list --week --json`. Never NULL. */
GPtrArray *tipme_facts_of_week(struct json_object *week);

/* Tables of `tipme latency report --json` or `tipme profile report --json`. Never NULL. */
GPtrArray *tipme_facts_of_measurement(struct json_object *measurement);

/* As lines, cells parted by tabs, each table's heading before it. Free it. */
char *tipme_facts_dump(GPtrArray *tables);

#endif
