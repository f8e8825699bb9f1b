// SPDX-License-Identifier: GPL-2.0-only
/* The outside witness: an X client, no part of the recorder, that prints when a window changed on
 * the screen, how long the server let a request wait, and how late the witness itself got a CPU.
 * One thread; each line is one write; ends with its server or by a signal. */
#include "config.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xcb/damage.h>
#include <xcb/xcb.h>
#include <xcb/xcbext.h>

#define TICK_NS 10000000LL /* between two questions to the server */
#define TELL_NS 10000000LL /* a shorter wait is not worth a line */
/* more are not fetched: the server would be kept busy by its witness */
#define MAX_PIXELS 65536

static const char usage[] =
	"usage: tipme-witness X Y WIDTH HEIGHT\n"
	"\n"
	"Watches a part of the screen of DISPLAY, whosever windows are there, and prints, CLOCK_MONOTONIC in ns:\n"
	"  ready\n"
	"  damage TIME X Y WIDTH HEIGHT changed|same|unknown   something was drawn; whether pixels differ\n"
	"  server TIME NS    the server left a request of the witness unanswered for so long\n"
	"  late TIME NS      the witness got its CPU so much later than it had asked for\n"
	"\n"
	"example: chrt -f 58 tipme-witness 0 0 1280 800\n";

