// SPDX-License-Identifier: GPL-2.0-only
/*
 * For libFuzzer: hot-keys as anybody might write them, keys in any order from any device, requests
 * at any times.
 */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hotkey.h"
#include "must.h"
#include "request_run.h"
#include "ring_reader.h"
#include "xring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* ---- hot-keys ---- */

/* Some keys set modifiers, some bear the symbol of the chord. */
static uint8_t modifiers(void *arg, uint8_t keycode)
{
	return keycode % 8 == 1 ? (uint8_t)(1 << keycode / 8 % 8) : 0;
}

static int level(void *arg, uint8_t keycode, uint32_t keysym)
{
	return keysym % 16 == keycode % 16u ? keycode % 4 : -1;
}

static void keys(const uint8_t *data, size_t len)
{
	static const struct tipme_hotkey_layout layout = { modifiers, level, NULL };
	char text[64], why[40] = "";
	size_t text_len = len < sizeof(text) - 1 ? len : sizeof(text) - 1;
	struct tipme_hotkey hk = { .action = 0 };
	int err;

	memcpy(text, data, text_len);
	text[text_len] = '\0';
	err = tipme_hotkey_parse_action(&hk, len % TIPME_HOTKEY_ACTIONS, text, why, sizeof(why));
	MUST(!err == !*why);
	if (err)
		tipme_hotkey_parse(&hk, "Ctrl+Alt+minus", why, sizeof(why));
	for (size_t i = 0; i + 2 < len; i += 3) {
		bool pressed = data[i + 2] & 1,
		     was_down = tipme_hotkey_is_down(&hk, data[i], data[i + 1]);
		enum tipme_hotkey_answer peek =
			tipme_hotkey_peek(&hk, &layout, data[i], data[i + 1], pressed);
		uint8_t held = hk.held[data[i + 1]];

		MUST(tipme_hotkey_feed(&hk, &layout, data[i], data[i + 1], pressed) == peek);
		MUST(tipme_hotkey_is_down(&hk, data[i], data[i + 1]) == pressed);
		MUST(hk.held[data[i + 1]] ==
		     held + (pressed && !was_down) - (!pressed && was_down));
	}
}

/* ---- requests ---- */

static void request_put(struct tipme_xring *ring, struct tipme_join *join,
			struct tipme_request_run *run, const struct tipme_x_request *req)
{
	bool flood = tipme_join_flood(join, req->ts_ns);

	if (tipme_request_run_add(run, req, flood) &&
	    tipme_request_run_amend(run, ring, join->index))
		return;
	run->rec = *req;
	tipme_join_begin(join, ring, 1, req);
}

/* Whatever the times: each request is counted once, in records that are whole. */
static void requests(const uint8_t *data, size_t len)
{
	struct tipme_xring ring;
	struct tipme_join join = { .key = 0 };
	struct tipme_request_run run = { .rec = { .count = 0 } };
	uint64_t now_ns = 1000000, sum = 0, count = 0;
	struct tipme_xslot slot;

	MUST(!tipme_xring_open(&ring, TIPME_XRING_LOG2_MIN, "fuzz"));
	for (size_t i = 0; i + 3 < len && count < 1000; i += 4, count++) {
		struct tipme_x_request req = {
			.ts_ns = now_ns,
			.type = TIPME_X_REQUEST,
			.client = 1 + data[i] % 2,
			.pid = 1 + data[i] % 2,
			.major = data[i + 1],
			.duration_ns = (uint32_t)data[i + 2] * data[i + 2] * 300,
			.count = 1,
		};

		request_put(&ring, &join, &run, &req);
		now_ns += req.duration_ns + (uint64_t)data[i + 3] * data[i + 3] * 100;
	}
	for (uint64_t i = 0; i < ring.head; i++) {
		const struct tipme_x_request *rec = (const void *)&slot;

		MUST(ring_read(ring.slots, ring.log2, i, &slot));
		MUST(rec->type == TIPME_X_REQUEST && rec->ts_ns + rec->duration_ns <= now_ns);
		sum += rec->count;
	}
	MUST(sum == count);
	tipme_xring_close(&ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (!len)
		return 0;
	if (*data & 1)
		keys(data + 1, len - 1);
	else
		requests(data + 1, len - 1);
	return 0;
}
