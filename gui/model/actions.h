/* SPDX-License-Identifier: GPL-2.0-only */
/* What the window can do. Its GActions are made from this table, so each has a verb. */
#ifndef TIPME_GUI_ACTIONS_H
#define TIPME_GUI_ACTIONS_H

#include <glib.h>

typedef struct {
	const char *name; /* of the GAction "win.NAME" */
	const char *words; /* what a button says */
	const char *verb; /* of the command line, with its options */
	const char *keys; /* as gtk_accelerator_parse() reads them, or NULL */
	gboolean in_list; /* the keys work only while the list has the focus */
} TipmeAction;

/* Ends with an element whose name is NULL. */
extern const TipmeAction tipme_actions[];

/* NULL: there is none of that name. */
const TipmeAction *tipme_action_find(const char *name);

/* What can be done on the timeline's canvas, by keys that are letters elsewhere. */
typedef struct {
	const char *name;
	const char *verb; /* that says or draws the same, with its options */
	const char
		*keys; /* as gtk_accelerator_parse() reads each, a blank between two; NULL: none */
} TipmeTimelineDeed;

/* Ends with an element whose name is NULL. */
extern const TipmeTimelineDeed tipme_timeline_deeds[];

/* A line for each of either kind: name, verb, keys or "-"; parted by tabs. Free it. */
char *tipme_actions_dump(void);

#endif