struct witness {
	xcb_connection_t *x;
	xcb_window_t window;
	uint8_t damage_event;
	/* the screen's pixels as last fetched, 24 bits; only those of the part */
	uint32_t *seen;
	uint16_t width; /* of the screen */
	xcb_rectangle_t part; /* what is watched */
	bool asked;
	int64_t asked_ns, tick_ns;
	xcb_get_input_focus_cookie_t question;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static uint32_t pixel_at(const uint8_t *data, size_t i)
{
	uint32_t p;

	memcpy(&p, data + 4 * i, sizeof(p));
	return p & 0xffffff;
}

/* Takes over the rectangle's pixels; true: one of them differs from what was there. */
static bool take_pixels(struct witness *w, const xcb_rectangle_t *r, const uint8_t *data)
{
	bool changed = false;

	for (uint16_t y = 0; y < r->height; y++) {
		for (uint16_t x = 0; x < r->width; x++) {
			uint32_t p = pixel_at(data, (size_t)y * r->width + x);
			uint32_t *old = w->seen + (size_t)(r->y + y) * w->width + r->x + x;

			changed |= *old != p;
			*old = p;
		}
	}
	return changed;
}

static int larger(int a, int b)
{
	return a > b ? a : b;
}

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

/* What of a rectangle is watched; of no pixels where nothing is. */
static xcb_rectangle_t clip(const struct witness *w, xcb_rectangle_t r)
{
	int x1 = larger(r.x, w->part.x), y1 = larger(r.y, w->part.y);
	int x2 = smaller(r.x + r.width, w->part.x + w->part.width),
	    y2 = smaller(r.y + r.height, w->part.y + w->part.height);

	if (x2 <= x1 || y2 <= y1)
		return (xcb_rectangle_t){ 0 };
	return (xcb_rectangle_t){ (int16_t)x1, (int16_t)y1, (uint16_t)(x2 - x1),
				  (uint16_t)(y2 - y1) };
}

/* Fetched piece by piece before anything is watched, so that the first drawing can be compared. */
static void take_all(struct witness *w)
{
	uint16_t rows = (uint16_t)(MAX_PIXELS / w->part.width);

	for (int y = w->part.y; rows && y < w->part.y + w->part.height; y += rows) {
		xcb_rectangle_t r =
			clip(w, (xcb_rectangle_t){ w->part.x, (int16_t)y, w->part.width, rows });
		xcb_get_image_reply_t *image = xcb_get_image_reply(
			w->x,
			xcb_get_image(w->x, XCB_IMAGE_FORMAT_Z_PIXMAP, w->window, r.x, r.y, r.width,
				      r.height, ~0U),
			NULL);

		if (image &&
		    (size_t)xcb_get_image_data_length(image) >= (size_t)r.width * r.height * 4)
			take_pixels(w, &r, xcb_get_image_data(image));
		free(image);
	}
}

static const char *look(struct witness *w, xcb_rectangle_t r)
{
	xcb_get_image_reply_t *image;
	const char *what = "unknown";

	if ((size_t)r.width * r.height > MAX_PIXELS)
		return what;
	image = xcb_get_image_reply(w->x,
				    xcb_get_image(w->x, XCB_IMAGE_FORMAT_Z_PIXMAP, w->window, r.x,
						  r.y, r.width, r.height, ~0U),
				    NULL);
	if (image && (size_t)xcb_get_image_data_length(image) >= (size_t)r.width * r.height * 4)
		what = take_pixels(w, &r, xcb_get_image_data(image)) ? "changed" : "same";
	free(image);
	return what;
}

static void on_event(struct witness *w, const xcb_generic_event_t *e)
{
	const xcb_damage_notify_event_t *d = (const void *)e;
	int64_t t = now_ns();
	xcb_rectangle_t r;

	if ((e->response_type & 0x7f) != w->damage_event)
		return;
	r = clip(w, d->area);
	if (r.width)
		printf("damage %lld %d %d %u %u %s\n", (long long)t, r.x, r.y, r.width, r.height,
		       look(w, r));
}

/* One question is out at a time; the answer of a server that does other things comes late. */
static void ask_server(struct witness *w)
{
	void *reply = NULL;
	xcb_generic_error_t *error = NULL;
	int64_t t = now_ns();

	if (w->asked && xcb_poll_for_reply(w->x, w->question.sequence, &reply, &error)) {
		if (t - w->asked_ns >= TELL_NS + TICK_NS)
			printf("server %lld %lld\n", (long long)t, (long long)(t - w->asked_ns));
		free(reply);
		free(error);
		w->asked = false;
	}
	if (t < w->tick_ns)
		return;
	if (t - w->tick_ns >= TELL_NS)
		printf("late %lld %lld\n", (long long)t, (long long)(t - w->tick_ns));
	w->tick_ns = t + TICK_NS;
	if (w->asked)
		return;
	w->question = xcb_get_input_focus(w->x);
	w->asked_ns = t;
	w->asked = true;
	xcb_flush(w->x);
}

static int watch(struct witness *w)
{
	struct pollfd p = { .fd = xcb_get_file_descriptor(w->x), .events = POLLIN };
	xcb_generic_event_t *e;

	for (w->tick_ns = now_ns(); !xcb_connection_has_error(w->x);) {
		int64_t left = w->tick_ns - now_ns();
		struct timespec wait = { .tv_nsec = left > 0 ? left : 0 };

		ppoll(&p, 1, &wait, NULL);
		while ((e = xcb_poll_for_event(w->x))) {
			on_event(w, e);
			free(e);
		}
		ask_server(w);
	}
	return 0;
}

static int begin(struct witness *w)
{
	const xcb_query_extension_reply_t *ext = xcb_get_extension_data(w->x, &xcb_damage_id);
	const xcb_screen_t *screen = xcb_setup_roots_iterator(xcb_get_setup(w->x)).data;

	if (!ext || !ext->present)
		return -1;
	w->window = screen->root;
	w->width = screen->width_in_pixels;
	w->part = clip(&(struct witness){ .part = { 0, 0, screen->width_in_pixels,
						    screen->height_in_pixels } },
		       w->part);
	w->seen = calloc((size_t)w->width * screen->height_in_pixels, sizeof(*w->seen));
	if (!w->seen || !w->part.width)
		return -1;
	take_all(w);
	w->damage_event = ext->first_event + XCB_DAMAGE_NOTIFY;
	free(xcb_damage_query_version_reply(w->x, xcb_damage_query_version(w->x, 1, 1), NULL));
	xcb_damage_create(w->x, xcb_generate_id(w->x), w->window,
			  XCB_DAMAGE_REPORT_LEVEL_RAW_RECTANGLES);
	xcb_flush(w->x);
	return 0;
}

int main(int argc, char **argv)
{
	struct witness w = { 0 };

	if (argc != 5) {
		bool asked = argc == 2 && !strcmp(argv[1], "--help");

		fputs(usage, asked ? stdout : stderr);
		return asked ? 0 : 64;
	}
	w.part = (xcb_rectangle_t){ (int16_t)atoi(argv[1]), (int16_t)atoi(argv[2]),
				    (uint16_t)atoi(argv[3]), (uint16_t)atoi(argv[4]) };
	w.x = xcb_connect(NULL, NULL);
	if (xcb_connection_has_error(w.x)) {
		fprintf(stderr, "tipme: witness: no X server answers at %s: set DISPLAY\n",
			getenv("DISPLAY") ? getenv("DISPLAY") : "DISPLAY, which is not set");
		return 1;
	}
	if (begin(&w)) {
		fprintf(stderr,
			"tipme: witness: nothing to watch: the part lies outside the screen, or the server has no DAMAGE: look with xdpyinfo\n");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready\n");
	return watch(&w);
}
