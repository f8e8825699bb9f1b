// SPDX-License-Identifier: GPL-2.0-only
/* Requests: wraps the server's tables of request procedures in place. */
#include "config.h"

#include <stddef.h>

#include "hooks.h"

typedef int (*request_proc)(ClientPtr);

/*
 * In a flood the clock is not read after each request but after some of them: reading it is most of
 * what a record costs. What was executed since the last reading waits here, a few short requests at
 * most, and is recorded with the next.
 */
#define UNTIMED_MAX 15
#define UNTIMED_NS 200000
/* count 0: none */
static struct tipme_x_request untimed TIPME_HOT_DATA __attribute__((aligned(64)));

/*
 * Where the last request ended, how many records there were then, and how many may follow untimed.
 */
static struct {
	uint64_t end_ns;
	uint64_t head;
	uint32_t pid;
	int client;
	unsigned left;
} last TIPME_HOT_DATA;

/*
 * By opcode: opcodes that nothing else here wants to know of; those of them that change nothing
 * that is seen; which of the two may go untimed now.
 */
#define PLAIN 1
#define HARMLESS 2
static uint8_t traits[256] TIPME_HOT_TABLE;
static uint8_t untimed_ones TIPME_HOT_DATA = HARMLESS;
static request_proc real_procs[256] TIPME_HOT_CLIENTS;
static request_proc real_swapped_procs[256];

TIPME_ASSERT(offsetof(struct tipme_x_ring_header, cur_pid) % 8 == 0);
TIPME_ASSERT(offsetof(struct tipme_x_ring_header, cur_client) ==
	     offsetof(struct tipme_x_ring_header, cur_pid) + 4);
TIPME_ASSERT(offsetof(struct tipme_x_ring_header, cur_major) ==
	     offsetof(struct tipme_x_ring_header, cur_pid) + 6);
TIPME_ASSERT(offsetof(struct tipme_x_ring_header, cur_minor) ==
	     offsetof(struct tipme_x_ring_header, cur_pid) + 7);

static inline void header_set(uint64_t start_ns, uint32_t pid, uint16_t client, uint8_t major,
			      uint8_t minor)
{
	struct tipme_x_ring_header *h = tipme_hooks.ring.header;
	uint64_t who = pid | (uint64_t)client << 32 | (uint64_t)major << 48 | (uint64_t)minor << 56;

	/* The four fields at once. */
	__atomic_store_n((uint64_t *)(void *)&h->cur_pid, who, __ATOMIC_RELAXED);
	/* Last: a reader believes the others when this is not 0. */
	__atomic_store_n(&h->cur_start_ns, start_ns, __ATOMIC_RELEASE);
}

/*
 * Quiet: no events, replies, input or damage came up inside it. Others are joined in floods only.
 */
static TIPME_HOT_REQUEST bool request_record(struct tipme_x_group *group,
					     const struct tipme_x_request *req, bool quiet)
{
	struct tipme_xring *ring = &tipme_hooks.ring;
	struct tipme_join *join = &group->request;
	bool flood = tipme_join_flood(join, req->ts_ns);

	/* Outside of floods nothing may lie between the requests of a run. */
	if (!flood && (!quiet || ring->head != group->run_head))
		tipme_request_run_end(&group->run);
	if (!tipme_request_run_add(&group->run, req, flood) ||
	    !tipme_request_run_amend(&group->run, ring, join->index)) {
		group->run.rec = *req;
		tipme_join_begin(join, ring, 1, req);
	}
	if (!flood && !quiet)
		tipme_request_run_end(&group->run);
	group->run_head = ring->head;
	return flood;
}

/*
 * How many may follow untimed: as many as take UNTIMED_NS if they are like those just recorded. So
 * much too early may one begin that hangs.
 */
static inline unsigned untimed_left(const struct tipme_x_request *req)
{
	uint32_t each_ns = req->duration_ns / req->count;
	uint32_t left = each_ns ? UNTIMED_NS / each_ns : UNTIMED_MAX;

	return left < UNTIMED_MAX ? left : UNTIMED_MAX;
}

