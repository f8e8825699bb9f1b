/* SPDX-License-Identifier: GPL-2.0-only */
/* Lanes of what is no thread: input, requests of clients, and what they drew. */
#ifndef TIPME_GUI_LANE_EVENTS_H
#define TIPME_GUI_LANE_EVENTS_H

#include "lanes.h"

struct tipme_episode;
struct tipme_threads;

/* Adds a lane for each of these kinds that the episode has. 0 or -errno. */
int tipme_events_add(TipmeLanes *lanes, struct tipme_episode *ep, const struct tipme_threads *th,
		     gint64 from_ns, gint64 to_ns);

/* A span of such a lane in words. Free it. */
char *tipme_events_words(const TipmeLanes *lanes, const TipmeSpan *span);

#endif
