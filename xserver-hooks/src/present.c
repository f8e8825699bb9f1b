// SPDX-License-Identifier: GPL-2.0-only
/* Present: who asked for a picture, and when it was shown. */
#include "config.h"

#include <string.h>

#include "hooks.h"

#include <X11/extensions/presentproto.h>

static uint8_t present_major TIPME_HOT_DATA;
/* The last PresentPixmap whose picture was not seen yet. */
static struct tipme_x_request asked TIPME_HOT_DATA;

void tipme_present_init(void)
{
	ExtensionEntry *present = CheckExtension("Present");

	present_major = present ? (uint8_t)present->base : 0;
	asked.count = 0;
}

bool tipme_present_concerns(uint8_t major)
{
	return present_major && major == present_major;
}

static uint32_t value(const ClientRec *client, uint32_t raw)
{
	return client->swapped ? __builtin_bswap32(raw) : raw;
}

/*
 * Arguments: the client, the request that is about to be executed. Its length was not checked yet.
 */
void tipme_present_begin(const ClientRec *client, const struct tipme_x_request *req)
{
	xPresentPixmapReq pixmap;
	struct tipme_x_present rec = {
		.ts_ns = req->ts_ns,
		.type = TIPME_X_PRESENT,
		.pid = req->pid,
		.client = req->client,
		.phase = TIPME_PHASE_BEGIN,
	};

	if (req->major != present_major || !present_major || req->minor != X_PresentPixmap ||
	    client->req_len < sizeof(pixmap) / 4)
		return;
	memcpy(&pixmap, client->requestBuffer, sizeof(pixmap));
	rec.window = value(client, (uint32_t)pixmap.window);
	rec.serial = value(client, pixmap.serial);
	tipme_hooks_record(&rec);
	asked = *req;
}

void tipme_present_event(const ClientRec *client, const xEvent *event, uint64_t now_ns)
{
	const xPresentCompleteNotify *done = (const void *)event;
	struct tipme_x_present rec = {
		.ts_ns = now_ns,
		.type = TIPME_X_PRESENT,
		.pid = tipme_client_pid(client),
		.client = (uint16_t)client->index,
		.phase = TIPME_PHASE_END,
	};

	if (!present_major || done->extension != present_major ||
	    done->evtype != PresentCompleteNotify || done->kind != PresentCompleteKindPixmap)
		return;
	rec.window = (uint32_t)done->window;
	rec.serial = done->serial;
	rec.mode = done->mode == PresentCompleteModeFlip   ? 1
		   : done->mode == PresentCompleteModeSkip ? 2
							   : 0;
	tipme_hooks_record(&rec);
}

TIPME_HOT_REQUEST const struct tipme_x_request *tipme_present_asked(void)
{
	return asked.count ? &asked : NULL;
}

TIPME_HOT_REQUEST void tipme_present_shown(void)
{
	asked.count = 0;
}
