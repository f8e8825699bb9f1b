/* SPDX-License-Identifier: GPL-2.0-only */
/* What `tipme diagnose --json` says of an episode, ready to be shown. Nothing is computed here. */
#ifndef TIPME_GUI_ANSWER_H
#define TIPME_GUI_ANSWER_H

#include <glib.h>
#include <json-c/json.h>

/* A part of the sum: all that one process is charged with, of one kind. */
typedef struct {
	char *kind, *words; /* code; what the time went to */
	char *who; /* "sha256sum (17975)", or "" */
	guint32 pid; /* 0: none */
	gint64 ns;
} TipmePart;

#define TIPME_NO_PART G_MAXUINT

/* A stage from the finger to the screen. */
typedef struct {
	char *name, *certainty;
	gint64 at_ns; /* from the beginning of the interval */
} TipmeStage;

/* A stretch of the wake-up chain. */
typedef struct {
	gint64 from_ns, to_ns; /* CLOCK_MONOTONIC */
	guint32 tid;
	char *thread, *state, *reason, *charged; /* charged: whom, for what */
	guint part; /* of the sum, its place; TIPME_NO_PART: none */
} TipmeStretch;

/* A command that this system has, to look, to try or to cure. */
typedef struct {
	char *command, *mark, *undo; /* undo: "" where nothing needs it */
} TipmeStep;

typedef struct {
	char *problem; /* the command's own words where it failed, else NULL */
	char *id, *kind, *sentence, *when, *ask, *next, *app;
	gint64 trigger_ns;
	gboolean has_interval;
	gint64 from_ns, to_ns,
		usual_ns; /* interval: half-open; usual: G_MININT64 where not known */
	double confidence, exact; /* 0 to 1 */
	GPtrArray *parts; /* TipmePart, the largest first; they add up to the interval */
	GPtrArray *stages; /* TipmeStage */
	GPtrArray *path; /* TipmeStretch, without gap or overlap */
	GPtrArray *steps; /* TipmeStep */
	GPtrArray *candidates; /* char *: what may have been, where nothing is proven */
	GPtrArray *known; /* char *: circumstances, what was not observed, damage, losses */
	GArray *threads; /* guint32: threads of the path, each once, in order */
	gboolean sampled; /* only samples of /proc */
} TipmeAnswer;

TipmeAnswer *tipme_answer_from_json(struct json_object *diagnosis);

/* The name of a stage, in the language of the user; one that is not known stays. */
const char *tipme_stage_words(const char *name);

/* A part in words: "waiting for the disk: backup (901)". Free it. */
char *tipme_part_words(const TipmePart *part);

/* The stage before which most of the time went by; G_MAXUINT: there are no two. */
guint tipme_answer_slow_stage(const TipmeAnswer *answer);

/* An answer that says why there is none. */
TipmeAnswer *tipme_answer_failed(const char *why);

/* Accepts NULL. */
void tipme_answer_free(TipmeAnswer *answer);

#endif
