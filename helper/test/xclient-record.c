// SPDX-License-Identifier: GPL-2.0-only
/* What the observer makes of RECORD's bytes and of the server's milliseconds. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "daemon-tap.h"
#include "tipme_records.h"
#include "x_record.h"
#include "x_time.h"

static void put16(uint8_t *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
}
static void put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static struct tipme_x_event core(uint8_t type, uint8_t detail, uint32_t time_ms, bool *good)
{
	uint8_t bytes[TIPME_X_ELEMENT_BYTES] = { 0 };
	struct tipme_x_event e = { 0 };

	put32(bytes, time_ms + 7);
	bytes[4] = type;
	bytes[5] = detail;
	put32(bytes + 8, time_ms);
	put32(bytes + 16, 0x400123);
	*good = tipme_x_event_read(&e, bytes, sizeof(bytes));
	return e;
}

static struct tipme_x_event xi2(uint16_t type, uint32_t detail, uint32_t time_ms, bool *good)
{
	uint8_t bytes[TIPME_X_ELEMENT_BYTES] = { 0 };
	struct tipme_x_event e = { 0 };

	put32(bytes, time_ms + 3);
	bytes[4] = 35;
	put16(bytes + 12, type);
	put16(bytes + 14, 3);
	put32(bytes + 16, time_ms);
	put32(bytes + 20, detail);
	put32(bytes + 28, 0x600456);
	*good = tipme_x_event_read(&e, bytes, sizeof(bytes));
	return e;
}

static void test_reading(void)
{
	bool good;
	struct tipme_x_event e = core(2, 38, 1000, &good);

	ok(good && e.kind == TIPME_INPUT_KIND_KEY_PRESS && e.time_ms == 1000 &&
		   e.server_ms == 1007 && e.window == 0x400123,
	   "a key of the core protocol");
	e = core(2 | 0x80, 38, 1000, &good);
	ok(good && e.kind == TIPME_INPUT_KIND_KEY_PRESS,
	   "one that another client has sent reads alike");
	core(12, 0, 1000, &good);
	ok(!good, "an Expose is none of ours");
	e = xi2(4, 1, 2000, &good);
	ok(good && e.kind == TIPME_INPUT_KIND_BUTTON_PRESS && e.device == 3 && e.time_ms == 2000 &&
		   e.window == 0x600456,
	   "a button of XI2");
	e = xi2(19, 1, 2000, &good);
	ok(good && e.kind == TIPME_INPUT_KIND_TOUCH, "a touch");
	xi2(13, 1, 2000, &good);
	ok(!good, "a raw event is not a delivery");
	e = core(19, 0, 5, &good);
	ok(good && e.mapped && !e.kind, "a window that appears");
	ok(!tipme_x_event_read(&e, (const uint8_t *)"short", 5), "what is cut short is not read");
}

static void test_any_bytes(void)
{
	uint8_t bytes[TIPME_X_ELEMENT_BYTES];
	unsigned odd = 0, read = 0;

	srand(1);
	for (int i = 0; i < 200000; i++) {
		struct tipme_x_event e = { 0 };

		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t)rand();
		if (!tipme_x_event_read(&e, bytes, sizeof(bytes)))
			continue;
		read++;
		odd += !e.mapped &&
		       (e.kind < TIPME_INPUT_KIND_KEY_PRESS || e.kind > TIPME_INPUT_KIND_TOUCH);
	}
	ok(read > 1000 && !odd,
	   "of 200000 random elements %u are events, all of a kind that there is", read);
}

static void test_matching(void)
{
	static struct tipme_x_recent recent;
	bool good;
	struct tipme_x_event a = core(2, 38, 1000, &good), b = core(2, 39, 1000, &good),
			     up = core(3, 38, 1050, &good);
	uint32_t na = tipme_x_recent_add(&recent, &a), nb = tipme_x_recent_add(&recent, &b);

	struct tipme_x_event delivered = xi2(2, 38, 1000, &good);

	ok(tipme_x_recent_find(&recent, &delivered) == na,
	   "a delivery in XI2 finds its device event, though another came at the same time");
	ok(tipme_x_recent_find(&recent, &b) == nb, "and that one its own");
	ok(!tipme_x_recent_find(&recent, &up), "an event from no device finds none");
	for (uint32_t i = 0; i < TIPME_X_RECENT; i++) {
		struct tipme_x_event e = core(6, 0, 2000 + i, &good);

		tipme_x_recent_add(&recent, &e);
	}
	ok(!tipme_x_recent_find(&recent, &a), "what was long ago is forgotten, not mistaken");
	recent.seq = UINT32_MAX;
	ok(tipme_x_recent_add(&recent, &a) == 1, "the number 0 is passed over");
}

static void test_time(void)
{
	struct tipme_x_time t;
	uint64_t now = 5000000000ULL * 1000000 + 123456; /* beyond 32 bits of milliseconds */
	uint32_t ms = (uint32_t)5000000000ULL;

	tipme_x_time_tie(&t, ms, now - 200000, now);
	ok(t.ahead_ms == 0, "a server on the same clock is recognised");
	tipme_x_time_tie(&t, ms + 1, now, now + 900000);
	ok(t.ahead_ms == 0, "also where a millisecond begins between the looks");
	ok(tipme_x_time_ns(&t, ms - 10, now) == (5000000000ULL - 10) * 1000000,
	   "a time of 32 bits is unfolded");
	ok(tipme_x_time_ns(&t, ms + 1, now) == (5000000000ULL + 1) * 1000000,
	   "also one that is a little ahead of us");
	ok(tipme_x_time_ns(&t, 0xfffffff0U, 4294967296ULL * 1000000 + 16000000) ==
		   0xfffffff0ULL * 1000000,
	   "also across the end of 32 bits");
	tipme_x_time_tie(&t, ms + 3600000, now - 200000, now);
	ok(t.ahead_ms == 3600000 &&
		   tipme_x_time_ns(&t, ms + 3600000 - 5, now) == (5000000000ULL - 5) * 1000000,
	   "a server with another clock is brought to ours");
}

int main(void)
{
	test_reading();
	test_any_bytes();
	test_matching();
	test_time();
	return tap_end();
}
