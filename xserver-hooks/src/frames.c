// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compositors: which windows draw elsewhere, who is told of damage and takes it over, what changes
 * on the screen meanwhile.
 */
#include "config.h"

#include <string.h>

#include "hooks.h"

#include <X11/extensions/damageproto.h>
#include <X11/extensions/damagewire.h>

static uint8_t damage_major;

/*
 * What is joined of one client's; another client with that number begins anew since the records are
 * too old to be joined.
 */
static struct {
	struct tipme_join told, taken, painted;
	BoxRec box; /* of the joined paints */
} of_group[TIPME_GROUPS];

void tipme_frames_init(void)
{
	ExtensionEntry *damage = CheckExtension("DAMAGE");

	damage_major = damage ? (uint8_t)damage->base : 0;
	tipme_hooks.damage_event = damage ? (uint8_t)damage->eventBase : 0;
	memset(of_group, 0, sizeof(of_group));
}

bool tipme_frames_concerns(uint8_t major)
{
	return damage_major && major == damage_major;
}

/* What of a box lies on the screen; of one that lies outside, nothing, with a width of 0. */
static BoxRec on_screen(const ScreenRec *screen, const BoxRec *box)
{
	BoxRec seen = {
		.x1 = (short)max(box->x1, 0),
		.y1 = (short)max(box->y1, 0),
		.x2 = (short)min(box->x2, screen->width),
		.y2 = (short)min(box->y2, screen->height),
	};

	return seen.x1 < seen.x2 && seen.y1 < seen.y2 ? seen : (BoxRec){ 0, 0, 0, 0 };
}

/* Arguments: a request that is about to be executed. Its length was not checked yet. */
void tipme_frames_request(const ClientRec *client, const struct tipme_x_request *req)
{
	struct tipme_x_taken rec = {
		.ts_ns = req->ts_ns, .type = TIPME_X_TAKEN, .pid = req->pid, .client = req->client
	};
	xDamageSubtractReq subtract;

	if (req->major != damage_major || req->minor != X_DamageSubtract ||
	    client->req_len < sizeof(subtract) / 4)
		return;
	memcpy(&subtract, client->requestBuffer, sizeof(subtract));
	rec.damage = client->swapped ? __builtin_bswap32((uint32_t)subtract.damage)
				     : (uint32_t)subtract.damage;
	tipme_hooks_join(&of_group[req->client & (TIPME_GROUPS - 1)].taken,
			 1 + (uint64_t)rec.damage, &rec);
}

/*
 * Arguments: a DamageNotify that is about to be sent. In a flood the first that tells of this
 * damage is kept: from then on it is known.
 */
void tipme_frames_told(const struct tipme_x_group *group, const xEvent *event)
{
	const xDamageNotifyEvent *notify = (const void *)event;
	const struct tipme_x_ring_header *header = tipme_hooks.ring.header;
	struct tipme_join *join = &of_group[group->client & (TIPME_GROUPS - 1)].told;
	struct tipme_x_told rec = {
		.ts_ns = tipme_hooks_now_ns(),
		.type = TIPME_X_TOLD,
		.pid = group->pid,
		.drawable = (uint32_t)notify->drawable,
		.damage = (uint32_t)notify->damage,
		.client = group->client,
		.by_client = tipme_hooks.in_request ? header->cur_client : 0,
	};

	if (tipme_join_flood(join, rec.ts_ns) &&
	    tipme_join_fits(join, 1 + (uint64_t)rec.damage, rec.ts_ns))
		return;
	tipme_join_begin(join, &tipme_hooks.ring, 1 + (uint64_t)rec.damage, &rec);
	/* What it paints next is of interest. */
	tipme_join_fresh(&of_group[group->client & (TIPME_GROUPS - 1)].painted);
}

void tipme_frames_redirect(WindowPtr window, bool begin)
{
	ScreenPtr screen = window->drawable.pScreen;
	BoxRec box = {
		.x1 = window->drawable.x,
		.y1 = window->drawable.y,
		.x2 = (short)(window->drawable.x + window->drawable.width),
		.y2 = (short)(window->drawable.y + window->drawable.height),
	};
	struct tipme_x_redirect rec = {
		.ts_ns = tipme_hooks_now_ns(),
		.type = TIPME_X_REDIRECT,
		.window = (uint32_t)window->drawable.id,
		.begin = begin,
	};

	box = on_screen(screen, &box);
	rec.x = (uint16_t)box.x1;
	rec.y = (uint16_t)box.y1;
	rec.width = (uint16_t)(box.x2 - box.x1);
	rec.height = (uint16_t)(box.y2 - box.y1);
	tipme_hooks_record(&rec);
}

/* Damage of a window with a pixmap of its own is told relative to the window. */
struct tipme_x_drawn tipme_frames_drawn(WindowPtr window, const BoxRec *box)
{
	short dx = window->drawable.x, dy = window->drawable.y;
	BoxRec moved = { .x1 = (short)(box->x1 + dx),
			 .y1 = (short)(box->y1 + dy),
			 .x2 = (short)(box->x2 + dx),
			 .y2 = (short)(box->y2 + dy) };
	BoxRec seen = on_screen(window->drawable.pScreen, &moved);

	return (struct tipme_x_drawn){
		.type = TIPME_X_DRAWN,
		.window = (uint32_t)window->drawable.id,
		.x = (uint16_t)seen.x1,
		.y = (uint16_t)seen.y1,
		.width = (uint16_t)(seen.x2 - seen.x1),
		.height = (uint16_t)(seen.y2 - seen.y1),
	};
}

void tipme_frames_painted(const ScreenRec *screen, const BoxRec *changed, uint64_t now_ns,
			  const struct tipme_x_request *whose)
{
	struct tipme_x_painted rec = { .ts_ns = now_ns, .type = TIPME_X_PAINTED };
	unsigned group = whose ? whose->client & (TIPME_GROUPS - 1) : 0;
	struct tipme_join *join = &of_group[group].painted;
	BoxRec *box = &of_group[group].box;
	BoxRec seen = on_screen(screen, changed);
	uint64_t key = 1 + (uint64_t)(whose ? whose->client : 0);

	if (whose) {
		rec.pid = whose->pid;
		rec.client = whose->client;
		rec.major = whose->major;
		rec.minor = whose->minor;
	}
	if (tipme_join_flood(join, now_ns) && tipme_join_fits(join, key, now_ns))
		seen = (BoxRec){
			.x1 = (short)min(box->x1, seen.x1),
			.y1 = (short)min(box->y1, seen.y1),
			.x2 = (short)max(box->x2, seen.x2),
			.y2 = (short)max(box->y2, seen.y2),
		};
	*box = seen;
	rec.x = (uint16_t)seen.x1;
	rec.y = (uint16_t)seen.y1;
	rec.width = (uint16_t)(seen.x2 - seen.x1);
	rec.height = (uint16_t)(seen.y2 - seen.y1);
	tipme_hooks_join(join, key, &rec);
}
