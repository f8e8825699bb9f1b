// SPDX-License-Identifier: GPL-2.0-only
/*
 * The observer of an X server without hooks: connects, asks to be told, and writes down what it is
 * told.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <xcb/xcbext.h>
#include <xcb/xinput.h>

#include "clock.h"
#include "observer_impl.h"
#include "small_file.h"

#define TICK_NS 100000000ULL
#define RING_KIB 2048

void observer_arm_tick(struct tipme_observer *o)
{
	if (!o->tick_ns)
		o->tick_ns = tipme_clock_ns() + TICK_NS;
}

static int refuse(char *why, size_t why_len, int err, const char *sentence)
{
	snprintf(why, why_len, "%s", sentence);
	return err;
}

/*
 * The server's process is known where the connection is a local one; elsewhere its clock is another
 * anyway.
 */
static int server_identify(struct tipme_observer *o, const char *display)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	char path[64], *host = NULL;
	int number = 0, screen;

	if (getsockopt(xcb_get_file_descriptor(o->x), SOL_SOCKET, SO_PEERCRED, &peer, &len) ||
	    peer.pid <= 0)
		return -EREMOTE;
	if (xcb_parse_display(display, &host, &number, &screen))
		o->display = (unsigned)number;
	free(host);
	o->server_pid = peer.pid;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)peer.pid);
	if (!tipme_file_line(path, o->server_name, sizeof(o->server_name)))
		strcpy(o->server_name, "X");
	return 0;
}

static int connect_server(struct tipme_observer *o, const char *display, char *why, size_t why_len)
{
	int screen = 0;

	o->x = xcb_connect(display, &screen);
	o->data = xcb_connect(display, NULL);
	if (xcb_connection_has_error(o->x) || xcb_connection_has_error(o->data))
		return refuse(
			why, why_len, -ECONNREFUSED,
			"the X server does not let us in: set DISPLAY and XAUTHORITY of the session");
	o->setup = xcb_get_setup(o->x);
	xcb_screen_iterator_t it = xcb_setup_roots_iterator(o->setup);

	for (; it.rem > 1 && screen > 0; screen--)
		xcb_screen_next(&it);
	o->root = it.data->root;
	/* The bit above is not the client's. */
	o->client_mask = 0x1fffffff & ~o->setup->resource_id_mask;
	o->client_shift = (unsigned)__builtin_popcount(o->setup->resource_id_mask);
	o->own_base[0] = o->setup->resource_id_base;
	o->own_base[1] = xcb_get_setup(o->data)->resource_id_base;
	if (server_identify(o, display))
		return refuse(why, why_len, -EREMOTE,
			      "the X server is on another machine: run the recorder there");
	return 0;
}

/* A property of our own that changes brings the server's time. */
static int clock_tie(struct tipme_observer *o)
{
	xcb_window_t w = xcb_generate_id(o->x);
	uint32_t mask = XCB_EVENT_MASK_PROPERTY_CHANGE;
	uint64_t before_ns = tipme_clock_ns();
	bool tied = false;

	xcb_create_window(o->x, 0, w, o->root, -1, -1, 1, 1, 0, XCB_WINDOW_CLASS_INPUT_ONLY,
			  XCB_COPY_FROM_PARENT, XCB_CW_EVENT_MASK, &mask);
	xcb_change_property(o->x, XCB_PROP_MODE_REPLACE, w, XCB_ATOM_WM_NAME, XCB_ATOM_STRING, 8, 5,
			    "tipme");
	xcb_destroy_window(o->x, w);
	free(xcb_get_input_focus_reply(o->x, xcb_get_input_focus(o->x), NULL));
	uint64_t after_ns = tipme_clock_ns();

	for (xcb_generic_event_t *e; (e = xcb_poll_for_event(o->x)); free(e)) {
		if ((e->response_type & 0x7f) != XCB_PROPERTY_NOTIFY)
			continue;
		tipme_x_time_tie(&o->time, ((xcb_property_notify_event_t *)e)->time, before_ns,
				 after_ns);
		tied = true;
	}
	return tied ? 0 : -EPROTO;
}

static bool extension_is_there(xcb_connection_t *x, xcb_extension_t *extension)
{
	const xcb_query_extension_reply_t *e = xcb_get_extension_data(x, extension);

	return e && e->present;
}

