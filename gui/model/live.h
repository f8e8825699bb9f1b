/* SPDX-License-Identifier: GPL-2.0-only */
/* What the recorder says of input and of hot-keys, in sentences. */
#ifndef TIPME_GUI_LIVE_H
#define TIPME_GUI_LIVE_H

#include <glib.h>

struct json_object;

typedef enum {
	TIPME_INPUT_UNKNOWN, /* no recorder, or it cannot record input */
	TIPME_INPUT_OFF,
	TIPME_INPUT_ON
} TipmeInput;

/* Of what `tipme status --json` printed. */
TipmeInput tipme_live_input(struct json_object *status);

/* What is recorded of input. */
const char *tipme_live_input_words(TipmeInput input);

/* Whom the recorder asks: "the kernel itself"; the name of one that is not known here. */
const char *tipme_live_source_words(struct json_object *status);

/* That it records, for a page without episodes: how exactly, and what comes next. */
const char *tipme_live_recording_words(struct json_object *status);

/* Who hears the hot-key that saves. Free it. */
char *tipme_live_hotkey_words(struct json_object *status);

#endif
