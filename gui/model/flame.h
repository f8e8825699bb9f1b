/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples of a stretch of time as a tree of functions: how long each was on a CPU. */
#ifndef TIPME_GUI_FLAME_H
#define TIPME_GUI_FLAME_H

#include "lanes.h"

typedef struct TipmeFlame TipmeFlame;
struct TipmeFlame {
	char *function, *module; /* of the root: "" */
	gint64 ns; /* with those below; samples stand for so long */
	guint samples;
	GPtrArray *calls; /* TipmeFlame, the longest first */
};

/*
 * Of the samples of [from, to): those of the lane's thread or CPU, or of all where the lane is
 * neither or NULL. Never NULL; without samples the root has none.
 */
TipmeFlame *tipme_flame_new(const TipmeLanes *lanes, const TipmeLane *lane, gint64 from_ns,
			    gint64 to_ns);

/* Accepts NULL. */
void tipme_flame_free(TipmeFlame *flame);

/* How many calls deep. */
guint tipme_flame_depth(const TipmeFlame *flame);

/* The functions that were innermost longest, a line each, at most `most`. Free it. */
char *tipme_flame_words(const TipmeFlame *flame, guint most);

#endif
