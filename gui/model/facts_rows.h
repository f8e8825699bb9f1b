/* SPDX-License-Identifier: GPL-2.0-only */
/* How tables of words are made, row by row. */
#ifndef TIPME_GUI_FACTS_ROWS_H
#define TIPME_GUI_FACTS_ROWS_H

#include "facts.h"

/* One more table, empty. */
TipmeFacts *tipme_facts_table(GPtrArray *tables, const char *heading, gboolean has_titles);

/* One more row: its cells, at most five, and NULL. */
void tipme_facts_row(TipmeFacts *facts, const char *cell, ...) G_GNUC_NULL_TERMINATED;

/* A row of durations, then their name; durations G_MININT64: not known. */
void tipme_facts_durations(TipmeFacts *facts, gint64 a, gint64 b, gint64 c, const char *name);

/* A whole number, 0 if it is missing. Free it. */
char *tipme_text_of_count(struct json_object *object, const char *name);

/* All tables of `tipme profile report --json`; none where it is another verb's. */
void tipme_facts_add_profile(GPtrArray *tables, struct json_object *profile);

#endif