static TIPME_HOT_REQUEST void request_end(struct tipme_x_request *req, uint64_t end_ns, bool quiet)
{
	struct tipme_hooks *hooks = &tipme_hooks;
	struct tipme_x_group *group = tipme_group_of(req->client);
	bool flood;

	req->duration_ns =
		end_ns - req->ts_ns < UINT32_MAX ? (uint32_t)(end_ns - req->ts_ns) : UINT32_MAX;
	flood = request_record(group, req, quiet);
	if (hooks->damaged)
		tipme_damage_record(end_ns, req);
	else if (hooks->resting)
		tipme_damage_assume(group, req, end_ns);
	last.end_ns = end_ns;
	last.head = hooks->ring.head;
	last.client = req->client;
	last.pid = req->pid;
	last.left = flood ? untimed_left(req) : 0;
	untimed_ones = tipme_damage_told(req->client) ? PLAIN : HARMLESS;
}

static TIPME_HOT __attribute__((noinline)) void settle(uint64_t now_ns)
{
	struct tipme_x_request req = untimed;

	untimed.count = 0;
	request_end(&req, now_ns, true);
}

TIPME_HOT_INPUT void tipme_requests_settle(uint64_t now_ns)
{
	if (untimed.count)
		settle(now_ns);
}

/*
 * A request that comes at once after another of the same client begins where that one ended: one
 * reading of the clock instead of two. Between them lies nothing but the reading of the request,
 * which is work for this client.
 */
static TIPME_INLINE bool comes_at_once(const ClientRec *client)
{
	return tipme_hooks.no_pause && last.client == client->index &&
	       last.head == tipme_hooks.ring.head;
}

static TIPME_HOT_REQUEST uint64_t begin_ns(bool at_once)
{
	uint64_t now_ns;

	if (at_once)
		return last.end_ns;
	now_ns = tipme_hooks_now_ns();
	tipme_requests_settle(now_ns);
	return now_ns;
}

TIPME_HOT_SECTION(tipme_code_request);

/* The first request since the server has slept: see hot.h. */
static TIPME_HOT_REQUEST void request_fetch(const ClientRec *client)
{
	const struct tipme_x_group *group = &tipme_groups[client->index & (TIPME_GROUPS - 1)];

	tipme_hot_fetch((const char *)group, (const char *)(group + 1));
	tipme_target_fetch(client->majorOp);
	(void)*(const volatile uint8_t *)&traits[client->majorOp];
	tipme_hot_fetch(tipme_code_request_begin, tipme_code_request_end);
	tipme_hooks.request_forgotten = false;
}

/*
 * Arguments: the client whose request it is, the server's own procedure.
 * Returns: what that returns.
 * Side effects: records. The procedure may free the client (KillClient on itself), so nothing of it
 * is read afterwards.
 */
static TIPME_HOT_REQUEST __attribute__((noinline)) int request_execute(ClientPtr client,
								       request_proc proc)
{
	struct tipme_hooks *hooks = &tipme_hooks;
	struct tipme_x_request req;
	XID drawn_on = 0;
	uint64_t head, start_ns;
	bool at_once, quiet;
	int ret;

	/*
	 * A procedure for swapped requests calls the plain one through the table: that is still the
	 * same request.
	 */
	if (!hooks->active || hooks->in_request)
		return proc(client);
	if (hooks->request_forgotten)
		request_fetch(client);
	at_once = comes_at_once(client);
	/* Before the count: it may end the run of untimed ones. */
	start_ns = begin_ns(at_once);
	req = (struct tipme_x_request){
		.ts_ns = start_ns,
		.type = TIPME_X_REQUEST,
		.pid = tipme_group_of(client->index)->pid,
		.client = (uint16_t)client->index,
		.major = client->majorOp,
		.minor = (uint8_t)client->minorOp,
		.sequence = (uint16_t)client->sequence,
		.count = (uint16_t)(untimed.count + 1),
	};
	if (hooks->damaged)
		tipme_damage_record(req.ts_ns, NULL);
	hooks->cur_input_seq = 0;
	hooks->request_ns = req.ts_ns;
	if (!(traits[req.major] & HARMLESS))
		drawn_on = tipme_damage_before(client, &req);
	if (!(traits[req.major] & PLAIN)) {
		tipme_present_begin(client, &req);
		tipme_frames_request(client, &req);
		tipme_input_request(req.major, req.minor);
	}
	head = hooks->ring.head;
	header_set(req.ts_ns, req.pid, req.client, req.major, req.minor);
	hooks->in_request = true;
	ret = proc(client);
	hooks->in_request = false;
	__atomic_store_n(&hooks->ring.header->cur_start_ns, 0, __ATOMIC_RELAXED);
	hooks->cur_input_seq = 0;
	if (drawn_on && ret == Success)
		tipme_damage_drawn(&req, drawn_on);
	quiet = hooks->ring.head == head && !hooks->damaged;
	hooks->no_pause = true;
	untimed.count = 0;
	request_end(&req, tipme_hooks_now_ns(), quiet);
	return ret;
}

