/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small X client that answers keys in known ways, and another that grabs the server: what the
 * whole-chain tests type on.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <xcb/xcb.h>

#include "lab/deeds.h"

/* Key codes of the letters on an evdev keyboard; each is an order. */
enum {
	KEY_COMPUTE = 54 /* c */,
	KEY_SLEEP = 39 /* s */,
	KEY_NOTHING = 57 /* n */,
	KEY_DEEDS = 53 /* x */,
	KEY_VAIN = 55 /* v */,
	KEY_LATER = 56 /* b */
};

struct client {
	xcb_connection_t *x;
	xcb_window_t window;
	xcb_gcontext_t gc[2];
	unsigned int drawn;
	unsigned int ms;
	/* each answer is told on standard output: from when to when it took, seen from inside */
	int told;
};

static struct timespec ms_to_timespec(unsigned int ms)
{
	return (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
}

static void sleep_ms(unsigned int ms)
{
	struct timespec t = ms_to_timespec(ms);

	while (nanosleep(&t, &t))
		;
}

/* CPU time, not wall time: what the client computes is the same under load. */
static void compute_ms(unsigned int ms)
{
	struct timespec t, end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	long long until = end.tv_sec * 1000LL + end.tv_nsec / 1000000 + ms;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec * 1000LL + t.tv_nsec / 1000000 < until);
}

static void draw(struct client *c)
{
	xcb_rectangle_t r = { 600, 350, 80, 80 };

	xcb_poly_fill_rectangle(c->x, c->window, c->gc[c->drawn++ % 2], 1, &r);
	xcb_flush(c->x);
}

static void roundtrip(void *arg)
{
	struct client *c = arg;

	free(xcb_get_input_focus_reply(c->x, xcb_get_input_focus(c->x), NULL));
}

static struct client *pastes;

/* As a toolkit does that wants the text at once. What else comes meanwhile is not looked at. */
static void paste(long long ms)
{
	struct pollfd p = { .fd = xcb_get_file_descriptor(pastes->x), .events = POLLIN };
	xcb_generic_event_t *e;

	xcb_convert_selection(pastes->x, pastes->window, XCB_ATOM_PRIMARY, XCB_ATOM_STRING,
			      XCB_ATOM_CUT_BUFFER0, XCB_CURRENT_TIME);
	xcb_flush(pastes->x);
	for (;;) {
		while ((e = xcb_poll_for_event(pastes->x))) {
			int is = (e->response_type & 0x7f) == XCB_SELECTION_NOTIFY;

			free(e);
			if (is)
				return;
		}
		if (poll(&p, 1, (int)ms) <= 0)
			return;
	}
}

static void answer_with_deeds(struct client *c)
{
	deeds_do(roundtrip, c);
	draw(c);
	deeds_tell();
}

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void answer_key(struct client *c, unsigned int code)
{
	long long from = now_ns();

	if (code == KEY_DEEDS)
		return answer_with_deeds(c);
	if (code == KEY_NOTHING)
		return;
	if (code == KEY_COMPUTE || code == KEY_VAIN)
		compute_ms(c->ms);
	if (code == KEY_SLEEP)
		sleep_ms(c->ms);
	if (code != KEY_VAIN)
		draw(c);
	if (c->told) {
		printf("%lld %lld\n", from, now_ns());
		fflush(stdout);
	}
	/* Nobody waits for that any more. */
	if (code == KEY_LATER)
		compute_ms(c->ms);
}

static void open_window(struct client *c, const char *title)
{
	xcb_screen_t *s = xcb_setup_roots_iterator(xcb_get_setup(c->x)).data;
	uint32_t values[] = { s->white_pixel, XCB_EVENT_MASK_KEY_PRESS |
						      XCB_EVENT_MASK_BUTTON_PRESS |
						      XCB_EVENT_MASK_EXPOSURE };

	c->window = xcb_generate_id(c->x);
	xcb_create_window(c->x, XCB_COPY_FROM_PARENT, c->window, s->root, 0, 0, s->width_in_pixels,
			  s->height_in_pixels, 0, XCB_WINDOW_CLASS_INPUT_OUTPUT, s->root_visual,
			  XCB_CW_BACK_PIXEL | XCB_CW_EVENT_MASK, values);
	xcb_change_property(c->x, XCB_PROP_MODE_REPLACE, c->window, XCB_ATOM_WM_NAME,
			    XCB_ATOM_STRING, 8, strlen(title), title);
	for (int i = 0; i < 2; i++) {
		uint32_t pixel = i ? s->white_pixel : s->black_pixel;

		c->gc[i] = xcb_generate_id(c->x);
		xcb_create_gc(c->x, c->gc[i], c->window, XCB_GC_FOREGROUND, &pixel);
	}
	xcb_map_window(c->x, c->window);
	xcb_flush(c->x);
}

