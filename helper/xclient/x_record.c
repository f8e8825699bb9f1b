// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the RECORD extension tells of input events. The bytes come from an X server, which may be
 * anybody's: nothing beyond them is read.
 */
#include "config.h"

#include <string.h>
#include <xcb/xcb.h>

#include "tipme_records.h"
#include "x_record.h"

/* Event types of XI2 that are input. */
enum {
	XI2_KEY_PRESS = 2,
	XI2_KEY_RELEASE,
	XI2_BUTTON_PRESS,
	XI2_BUTTON_RELEASE,
	XI2_MOTION,
	XI2_TOUCH_BEGIN = 18,
	XI2_TOUCH_END = 20
};

static uint32_t get32(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static uint16_t get16(const uint8_t *p)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static uint8_t core_kind(uint8_t type)
{
	switch (type) {
	case XCB_KEY_PRESS: return TIPME_INPUT_KIND_KEY_PRESS;
	case XCB_KEY_RELEASE: return TIPME_INPUT_KIND_KEY_RELEASE;
	case XCB_BUTTON_PRESS: return TIPME_INPUT_KIND_BUTTON_PRESS;
	case XCB_BUTTON_RELEASE: return TIPME_INPUT_KIND_BUTTON_RELEASE;
	case XCB_MOTION_NOTIFY: return TIPME_INPUT_KIND_MOTION;
	}
	return 0;
}

static uint8_t xi2_kind(uint16_t type)
{
	if (type >= XI2_KEY_PRESS && type <= XI2_MOTION)
		return core_kind((uint8_t)(XCB_KEY_PRESS + type - XI2_KEY_PRESS));
	return type >= XI2_TOUCH_BEGIN && type <= XI2_TOUCH_END ? TIPME_INPUT_KIND_TOUCH : 0;
}

static bool core_read(struct tipme_x_event *event, const uint8_t *e)
{
	event->x_type = e[0] & 0x7f;
	event->kind = core_kind(event->x_type);
	event->detail = e[1];
	event->time_ms = get32(e + 4);
	event->window = get32(e + 12);
	return event->kind != 0;
}

/* Only the first 32 bytes are there; those have all that we want. */
static bool xi2_read(struct tipme_x_event *event, const uint8_t *e)
{
	event->kind = xi2_kind(get16(e + 8));
	event->x_type = (uint8_t)(128 + get16(e + 8));
	event->device = get16(e + 10);
	event->time_ms = get32(e + 12);
	event->detail = get32(e + 16);
	event->window = get32(e + 24);
	return event->kind != 0;
}

static bool map_read(struct tipme_x_event *event, const uint8_t *e)
{
	event->x_type = XCB_MAP_NOTIFY;
	event->mapped = true;
	event->window = get32(e + 8);
	return true;
}

bool tipme_x_event_read(struct tipme_x_event *event, const uint8_t *element, size_t len)
{
	const uint8_t *e = element + 4;

	if (len < TIPME_X_ELEMENT_BYTES)
		return false;
	*event = (struct tipme_x_event){ .server_ms = get32(element) };
	if ((e[0] & 0x7f) == XCB_GE_GENERIC)
		return xi2_read(event, e);
	if ((e[0] & 0x7f) == XCB_MAP_NOTIFY)
		return map_read(event, e);
	return core_read(event, e);
}

uint32_t tipme_x_recent_add(struct tipme_x_recent *recent, const struct tipme_x_event *event)
{
	uint32_t seq = ++recent->seq;

	/* 0 is no number. */
	if (!seq)
		seq = recent->seq = 1;
	recent->event[seq % TIPME_X_RECENT].time_ms = event->time_ms;
	recent->event[seq % TIPME_X_RECENT].detail = event->detail;
	recent->event[seq % TIPME_X_RECENT].kind = event->kind;
	recent->event[seq % TIPME_X_RECENT].seq = seq;
	return seq;
}

/* The latest that fits: a delivery follows its device event, unless a grab froze it. */
uint32_t tipme_x_recent_find(const struct tipme_x_recent *recent, const struct tipme_x_event *event)
{
	for (uint32_t back = 0; back < TIPME_X_RECENT && back < recent->seq; back++) {
		uint32_t seq = recent->seq - back;
		uint32_t at = seq % TIPME_X_RECENT;

		if (recent->event[at].seq == seq && recent->event[at].time_ms == event->time_ms &&
		    recent->event[at].kind == event->kind &&
		    recent->event[at].detail == event->detail)
			return seq;
	}
	return 0;
}
