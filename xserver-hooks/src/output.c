// SPDX-License-Identifier: GPL-2.0-only
/* What the server writes to its clients: replies, errors, and connections that take no more. */
#include "config.h"

#include <poll.h>
#include <string.h>

#include "hooks.h"

/* Each so many flushes of a client it is looked whether its connection still takes something. */
#define FLUSHES_PER_LOOK 16
#define STUCK_LOOK_NS 10000000

static uint8_t xkb_event_base TIPME_HOT_DATA;
/* A client to look at before the server sleeps; 0: none. */
static int look_at;
/* Clients that take nothing more. */
static struct {
	unsigned count;
	uint64_t looked_ns;
	uint8_t is[MAXCLIENTS];
} stuck;

void tipme_output_init(void)
{
	ExtensionEntry *xkb = CheckExtension("XKEYBOARD");

	xkb_event_base = xkb ? (uint8_t)xkb->eventBase : 0;
	memset(&stuck, 0, sizeof(stuck));
	look_at = 0;
}

static void stuck_set(ClientPtr client, bool is, uint64_t now_ns);

/* ---- replies and errors ---- */

static TIPME_HOT_REQUEST void reply_record(const ClientRec *client, uint64_t now_ns, uint32_t bytes,
					   uint8_t error)
{
	struct tipme_x_group *group = tipme_group_of(client->index);
	struct tipme_x_reply rec = {
		.ts_ns = now_ns,
		.type = TIPME_X_REPLY,
		.pid = group->pid,
		.bytes = bytes,
		.client = (uint16_t)client->index,
		.sequence = (uint16_t)client->sequence,
		.major = client->majorOp,
		.minor = (uint8_t)client->minorOp,
		.error = error,
	};
	uint64_t key = 1 + error;

	/* Joined replies have the length of all of them. */
	if (tipme_join_flood(&group->reply, now_ns) && tipme_join_fits(&group->reply, key, now_ns))
		rec.bytes += group->last_reply.bytes;
	group->last_reply = rec;
	group->written = 1;
	tipme_hooks_join(&group->reply, key, &rec);
}

/* Arguments: a reply, or a further piece of one, that is about to be written. */
TIPME_HOT_REQUEST void tipme_output_on_reply(CallbackListPtr *list, void *data, void *call)
{
	const ReplyInfoRec *info = call;

	if (!tipme_hooks.active || info->client->index <= 0)
		return;
	if (info->startOfReply)
		reply_record(info->client, tipme_hooks_now_ns(),
			     (uint32_t)(info->dataLenBytes + info->bytesRemaining), 0);
	else
		tipme_group_of(info->client->index)->written = 1;
}

void tipme_output_error(const ClientRec *client, const xEvent *event, uint64_t now_ns)
{
	const xError *error = (const void *)event;

	reply_record(client, now_ns, sizeof(*error), error->errorCode);
}

/* ---- writing ---- */

/*
 * The server keeps a list of those for which it has output that waits; who is not in it has taken
 * all.
 */
static bool has_output(const ClientRec *client)
{
	return client->output_pending.next != &client->output_pending;
}

/*
 * The keyboard extension writes its events without telling the callbacks for events. That something
 * was written of which there is no record is how they are seen; which of its events, and of which
 * window, is not known.
 */
static void unseen_record(const ClientRec *client, struct tipme_x_group *group, uint64_t now_ns)
{
	struct tipme_x_deliver rec = {
		.ts_ns = now_ns,
		.type = TIPME_X_DELIVER,
		.pid = tipme_client_pid(client),
		.input_seq = tipme_hooks.cur_input_seq,
		.client = (uint16_t)client->index,
		.kind = TIPME_INPUT_KIND_OTHER,
		.x_type = xkb_event_base,
	};

	tipme_hooks_join(&group->deliver, 1 + xkb_event_base, &rec);
}

/*
 * Arguments: the client whose output is about to be written; one that is being closed may have
 * none.
 */
