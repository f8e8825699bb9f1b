// SPDX-License-Identifier: GPL-2.0-only
/*
 * X clients that make other X clients wait: by a grab, a long request, many requests, by holding
 * input back, or by the selection that they have.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <xcb/xcb.h>

#include "report.h"

#define NS_PER_MS 1000000LL
#define SIDE 1024
#define FLOOD 4
#define KEY_HELD 53 /* x on an evdev keyboard */

struct xcause {
	xcb_connection_t *x;
	xcb_screen_t *screen;
	xcb_pixmap_t pixmap;
	xcb_gcontext_t gc;
	int64_t arg[3];
};

static void roundtrip(struct xcause *c)
{
	free(xcb_get_input_focus_reply(c->x, xcb_get_input_focus(c->x), NULL));
}

static void open_pixmap(struct xcause *c)
{
	uint32_t pixel_and_width[] = { c->screen->white_pixel, 60 };

	c->pixmap = xcb_generate_id(c->x);
	xcb_create_pixmap(c->x, c->screen->root_depth, c->pixmap, c->screen->root, SIDE, SIDE);
	c->gc = xcb_generate_id(c->x);
	xcb_create_gc(c->x, c->gc, c->pixmap, XCB_GC_FOREGROUND | XCB_GC_LINE_WIDTH,
		      pixel_and_width);
	roundtrip(c);
}

static int run_grab(struct xcause *c)
{
	sleep_until_ns(c->arg[0]);
	xcb_grab_server(c->x);
	roundtrip(c); /* the grab is active when it comes back */
	int64_t from = now_ns();

	sleep_until_ns(c->arg[1]);
	xcb_ungrab_server(c->x);
	int64_t to = now_ns();

	roundtrip(c);
	report_span("grab", (int)getpid(), from, to, 0);
	return 0;
}

/* Sends one request with so many wide arcs; the server takes long for each. */
static void send_arcs(struct xcause *c, uint32_t count)
{
	xcb_arc_t *arcs = calloc(count, sizeof(*arcs));

	for (uint32_t i = 0; i < count; i++)
		arcs[i] = (xcb_arc_t){ (int16_t)(30 + i % 7),	30, 900,
				       (uint16_t)(700 + i % 5), 0,  360 * 64 };
	xcb_poly_arc(c->x, c->pixmap, c->gc, count, arcs);
	xcb_flush(c->x);
	free(arcs);
}

static int64_t draw_arcs(struct xcause *c, uint32_t count, int64_t *from)
{
	*from = now_ns();
	send_arcs(c, count);
	roundtrip(c);
	return now_ns() - *from;
}

/* How many arcs take the server so many ms: it is tried out. */
static uint32_t arcs_for(struct xcause *c, int64_t ms)
{
	int64_t from, took = 0;
	uint32_t tried = 2;

	open_pixmap(c);
	for (draw_arcs(c, 1, &from);
	     tried < 1000 && (took = draw_arcs(c, tried, &from)) < 40 * NS_PER_MS;)
		tried *= 2;
	uint32_t count = (uint32_t)(ms * NS_PER_MS * tried / (took ? took : 1)) + 1;

	return count < 20000 ? count : 20000;
}

/* One request that lasts about so many ms. */
static int run_long(struct xcause *c)
{
	uint32_t count = arcs_for(c, c->arg[1]);
	int64_t from;

	sleep_until_ns(c->arg[0]);
	int64_t took = draw_arcs(c, count, &from);

	report_span("long", (int)getpid(), from, from + took, 0);
	return 0;
}

/*
 * One request after another, of some 15 ms each, until a time; four are always there, more would go
 * on long after it ends.
 */
static int run_flood(struct xcause *c)
{
	uint32_t count = arcs_for(c, 15);
	xcb_get_input_focus_cookie_t before[FLOOD];
	unsigned int sent = 0;

	sleep_until_ns(c->arg[0]);
	int64_t from = now_ns();

	while (now_ns() < c->arg[1]) {
		send_arcs(c, count);
		if (sent >= FLOOD)
			free(xcb_get_input_focus_reply(c->x, before[sent % FLOOD], NULL));
		before[sent++ % FLOOD] = xcb_get_input_focus(c->x);
	}
	roundtrip(c);
	report_span("flood", (int)getpid(), from, now_ns(), 0);
	return 0;
}

/*
 * A window manager that looks at each press first, and once takes its time before it lets it
 * through.
 */
