/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers as the command line writes them. */
#ifndef TIPME_GUI_NUMBERS_H
#define TIPME_GUI_NUMBERS_H

#include <glib.h>

/* A duration: "0.41 ms", "2.1 ms", "409 ms", "12.3 s"; "-" for G_MININT64. Free it. */
char *tipme_text_ms(gint64 ns);

/* A kind of input of a profile, in words; another name as it is. */
const char *tipme_text_input(const char *kind);

/* A time of day like "2026-11-22T19:20:10Z" in the local zone; other text as it is. Free it. */
char *tipme_text_local_time(const char *utc);

/* What an axis says at a time, with as many digits as a step of `step_ns` needs. Free it. */
char *tipme_text_tick(gint64 ns, gint64 step_ns);

#endif