static bool damage_open(struct tipme_observer *o)
{
	xcb_damage_query_version_reply_t *v;

	if (!extension_is_there(o->x, &xcb_damage_id))
		return false;
	v = xcb_damage_query_version_reply(o->x, xcb_damage_query_version(o->x, 1, 1), NULL);
	o->damage_event =
		xcb_get_extension_data(o->x, &xcb_damage_id)->first_event + XCB_DAMAGE_NOTIFY;
	free(v);
	return v != NULL;
}

/*
 * Raw events come even when a grab or a focus on nothing keeps an event from everybody: they tell
 * us to look what RECORD has.
 */
static void xinput_open(struct tipme_observer *o)
{
	struct {
		xcb_input_event_mask_t head;
		uint32_t mask;
	} want = {
		.head = { .deviceid = XCB_INPUT_DEVICE_ALL_MASTER, .mask_len = 1 },
		.mask = XCB_INPUT_XI_EVENT_MASK_RAW_KEY_PRESS |
			XCB_INPUT_XI_EVENT_MASK_RAW_KEY_RELEASE |
			XCB_INPUT_XI_EVENT_MASK_RAW_BUTTON_PRESS |
			XCB_INPUT_XI_EVENT_MASK_RAW_BUTTON_RELEASE |
			XCB_INPUT_XI_EVENT_MASK_RAW_TOUCH_BEGIN |
			XCB_INPUT_XI_EVENT_MASK_RAW_TOUCH_END,
	};

	if (!extension_is_there(o->x, &xcb_input_id))
		return;
	free(xcb_input_xi_query_version_reply(o->x, xcb_input_xi_query_version(o->x, 2, 2), NULL));
	o->xinput_major = xcb_get_extension_data(o->x, &xcb_input_id)->major_opcode;
	xcb_input_xi_select_events(o->x, o->root, 1, &want.head);
}

/*
 * What is told to us, and to nobody else. A change of the screen bears a time of its own, but where
 * input waits to be processed the server does not look at its clock for that: it may be older than
 * the key that the change answers. RECORD looks, and tells both in their order.
 */
static xcb_void_cookie_t record_own(struct tipme_observer *o)
{
	xcb_record_client_spec_t own = o->own_base[0];
	xcb_record_range_t range[2] = {
		{ .delivered_events = { XCB_MAP_NOTIFY, XCB_MAP_NOTIFY } },
		{ .delivered_events = { o->damage_event, o->damage_event } },
	};

	return xcb_record_register_clients_checked(
		o->x, o->context, XCB_RECORD_H_TYPE_FROM_SERVER_TIME, 1, 2, &own, range);
}

static bool record_done(struct tipme_observer *o, xcb_void_cookie_t request)
{
	xcb_generic_error_t *err = xcb_request_check(o->x, request);

	free(err);
	return !err;
}

/* Events only: all requests would make the server several times slower. */
static bool record_open(struct tipme_observer *o)
{
	xcb_record_client_spec_t all = XCB_RECORD_CS_ALL_CLIENTS;
	xcb_record_range_t range[2] = {
		{ .delivered_events = { XCB_KEY_PRESS, XCB_MOTION_NOTIFY },
		  .device_events = { XCB_KEY_PRESS, XCB_MOTION_NOTIFY },
		  .client_started = 1,
		  .client_died = 1 },
		{ .delivered_events = { XCB_GE_GENERIC, XCB_GE_GENERIC } },
	};

	if (!extension_is_there(o->x, &xcb_record_id) ||
	    !extension_is_there(o->data, &xcb_record_id))
		return false;
	free(xcb_record_query_version_reply(o->x, xcb_record_query_version(o->x, 1, 13), NULL));
	o->context = xcb_generate_id(o->x);
	if (!record_done(o, xcb_record_create_context_checked(o->x, o->context,
							      XCB_RECORD_H_TYPE_FROM_SERVER_TIME, 1,
							      2, &all, range)) ||
	    !record_done(o, record_own(o)))
		return false;
	o->context_sequence = xcb_record_enable_context(o->data, o->context).sequence;
	xcb_flush(o->data);
	return true;
}

static int ring_open(struct tipme_observer *o, unsigned kib)
{
	int err =
		tipme_xring_open(&o->ring, tipme_xring_log2(kib ? kib : RING_KIB), o->server_name);

	if (err)
		return err;
	/* The records are about the server's thread, not about ours. */
	o->ring.tid = (uint32_t)o->server_pid;
	o->ring.header->server_pid = o->ring.header->server_tid = (uint32_t)o->server_pid;
	o->ring.header->display = o->display;
	o->ring.header->source = TIPME_SOURCE_X_CLIENT;
	return 0;
}