static int serve_keys(struct client *c)
{
	xcb_generic_event_t *e;

	open_window(c, "tipme-stage");
	pastes = c;
	deeds_paste = paste;
	while ((e = xcb_wait_for_event(c->x))) {
		if ((e->response_type & 0x7f) == XCB_KEY_PRESS)
			answer_key(c, ((xcb_key_press_event_t *)e)->detail);
		else if ((e->response_type & 0x7f) == XCB_BUTTON_PRESS)
			answer_with_deeds(c);
		free(e);
	}
	return 0;
}

/* Waits, grabs the server, keeps it for `ms`, and goes. */
static int grab_server(struct client *c, unsigned int after_ms)
{
	sleep_ms(after_ms);
	xcb_grab_server(c->x);
	/* A round trip: the grab is active when it comes back. */
	free(xcb_get_input_focus_reply(c->x, xcb_get_input_focus(c->x), NULL));
	sleep_ms(c->ms);
	xcb_ungrab_server(c->x);
	free(xcb_get_input_focus_reply(c->x, xcb_get_input_focus(c->x), NULL));
	return 0;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/*
 * Wide arcs of the shortest dashes are what takes a server longest; into a pixmap, so that nobody
 * sees them.
 */
static void slow_arcs(struct client *c, xcb_pixmap_t pixmap, unsigned int count)
{
	xcb_arc_t *arcs = calloc(count, sizeof(*arcs));

	for (unsigned int i = 0; arcs && i < count; i++)
		arcs[i] =
			(xcb_arc_t){ (int16_t)(i % 16), (int16_t)(i % 16), 600, 500, 0, 360 * 64 };
	if (arcs)
		xcb_poly_arc(c->x, pixmap, c->gc[0], count, arcs);
	free(arcs);
}

/* Waits, then has the server work for about `ms`, in so many requests. */
static int flood_server(struct client *c, unsigned int requests, unsigned int after_ms)
{
	xcb_screen_t *s = xcb_setup_roots_iterator(xcb_get_setup(c->x)).data;
	uint32_t values[] = { 200, XCB_LINE_STYLE_ON_OFF_DASH, 1 };
	xcb_pixmap_t pixmap = xcb_generate_id(c->x);
	double one_ms;

	xcb_create_pixmap(c->x, s->root_depth, pixmap, s->root, 700, 600);
	c->gc[0] = xcb_generate_id(c->x);
	xcb_create_gc(c->x, c->gc[0], pixmap,
		      XCB_GC_LINE_WIDTH | XCB_GC_LINE_STYLE | XCB_GC_DASH_LIST, values);
	free(xcb_get_input_focus_reply(c->x, xcb_get_input_focus(c->x), NULL));
	one_ms = now_ms();
	slow_arcs(c, pixmap, 1);
	free(xcb_get_input_focus_reply(c->x, xcb_get_input_focus(c->x), NULL));
	one_ms = now_ms() - one_ms;
	sleep_ms(after_ms);
	for (unsigned int i = 0; i < requests; i++)
		slow_arcs(c, pixmap, 1 + (unsigned int)(c->ms / one_ms / requests));
	free(xcb_get_input_focus_reply(c->x, xcb_get_input_focus(c->x), NULL));
	return 0;
}

int main(int argc, char **argv)
{
	struct client c = { .ms = 700 };
	int after = -1, requests = 0, opt;

	while ((opt = getopt(argc, argv, "d:f:g:m:n:t")) != -1) {
		switch (opt) {
		case 'd':
			if (*optarg && deeds_open(optarg))
				return 1;
			break;
		case 'f': requests = atoi(optarg); break;
		case 'g': after = atoi(optarg); break;
		case 'm': c.ms = atoi(optarg); break;
		case 't': c.told = 1; break;
		case 'n': prctl(PR_SET_NAME, optarg); break;
		default:
			fprintf(stderr,
				"usage: client [-m MS] [-n NAME] [-t] [-g MS-BEFORE-THE-GRAB [-f SLOW-REQUESTS-INSTEAD]] [-d DEEDS]\n");
			return 64;
		}
	}
	c.x = xcb_connect(NULL, NULL);
	if (xcb_connection_has_error(c.x)) {
		fprintf(stderr, "client: no X server at DISPLAY=%s\n",
			getenv("DISPLAY") ? getenv("DISPLAY") : "");
		return 1;
	}
	int rc = after >= 0 && requests > 0
			 ? flood_server(&c, (unsigned int)requests, (unsigned int)after)
		 : after >= 0 ? grab_server(&c, after)
			      : serve_keys(&c);

	xcb_disconnect(c.x);
	return rc;
}
