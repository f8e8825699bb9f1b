/* SPDX-License-Identifier: GPL-2.0-only */
/* What the rules of answers share: those of all sources, and those of Wayland alone. */
#ifndef TIPME_PROFILE_ANSWERS_H
#define TIPME_PROFILE_ANSWERS_H

#include "profile.h"

/* A compositor that does not use a picture for so long does not show it: a hidden window's. */
#define TIPME_PICTURE_NS (10000 * TIPME_MS_NS)

/* The i-th event that is not handed on yet, in order of delivery. */
static inline struct tipme_pending *tipme_pending_nth(struct tipme_answers *s, unsigned int i)
{
	return &s->pending[(s->first + i) % TIPME_PENDING];
}

/* A device has told of an event, which had entered before. */
void tipme_answers_device(struct tipme_answers *s, const struct tipme_x_device *r,
			  uint64_t entered_ns);
void tipme_answers_deliver(struct tipme_answers *s, const struct tipme_x_deliver *r);

/*
 * A client has changed the screen. pid NULL: the record does not name the process. picture: the
 * callback by which it will be told that this was used; 0: none.
 */
void tipme_answers_change(struct tipme_answers *s, uint64_t ts_ns, uint16_t client,
			  const uint32_t *pid, uint32_t picture);

/* --- answers_wayland.c --- */

/* Takes a record of a compositor; all others are none of its business. */
void tipme_answers_wayland(struct tipme_answers *s, const struct tipme_head *rec);

/* Whether a process waits for its turn to draw: its last picture has not been used yet. */
bool tipme_answers_picture_due(const struct tipme_answers *s, uint32_t pid, uint64_t now_ns);

#endif