static int open_all(struct tipme_observer *o, const struct tipme_observer_options *options,
		    char *why, size_t why_len)
{
	int err = connect_server(o, options->display, why, why_len);

	if (err)
		return err;
	if (ring_open(o, options->ring_kib))
		return refuse(why, why_len, -ENOMEM, "no memory for the ring: take a smaller one");
	if (clock_tie(o))
		return refuse(why, why_len, -EPROTO, "the X server does not tell its time");
	if (!damage_open(o))
		return refuse(
			why, why_len, -ENOSYS,
			"the X server has no DAMAGE extension: what changes on the screen cannot be seen");
	if (observer_clients_open(o))
		return refuse(
			why, why_len, -ENOSYS,
			"the X server has no X-Resource extension 1.2: whose windows are whose cannot be seen");
	xinput_open(o);
	if (!record_open(o))
		return refuse(
			why, why_len, -ENOSYS,
			"the X server has no RECORD extension: to whom input goes cannot be seen");
	observer_windows_open(o);
	observer_offer_open(o, options->rundir);
	return 0;
}

int tipme_observer_open(const struct tipme_observer_options *options,
			struct tipme_observer **observer, char *why, size_t why_len)
{
	struct tipme_observer *o = calloc(1, sizeof(*o));

	*observer = NULL;
	if (!o)
		return refuse(why, why_len, -ENOMEM, "no memory");
	o->sock = o->ring.fd = -1;
	int err = open_all(o, options, why, why_len);

	if (err) {
		tipme_observer_close(o);
		return err;
	}
	*observer = o;
	return 0;
}

void tipme_observer_close(struct tipme_observer *o)
{
	if (!o)
		return;
	observer_offer_close(o);
	if (o->x)
		xcb_disconnect(o->x);
	if (o->data)
		xcb_disconnect(o->data);
	tipme_xring_close(&o->ring);
	free(o);
}

static void put_device(struct tipme_observer *o, const struct tipme_x_event *e, uint64_t ts_ns)
{
	struct tipme_x_device rec = {
		.ts_ns = ts_ns,
		.type = TIPME_X_DEVICE,
		.input_seq = tipme_x_recent_add(&o->recent, e),
		.server_ms = e->time_ms - (uint32_t)o->time.ahead_ms,
		.device = e->device,
		.kind = e->kind,
	};

	tipme_xring_put(&o->ring, &rec);
}

static void put_delivery(struct tipme_observer *o, const struct tipme_x_event *e, uint32_t client,
			 uint64_t ts_ns)
{
	struct tipme_x_deliver rec = {
		.ts_ns = ts_ns,
		.type = TIPME_X_DELIVER,
		.pid = observer_pid_of(o, client),
		.window = e->window,
		.input_seq = tipme_x_recent_find(&o->recent, e),
		.client = (uint16_t)observer_client_of(o, client),
		.kind = e->kind,
		.x_type = e->x_type,
	};

	/* Not from a device: one client sent it to another. */
	if (rec.input_seq)
		tipme_xring_put(&o->ring, &rec);
}

static void take_change(struct tipme_observer *o, const uint8_t *element)
{
	uint32_t server_ms;
	xcb_damage_notify_event_t e;

	memcpy(&server_ms, element, sizeof(server_ms));
	memcpy(&e, element + sizeof(server_ms), sizeof(e));
	observer_damaged(o, &e, tipme_x_time_ns(&o->time, server_ms, tipme_clock_ns()));
}

/*
 * base 0: an event of a device; else it was delivered to that client. Of windows only what is told
 * to ourselves comes here.
 */
static void take_element(struct tipme_observer *o, uint32_t base, const uint8_t *element,
			 size_t len)
{
	struct tipme_x_event e;

	if ((element[4] & 0x7f) == o->damage_event) {
		take_change(o, element);
		return;
	}
	if (!tipme_x_event_read(&e, element, len))
		return;
	uint64_t ts_ns = tipme_x_time_ns(&o->time, e.server_ms, tipme_clock_ns());

	if (e.mapped) {
		observer_put_damage(o, e.window, ts_ns, 0, 0);
	} else if (!base) {
		/* Devices speak the core protocol here, and XI once more. */
		if (e.x_type < 64)
			put_device(o, &e, ts_ns);
	} else if (!observer_is_own(o, base)) {
		put_delivery(o, &e, base, ts_ns);
	}
}

