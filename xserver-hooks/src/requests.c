// SPDX-License-Identifier: GPL-2.0-only
/* Requests: wraps the server's tables of request procedures in place. */
#include "config.h"

#include "hooks.h"

typedef int (*request_proc)(ClientPtr);

static request_proc real_procs[256], real_swapped_procs[256];
static bool in_request;

/* Where the last request ended, and how many records there were then. */
static struct {
	uint64_t end_ns;
	uint64_t head;
	int client;
} last;

/*
 * The first quick requests of a client that change the screen have records of their own: one of them shows the letter
 * that was typed. From the thirty-second within a millisecond on, they are joined.
 */
#define FLOOD_NS 1000000
#define FLOOD_COUNT 32

static struct {
	uint64_t since_ns;
	unsigned count;
	uint16_t client;
} flood;

static bool is_flood(const struct tipme_x_request *req)
{
	if (req->client != flood.client || req->ts_ns - flood.since_ns > FLOOD_NS) {
		flood.client = req->client;
		flood.since_ns = req->ts_ns;
		flood.count = 0;
	}
	return ++flood.count >= FLOOD_COUNT && req->duration_ns <= TIPME_RUN_SHORT_NS;
}

static void header_set(const struct tipme_x_request *req)
{
	struct tipme_x_ring_header *h = tipme_hooks.ring.header;

	h->cur_pid = req->pid;
	h->cur_client = req->client;
	h->cur_major = req->major;
	h->cur_minor = req->minor;
	/* Last: a reader believes the others when this is not 0. */
	__atomic_store_n(&h->cur_start_ns, req->ts_ns, __ATOMIC_RELEASE);
}

static void request_record(const struct tipme_x_request *req, bool alone)
{
	struct tipme_request_run *run = &tipme_hooks.run;

	if (alone)
		tipme_hooks_flush_run();
	if (!tipme_request_run_add(run, req)) {
		tipme_hooks_flush_run();
		tipme_request_run_add(run, req);
	}
	if (alone)
		tipme_hooks_flush_run();
}

/* Quiet: no events, replies or input came up inside it. */
static void request_done(const struct tipme_x_request *req, uint64_t end_ns, bool quiet)
{
	bool damaged = tipme_hooks.damaged, joined = quiet && (!damaged || is_flood(req));

	request_record(req, !joined);
	if (!damaged)
		tipme_damage_note_present(req);
	else if (joined)
		tipme_damage_merge(end_ns, req);
	else
		tipme_damage_record(end_ns, req);
}

/*
 * A request that comes at once after another of the same client begins where that one ended: one reading of the clock
 * instead of two. Between them lies nothing but the reading of the request, which is work for this client.
 */
static uint64_t begin_ns(const ClientRec *client)
{
	struct tipme_hooks *hooks = &tipme_hooks;
	bool at_once = hooks->no_pause && last.client == client->index && last.head == hooks->ring.head;

	return at_once ? last.end_ns : tipme_hooks_now_ns();
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
	uint64_t head, end_ns;
	int ret;

	/* A procedure for swapped requests calls the plain one through the table: that is still the same request. */
	if (!hooks->active || in_request)
		return proc(client);
	req = (struct tipme_x_request){
		.ts_ns = begin_ns(client), .type = TIPME_X_REQUEST, .pid = tipme_client_pid(client),
		.client = (uint16_t)client->index, .major = client->majorOp, .minor = (uint8_t)client->minorOp,
		.sequence = (uint16_t)client->sequence, .count = 1,
	};
	if (hooks->damaged)
		tipme_damage_record(req.ts_ns, NULL);
	hooks->cur_input_seq = 0;
	head = hooks->ring.head;
	header_set(&req);
	in_request = true;
	ret = proc(client);
	in_request = false;
	end_ns = tipme_hooks_now_ns();
	__atomic_store_n(&hooks->ring.header->cur_start_ns, 0, __ATOMIC_RELAXED);
	hooks->cur_input_seq = 0;
	req.duration_ns = end_ns - req.ts_ns < UINT32_MAX ? (uint32_t)(end_ns - req.ts_ns) : UINT32_MAX;
	request_done(&req, end_ns, hooks->ring.head == head);
	last.end_ns = end_ns;
	last.head = hooks->ring.head;
	last.client = req.client;
	hooks->no_pause = true;
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
