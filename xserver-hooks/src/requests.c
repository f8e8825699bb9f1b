// SPDX-License-Identifier: GPL-2.0-only
/* Requests: wraps the server's tables of request procedures in place. */
#include "config.h"

#include <stddef.h>

#include "hooks.h"

typedef int (*request_proc)(ClientPtr);

static request_proc real_procs[256], real_swapped_procs[256];

/* Where the last request ended, how many records there were then, and whether it was one of a flood. */
static struct {
	uint64_t end_ns;
	uint64_t head;
	int client;
	bool flood;
} last;

/*
 * In a flood the clock is not read after each request but after some of them: reading it is most of what a record costs.
 * What was executed since the last reading waits here, a few requests at most, and is recorded with the next.
 */
#define UNTIMED_MAX 7
static struct tipme_x_request untimed;	/* count 0: none */

TIPME_ASSERT(offsetof(struct tipme_x_ring_header, cur_pid) % 8 == 0);
TIPME_ASSERT(offsetof(struct tipme_x_ring_header, cur_client) == offsetof(struct tipme_x_ring_header, cur_pid) + 4);
TIPME_ASSERT(offsetof(struct tipme_x_ring_header, cur_major) == offsetof(struct tipme_x_ring_header, cur_pid) + 6);
TIPME_ASSERT(offsetof(struct tipme_x_ring_header, cur_minor) == offsetof(struct tipme_x_ring_header, cur_pid) + 7);

static void header_set(const struct tipme_x_request *req)
{
	struct tipme_x_ring_header *h = tipme_hooks.ring.header;
	uint64_t who = req->pid | (uint64_t)req->client << 32 | (uint64_t)req->major << 48 | (uint64_t)req->minor << 56;

	/* The four fields at once. */
	__atomic_store_n((uint64_t *)(void *)&h->cur_pid, who, __ATOMIC_RELAXED);
	/* Last: a reader believes the others when this is not 0. */
	__atomic_store_n(&h->cur_start_ns, req->ts_ns, __ATOMIC_RELEASE);
}

/* Quiet: no events, replies, input or damage came up inside it. Others are joined in floods only. */
static bool request_record(struct tipme_x_group *group, const struct tipme_x_request *req, bool quiet)
{
	struct tipme_xring *ring = &tipme_hooks.ring;
	struct tipme_join *join = &group->request;
	bool flood = tipme_join_flood(join, req->ts_ns);

	/* Outside of floods nothing may lie between the requests of a run. */
	if (!flood && (!quiet || ring->head != group->run_head))
		tipme_request_run_end(&group->run);
	if (!tipme_request_run_add(&group->run, req, flood) || !tipme_request_run_amend(&group->run, ring, join->index)) {
		group->run.rec = *req;
		tipme_join_begin(join, ring, 1, req);
	}
	if (!flood && !quiet)
		tipme_request_run_end(&group->run);
	group->run_head = ring->head;
	return flood;
}

static void request_end(struct tipme_x_request *req, uint64_t end_ns, bool quiet)
{
	struct tipme_hooks *hooks = &tipme_hooks;
	struct tipme_x_group *group = tipme_group_of(req->client);

	req->duration_ns = end_ns - req->ts_ns < UINT32_MAX ? (uint32_t)(end_ns - req->ts_ns) : UINT32_MAX;
	last.flood = request_record(group, req, quiet);
	if (hooks->damaged)
		tipme_damage_record(end_ns, req);
	else if (hooks->resting)
		tipme_damage_assume(group, req, end_ns);
	last.end_ns = end_ns;
	last.head = hooks->ring.head;
	last.client = req->client;
}

void tipme_requests_settle(uint64_t now_ns)
{
	struct tipme_x_request req = untimed;

	if (!req.count)
		return;
	untimed.count = 0;
	request_end(&req, now_ns, true);
}

/*
 * A request that comes at once after another of the same client begins where that one ended: one reading of the clock
 * instead of two. Between them lies nothing but the reading of the request, which is work for this client.
 */
static bool comes_at_once(const ClientRec *client)
{
	return tipme_hooks.no_pause && last.client == client->index && last.head == tipme_hooks.ring.head;
}

static uint64_t begin_ns(bool at_once)
{
	uint64_t now_ns;

	if (at_once)
		return last.end_ns;
	now_ns = tipme_hooks_now_ns();
	tipme_requests_settle(now_ns);
	return now_ns;
}

/*
 * Arguments: the client whose request it is, the server's own procedure.
 * Returns: what that returns.
 * Side effects: records. The procedure may free the client (KillClient on itself), so nothing of it is read afterwards.
 */
static int request_execute(ClientPtr client, request_proc proc)
{
	struct tipme_hooks *hooks = &tipme_hooks;
	struct tipme_x_request req;
	uint64_t head;
	bool at_once, quiet;
	int ret;

	/* A procedure for swapped requests calls the plain one through the table: that is still the same request. */
	if (!hooks->active || hooks->in_request)
		return proc(client);
	at_once = comes_at_once(client);
	req = (struct tipme_x_request){
		.ts_ns = begin_ns(at_once), .type = TIPME_X_REQUEST, .pid = tipme_client_pid(client),
		.client = (uint16_t)client->index, .major = client->majorOp, .minor = (uint8_t)client->minorOp,
		.sequence = (uint16_t)client->sequence, .count = (uint16_t)(untimed.count + 1),
	};
	if (hooks->damaged)
		tipme_damage_record(req.ts_ns, NULL);
	hooks->cur_input_seq = 0;
	hooks->request_ns = req.ts_ns;
	if (hooks->resting)
		tipme_damage_look(&req);
	if (req.major >= EXTENSION_BASE)
		tipme_present_begin(client, &req);
	if (req.major >= X_ChangeKeyboardMapping && req.major != X_NoOperation)
		tipme_input_request(req.major, req.minor);
	head = hooks->ring.head;
	header_set(&req);
	hooks->in_request = true;
	ret = proc(client);
	hooks->in_request = false;
	__atomic_store_n(&hooks->ring.header->cur_start_ns, 0, __ATOMIC_RELAXED);
	hooks->cur_input_seq = 0;
	quiet = hooks->ring.head == head && !hooks->damaged;
	hooks->no_pause = true;
	if (at_once && last.flood && quiet && untimed.count < UNTIMED_MAX) {
		untimed = req;
		return ret;
	}
	untimed.count = 0;
	request_end(&req, tipme_hooks_now_ns(), quiet);
	return ret;
}

static int on_request(ClientPtr client)
{
	return request_execute(client, real_procs[client->majorOp]);
}

static int on_swapped_request(ClientPtr client)
{
	return request_execute(client, real_swapped_procs[client->majorOp]);
}

static void wrap(request_proc *table, request_proc *real, request_proc ours)
{
	for (int major = 1; major < 256; major++) {
		if (table[major] == ours)
			continue;
		real[major] = table[major];
		table[major] = ours;
	}
}

static void unwrap(request_proc *table, request_proc *real, request_proc ours)
{
	for (int major = 1; major < 256; major++)
		if (table[major] == ours)
			table[major] = real[major];
}

void tipme_requests_wrap(void)
{
	wrap(ProcVector, real_procs, on_request);
	wrap(SwappedProcVector, real_swapped_procs, on_swapped_request);
}

void tipme_requests_unwrap(void)
{
	unwrap(ProcVector, real_procs, on_request);
	unwrap(SwappedProcVector, real_swapped_procs, on_swapped_request);
}