/* One more of a flood, of which the clock need not be read and nothing else be known. */
static inline bool goes_untimed(const ClientRec *client)
{
	const struct tipme_hooks *hooks = &tipme_hooks;

	return last.left && comes_at_once(client) && traits[client->majorOp] & untimed_ones &&
	       hooks->active && !hooks->in_request && !hooks->damaged;
}

/* It was more than it seemed, and so ends like any other. */
static TIPME_HOT __attribute__((noinline)) void untimed_end(void)
{
	struct tipme_x_request req = untimed;

	untimed.count = 0;
	tipme_hooks.cur_input_seq = 0;
	request_end(&req, tipme_hooks_now_ns(), false);
}

/*
 * What request_execute() does, for such a one, with as little as can be: all of it is paid for each
 * request of a flood. That what it draws need not be looked at the last timed one has seen to.
 */
static TIPME_HOT __attribute__((noinline)) int request_untimed(ClientPtr client, request_proc proc)
{
	struct tipme_hooks *hooks = &tipme_hooks;
	struct tipme_x_ring_header *header = hooks->ring.header;
	int ret;

	last.left--;
	if (!untimed.count)
		untimed = (struct tipme_x_request){
			.ts_ns = last.end_ns,
			.type = TIPME_X_REQUEST,
			.pid = last.pid,
			.client = (uint16_t)last.client,
		};
	untimed.major = client->majorOp;
	untimed.minor = (uint8_t)client->minorOp;
	untimed.sequence = (uint16_t)client->sequence;
	untimed.count++;
	hooks->cur_input_seq = 0;
	hooks->request_ns = last.end_ns;
	header_set(last.end_ns, last.pid, (uint16_t)last.client, client->majorOp,
		   (uint8_t)client->minorOp);
	hooks->in_request = true;
	ret = proc(client);
	hooks->in_request = false;
	__atomic_store_n(&header->cur_start_ns, 0, __ATOMIC_RELAXED);
	if (__builtin_expect(hooks->ring.head != last.head || hooks->damaged, 0))
		untimed_end();
	return ret;
}

static TIPME_HOT_REQUEST int request(ClientPtr client, request_proc proc)
{
	return goes_untimed(client) ? request_untimed(client, proc) : request_execute(client, proc);
}

static TIPME_HOT_REQUEST int on_request(ClientPtr client)
{
	return request(client, real_procs[client->majorOp]);
}

static TIPME_HOT_REQUEST int on_swapped_request(ClientPtr client)
{
	return request(client, real_swapped_procs[client->majorOp]);
}

static bool is_wrapped(request_proc proc)
{
	return proc == on_request || proc == on_swapped_request;
}

void tipme_requests_wrap(void)
{
	tipme_target_init();
	for (int major = 0; major < 256; major++) {
		bool plain = !tipme_input_concerns((uint8_t)major) &&
			     !tipme_present_concerns((uint8_t)major) &&
			     !tipme_frames_concerns((uint8_t)major);

		traits[major] = !plain					? 0
				: tipme_target_harmless((uint8_t)major) ? PLAIN | HARMLESS
									: PLAIN;
	}
	for (int major = 0; major < 256; major++) {
		if (!is_wrapped(ProcVector[major])) {
			real_procs[major] = ProcVector[major];
			ProcVector[major] = on_request;
		}
		if (!is_wrapped(SwappedProcVector[major])) {
			real_swapped_procs[major] = SwappedProcVector[major];
			SwappedProcVector[major] = on_swapped_request;
		}
	}
}

void tipme_requests_unwrap(void)
{
	for (int major = 0; major < 256; major++) {
		if (ProcVector[major] == on_request)
			ProcVector[major] = real_procs[major];
		if (SwappedProcVector[major] == on_swapped_request)
			SwappedProcVector[major] = real_swapped_procs[major];
	}
}
