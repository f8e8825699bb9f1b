/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Beginning of the server's internal events. Its own header is not installed, so this is what
 * xorg-server 21.1 does, checked against each event at run time (tipme_event_is_sane): if it ever
 * differs, the hooks switch themselves off.
 */
#ifndef TIPME_EVENTS_H
#define TIPME_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "hot.h"

enum tipme_event_type {
	TIPME_ET_KEY_PRESS = 2,
	TIPME_ET_KEY_RELEASE = 3,
	TIPME_ET_BUTTON_PRESS = 4,
	TIPME_ET_BUTTON_RELEASE = 5,
	TIPME_ET_MOTION = 6,
	TIPME_ET_TOUCH_BEGIN = 7,
	TIPME_ET_TOUCH_UPDATE = 8,
	TIPME_ET_TOUCH_END = 9,
	TIPME_ET_RAW_KEY_PRESS = 20,
	TIPME_ET_RAW_KEY_RELEASE = 21,
	TIPME_ET_LAST = 63,
};

/* Common to device events and raw events. */
struct tipme_event {
	unsigned char header; /* always 255 */
	int type;
	int length; /* bytes */
	uint32_t time_ms;
	int device_id;
	int source_id;
	uint32_t detail; /* key code or button */
};

static TIPME_INLINE bool tipme_event_is_sane(const struct tipme_event *ev)
{
	return ev->header == 0xff && ev->type >= TIPME_ET_KEY_PRESS && ev->type <= TIPME_ET_LAST &&
	       ev->length >= (int)sizeof(*ev) && ev->length <= 65536 &&
	       (ev->type > TIPME_ET_TOUCH_END || (ev->device_id >= 0 && ev->device_id < 256 &&
						  ev->source_id >= 0 && ev->source_id < 256));
}

#endif