static int run_hold(struct xcause *c)
{
	xcb_generic_event_t *e;

	xcb_grab_key(c->x, 1, c->screen->root, XCB_MOD_MASK_ANY, KEY_HELD, XCB_GRAB_MODE_ASYNC,
		     XCB_GRAB_MODE_SYNC);
	xcb_grab_button(c->x, 1, c->screen->root, XCB_EVENT_MASK_BUTTON_PRESS, XCB_GRAB_MODE_SYNC,
			XCB_GRAB_MODE_ASYNC, XCB_NONE, XCB_NONE, XCB_BUTTON_INDEX_1,
			XCB_MOD_MASK_ANY);
	roundtrip(c);
	report("ready %d\n", (int)getpid());
	while ((e = xcb_wait_for_event(c->x))) {
		uint8_t type = e->response_type & 0x7f;

		if (type == XCB_KEY_PRESS || type == XCB_BUTTON_PRESS) {
			int64_t from = now_ns();

			if (from >= c->arg[0])
				sleep_ns(c->arg[1] * NS_PER_MS);
			xcb_allow_events(c->x,
					 type == XCB_KEY_PRESS ? XCB_ALLOW_REPLAY_KEYBOARD
							       : XCB_ALLOW_REPLAY_POINTER,
					 XCB_CURRENT_TIME);
			xcb_flush(c->x);
			if (from >= c->arg[0])
				report_span("held", (int)getpid(), from, now_ns(), 0);
		}
		free(e);
	}
	return 0;
}

/* Has the server look for fonts in a folder, whose file system may take its time; FROM is when. */
static int run_fonts(struct xcause *c)
{
	const char *folder = getenv("LAB_FONTS");
	struct {
		uint8_t length;
		char name[255];
	} font = { 0 };
	xcb_generic_error_t *e;

	if (!folder || strlen(folder) >= sizeof(font.name))
		return -1;
	font.length = (uint8_t)strlen(folder);
	memcpy(font.name, folder, font.length);
	report("ready %d\n", (int)getpid());
	sleep_until_ns(c->arg[0]);
	int64_t from = now_ns();

	e = xcb_request_check(c->x, xcb_set_font_path_checked(c->x, 1, (xcb_str_t *)&font));
	report_span("fonts", (int)getpid(), from, now_ns(), 0);
	free(e);
	return 0;
}

/* Has the selection; whoever wants it waits for so many ms. */
static int run_own(struct xcause *c)
{
	xcb_window_t window = xcb_generate_id(c->x);
	xcb_generic_event_t *e;

	xcb_create_window(c->x, XCB_COPY_FROM_PARENT, window, c->screen->root, 0, 0, 1, 1, 0,
			  XCB_WINDOW_CLASS_INPUT_ONLY, XCB_COPY_FROM_PARENT, 0, NULL);
	xcb_set_selection_owner(c->x, window, XCB_ATOM_PRIMARY, XCB_CURRENT_TIME);
	roundtrip(c);
	report("ready %d\n", (int)getpid());
	while ((e = xcb_wait_for_event(c->x))) {
		xcb_selection_request_event_t *wanted = (xcb_selection_request_event_t *)e;

		if ((e->response_type & 0x7f) == XCB_SELECTION_REQUEST) {
			int64_t from = now_ns();
			xcb_selection_notify_event_t answer = {
				.response_type = XCB_SELECTION_NOTIFY,
				.time = wanted->time,
				.requestor = wanted->requestor,
				.selection = wanted->selection,
				.target = wanted->target,
			};

			sleep_ns(c->arg[1] * NS_PER_MS);
			report_span("serve", (int)getpid(), from, now_ns(), 0);
			xcb_send_event(c->x, 0, wanted->requestor, 0, (const char *)&answer);
			xcb_flush(c->x);
		}
		free(e);
	}
	return 0;
}

static const struct {
	const char *verb, *usage;
	int (*run)(struct xcause *c);
} verbs[] = {
	{ "grab", "FROM UNTIL", run_grab },   { "long", "FROM MS", run_long },
	{ "flood", "FROM UNTIL", run_flood }, { "hold", "FROM MS", run_hold },
	{ "fonts", "FROM MS", run_fonts },    { "own", "FROM MS", run_own },
};

int main(int argc, char **argv)
{
	struct xcause c = { 0 };

	for (size_t i = 0; argc == 5 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verbs[i].verb, argv[2]))
			continue;
		prctl(PR_SET_NAME, argv[1]);
		c.arg[0] = atoll(argv[3]);
		c.arg[1] = atoll(argv[4]);
		c.x = xcb_connect(NULL, NULL);
		if (xcb_connection_has_error(c.x)) {
			report("failed %s no X server\n", argv[2]);
			return 1;
		}
		c.screen = xcb_setup_roots_iterator(xcb_get_setup(c.x)).data;
		int rc = verbs[i].run(&c);

		xcb_disconnect(c.x);
		return rc ? 1 : 0;
	}
	fprintf(stderr,
		"usage: xcause NAME VERB FROM UNTIL|MS; times are CLOCK_MONOTONIC ns; verbs: grab, long, flood, hold, fonts, own\n");
	return 64;
}
