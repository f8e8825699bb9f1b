// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose a resource is: the server's number of the client stands in its name, X-Resource knows the
 * process.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <xcb/res.h>

#include "clock.h"
#include "observer_impl.h"

unsigned observer_client_of(const struct tipme_observer *o, uint32_t resource)
{
	return ((resource & o->client_mask) >> o->client_shift) % OBSERVER_CLIENTS;
}

uint32_t observer_pid_of(const struct tipme_observer *o, uint32_t resource)
{
	return o->pid_of[observer_client_of(o, resource)];
}

bool observer_is_own(const struct tipme_observer *o, uint32_t resource)
{
	uint32_t base = resource & o->client_mask;

	return base == o->own_base[0] || base == o->own_base[1];
}

static void put_client(struct tipme_observer *o, uint32_t base, uint8_t state, uint64_t ts_ns)
{
	struct tipme_x_client rec = {
		.ts_ns = ts_ns,
		.type = TIPME_X_CLIENT,
		.pid = observer_pid_of(o, base),
		.client = (uint16_t)observer_client_of(o, base),
		.state = state,
	};

	tipme_xring_put(&o->ring, &rec);
}

/* base 0 asks for all clients. Returns false where the server does not tell. */
static bool ask_pids(struct tipme_observer *o, uint32_t base)
{
	xcb_res_client_id_spec_t spec = { .client = base,
					  .mask = XCB_RES_CLIENT_ID_MASK_LOCAL_CLIENT_PID };
	xcb_res_query_client_ids_reply_t *reply = xcb_res_query_client_ids_reply(
		o->x, xcb_res_query_client_ids(o->x, 1, &spec), NULL);

	if (!reply)
		return false;
	for (xcb_res_client_id_value_iterator_t it = xcb_res_query_client_ids_ids_iterator(reply);
	     it.rem; xcb_res_client_id_value_next(&it))
		if ((it.data->spec.mask & XCB_RES_CLIENT_ID_MASK_LOCAL_CLIENT_PID) &&
		    it.data->length >= 4)
			o->pid_of[observer_client_of(o, it.data->spec.client)] =
				*xcb_res_client_id_value_value(it.data);
	free(reply);
	return true;
}

int observer_clients_open(struct tipme_observer *o)
{
	xcb_res_query_version_reply_t *v =
		xcb_res_query_version_reply(o->x, xcb_res_query_version(o->x, 1, 2), NULL);
	bool new_enough = v && (v->server_major > 1 || v->server_minor >= 2);

	free(v);
	if (!new_enough || !ask_pids(o, 0))
		return -ENOSYS;
	for (unsigned i = 0; i < OBSERVER_CLIENTS; i++)
		if (o->pid_of[i])
			put_client(o, i << o->client_shift, TIPME_X_CLIENT_STATE_PRESENT,
				   tipme_clock_ns());
	return 0;
}

void observer_client_started(struct tipme_observer *o, uint32_t base, uint64_t ts_ns)
{
	o->pid_of[observer_client_of(o, base)] = 0;
	ask_pids(o, base);
	put_client(o, base, TIPME_X_CLIENT_STATE_CONNECTED, ts_ns);
}

/*
 * The process stays known until the number is given to another: what it did is told after it died.
 */
void observer_client_died(struct tipme_observer *o, uint32_t base, uint64_t ts_ns)
{
	put_client(o, base, TIPME_X_CLIENT_STATE_GONE, ts_ns);
}