TIPME_HOT_INPUT void tipme_output_on_flush(CallbackListPtr *list, void *data, void *call)
{
	const ClientRec *client = call;
	struct tipme_x_flush rec = { .type = TIPME_X_FLUSH };
	struct tipme_x_group *group;

	if (!tipme_hooks.active || !client || client->index <= 0 || client->index >= MAXCLIENTS ||
	    client->clientGone)
		return;
	group = tipme_group_of(client->index);
	rec.ts_ns = tipme_hooks_now_ns();
	rec.pid = group->pid;
	rec.client = (uint16_t)client->index;
	/* What has waited had its record before. */
	if (!group->written && xkb_event_base && client->clientState == ClientStateRunning &&
	    !has_output(client))
		unseen_record(client, group, rec.ts_ns);
	/* Of a row of events each is written by itself if its bytes are swapped. */
	group->written = client->swapped && group->written ? (uint16_t)(group->written - 1) : 0;
	tipme_hooks.flushed++;
	if (++group->flushes % FLUSHES_PER_LOOK == 0) {
		look_at = client->index;
		tipme_hooks.chores = true;
	}
	group->flush_ns = rec.ts_ns;
	tipme_hooks_join(&group->flush, 1, &rec);
}

/*
 * Arguments: the client, and what its connection did not take. The record of the flush gets its
 * duration.
 */
void tipme_output_on_flush_done(CallbackListPtr *list, void *data, void *call)
{
	const struct tipme_flush_done_info *done = call;
	ClientPtr client = done->client;
	struct tipme_x_group *group;

	if (!tipme_hooks.active || client->index <= 0 || client->index >= MAXCLIENTS ||
	    client->clientGone)
		return;
	group = tipme_group_of(client->index);
	if (group->flush.key && group->flush_ns) {
		struct tipme_x_flush rec = {
			.ts_ns = group->flush_ns,
			.type = TIPME_X_FLUSH,
			.pid = tipme_client_pid(client),
			.client = (uint16_t)client->index,
			.duration_ns = tipme_hooks_now_ns() - group->flush_ns,
		};

		tipme_xring_amend(&tipme_hooks.ring, group->flush.index, &rec);
	}
	/* No need to look: the server itself has found out. */
	if ((done->bytes_left != 0) != stuck.is[client->index])
		stuck_set(client, done->bytes_left != 0, tipme_hooks_now_ns());
}

/* Arguments: the client, and how much was read from it. */
void tipme_output_on_arrival(CallbackListPtr *list, void *data, void *call)
{
	const struct tipme_arrival_info *arrival = call;
	const ClientRec *client = arrival->client;
	struct tipme_x_arrival rec = { .type = TIPME_X_ARRIVAL, .bytes = (uint32_t)arrival->bytes };

	if (!tipme_hooks.active || client->index <= 0 || client->index >= MAXCLIENTS)
		return;
	rec.ts_ns = tipme_hooks_now_ns();
	rec.pid = tipme_client_pid(client);
	rec.client = (uint16_t)client->index;
	tipme_hooks_join(&tipme_group_of(client->index)->arrival, 1, &rec);
}

/* ---- connections that take no more ---- */

static bool takes_more(ClientPtr client)
{
	struct pollfd fd = { .fd = client->osPrivate ? XaceGetConnectionNumber(client) : -1,
			     .events = POLLOUT };

	/* A closed one is no stuck one. */
	return fd.fd < 0 || poll(&fd, 1, 0) != 0;
}

static void stuck_set(ClientPtr client, bool is, uint64_t now_ns)
{
	struct tipme_x_output_full rec = {
		.ts_ns = now_ns,
		.type = TIPME_X_OUTPUT_FULL,
		.pid = tipme_client_pid(client),
		.client = (uint16_t)client->index,
		.phase = is ? TIPME_PHASE_BEGIN : TIPME_PHASE_END,
	};

	if (stuck.is[client->index] == is)
		return;
	stuck.is[client->index] = is;
	tipme_hooks.chores = true;
	stuck.count += is ? 1U : -1U;
	tipme_hooks_record(&rec);
}

static void look(int index, uint64_t now_ns)
{
	ClientPtr client = index < currentMaxClients ? clients[index] : NULL;

	if (client && !client->clientGone && client->clientState == ClientStateRunning &&
	    (stuck.is[index] || has_output(client)))
		stuck_set(client, !takes_more(client), now_ns);
}

bool tipme_output_check(uint64_t now_ns)
{
	if (look_at) {
		look(look_at, now_ns);
		look_at = 0;
	}
	if (!stuck.count || now_ns - stuck.looked_ns < STUCK_LOOK_NS)
		return stuck.count;
	stuck.looked_ns = now_ns;
	for (int i = 1; i < currentMaxClients; i++)
		if (stuck.is[i])
			look(i, now_ns);
	return stuck.count;
}

void tipme_output_gone(const ClientRec *client)
{
	if (stuck.is[client->index])
		stuck_set((ClientPtr)client, false, tipme_hooks_now_ns());
	if (look_at == client->index)
		look_at = 0;
}