static void take_recorded(struct tipme_observer *o, xcb_record_enable_context_reply_t *r)
{
	const uint8_t *data = xcb_record_enable_context_data(r);
	size_t len = (size_t)xcb_record_enable_context_data_length(r);
	uint64_t ts_ns = tipme_x_time_ns(&o->time, r->server_time, tipme_clock_ns());

	if (r->category == TIPME_X_CLIENT_STARTED)
		observer_client_started(o, r->xid_base, ts_ns);
	else if (r->category == TIPME_X_CLIENT_DIED)
		observer_client_died(o, r->xid_base, ts_ns);
	if (r->category != TIPME_X_FROM_SERVER)
		return;
	/* Of a client with the other byte order the events are in that. */
	for (size_t at = 0; !r->client_swapped && at + TIPME_X_ELEMENT_BYTES <= len;
	     at += TIPME_X_ELEMENT_BYTES)
		take_element(o, r->xid_base, data + at, len - at);
}

static void take_event(struct tipme_observer *o, xcb_generic_event_t *e)
{
	uint8_t type = e->response_type & 0x7f;

	/* Changes of the screen are taken from what RECORD tells of the same events. */
	if (type == XCB_MAP_NOTIFY)
		observer_window_appeared(o, ((xcb_map_notify_event_t *)e)->window);
	else if (type == XCB_REPARENT_NOTIFY)
		observer_window_appeared(o, ((xcb_reparent_notify_event_t *)e)->window);
	else if (type == XCB_DESTROY_NOTIFY)
		observer_window_gone(o, ((xcb_destroy_notify_event_t *)e)->window);
	else if (type == XCB_GE_GENERIC)
		observer_arm_tick(o);
}

/*
 * What RECORD holds back comes out whenever the server writes to anybody: so we have it write to
 * us.
 */
static void tick(struct tipme_observer *o, uint64_t now_ns)
{
	if (!o->tick_ns || now_ns < o->tick_ns)
		return;
	o->tick_ns = 0;
	if (observer_windows_tick(o))
		observer_arm_tick(o);
	xcb_discard_reply(o->x, xcb_get_input_focus(o->x).sequence);
}

static bool take_answers(struct tipme_observer *o)
{
	void *reply;
	xcb_generic_error_t *err = NULL;
	bool some = false;

	while (xcb_poll_for_reply(o->data, o->context_sequence, &reply, &err) && reply) {
		take_recorded(o, reply);
		free(reply);
		some = true;
	}
	free(err);
	return some;
}

/*
 * Until nothing is there: while a question is answered events come in that no poll() would tell of.
 */
static int take_all(struct tipme_observer *o)
{
	do
		for (xcb_generic_event_t *e; (e = xcb_poll_for_event(o->x)); free(e))
			take_event(o, e);
	while (take_answers(o));
	return xcb_connection_has_error(o->x) || xcb_connection_has_error(o->data) ? -ECONNRESET
										   : 0;
}

int tipme_observer_step(struct tipme_observer *o, char *why, size_t why_len)
{
	int err = take_all(o);

	if (err)
		return refuse(why, why_len, err, "the X server has gone");
	uint64_t now_ns = tipme_clock_ns();

	tick(o, now_ns);
	xcb_flush(o->x);
	return observer_offer_step(o, now_ns, why, why_len);
}

int tipme_observer_poll(const struct tipme_observer *o, struct pollfd fds[TIPME_OBSERVER_FDS],
			int *timeout_ms)
{
	uint64_t now_ns = tipme_clock_ns();
	int tick_ms = !o->tick_ns	     ? -1
		      : now_ns >= o->tick_ns ? 0
					     : (int)((o->tick_ns - now_ns) / 1000000) + 1;
	int offer_ms = observer_offer_timeout_ms(o, now_ns);

	*timeout_ms = tick_ms < 0			   ? offer_ms
		      : offer_ms < 0 || tick_ms < offer_ms ? tick_ms
							   : offer_ms;
	fds[0] = (struct pollfd){ .fd = xcb_get_file_descriptor(o->x), .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = xcb_get_file_descriptor(o->data), .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = o->sock, .events = POLLIN };
	return o->sock < 0 ? 2 : 3;
}
