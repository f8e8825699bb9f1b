/* SPDX-License-Identifier: GPL-2.0-only */
/* Lanes of disks, kernel locks, interrupts and samples. */
#ifndef TIPME_GUI_LANE_WAITS_H
#define TIPME_GUI_LANE_WAITS_H

#include "lanes.h"

struct tipme_episode;
struct tipme_events;
struct tipme_threads;

/* Adds a lane for each of these that the episode has. 0 or -errno. */
int tipme_waits_add(TipmeLanes *lanes, struct tipme_episode *ep, const struct tipme_events *ev,
		    const struct tipme_threads *th, gint64 to_ns);

/* A span of such a lane in words. Free it. */
char *tipme_waits_words(const TipmeLanes *lanes, const TipmeSpan *span);

#endif
