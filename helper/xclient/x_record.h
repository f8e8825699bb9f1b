/* SPDX-License-Identifier: GPL-2.0-only */
/* What the RECORD extension tells of input events, made into records; needs no X server. */
#ifndef TIPME_X_RECORD_H
#define TIPME_X_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIPME_X_RECENT 256 /* device events to which a delivery may belong */

/* Categories of an answer, as the extension numbers them. */
enum tipme_x_category {
	TIPME_X_FROM_SERVER = 0,
	TIPME_X_CLIENT_STARTED = 2,
	TIPME_X_CLIENT_DIED = 3
};

/* An event in the 32 bytes of the protocol that RECORD gives of it. */
struct tipme_x_event {
	uint8_t x_type; /* type of the core protocol, or the XI2 event type + 128 */
	uint8_t kind; /* enum tipme_input_kind; 0: no input */
	uint32_t time_ms; /* when the server queued it */
	uint32_t server_ms; /* when it was processed */
	uint32_t detail; /* never recorded: it only tells two events of one time apart */
	uint32_t window;
	uint16_t device;
	bool mapped; /* not input: a window has appeared */
};

/*
 * Reads one element: the server's time, and an event. Returns false where it is none that we want.
 */
bool tipme_x_event_read(struct tipme_x_event *event, const uint8_t *element, size_t len);
#define TIPME_X_ELEMENT_BYTES 36

/* Which device event a delivered one comes from. */
struct tipme_x_recent {
	struct {
		uint32_t time_ms, detail, seq;
		uint8_t kind;
	} event[TIPME_X_RECENT];
	uint32_t seq; /* of the last */
};

uint32_t tipme_x_recent_add(struct tipme_x_recent *recent, const struct tipme_x_event *event);
/* Its number, or 0. */
uint32_t tipme_x_recent_find(const struct tipme_x_recent *recent,
			     const struct tipme_x_event *event);

#endif
