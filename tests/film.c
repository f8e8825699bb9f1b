// SPDX-License-Identifier: GPL-2.0-only
/*
 * A window that changes 60 times a second; with -p MS -e N it stands still for so long after each N
 * frames.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xcb/xcb.h>

#define FRAME_NS 16666667L

static void wait_until(struct timespec *t, long ns)
{
	t->tv_nsec += ns;
	while (t->tv_nsec >= 1000000000L) {
		t->tv_nsec -= 1000000000L;
		t->tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, t, NULL);
}

int main(int argc, char **argv)
{
	long pause_ms = 0, every = 0;

	for (int opt; (opt = getopt(argc, argv, "p:e:")) != -1;) {
		if (opt == 'p')
			pause_ms = strtol(optarg, NULL, 10);
		else if (opt == 'e')
			every = strtol(optarg, NULL, 10);
		else
			return 2;
	}
	xcb_connection_t *x = xcb_connect(NULL, NULL);

	if (xcb_connection_has_error(x))
		return 1;
	const xcb_screen_t *s = xcb_setup_roots_iterator(xcb_get_setup(x)).data;
	uint32_t window = xcb_generate_id(x), gc = xcb_generate_id(x),
		 values[] = { s->black_pixel, 1 };
	struct timespec t;

	/* Beside what the test's client draws; no window manager moves it. */
	xcb_create_window(x, XCB_COPY_FROM_PARENT, window, s->root, 1000, 600, 200, 150, 0,
			  XCB_WINDOW_CLASS_INPUT_OUTPUT, s->root_visual,
			  XCB_CW_BACK_PIXEL | XCB_CW_OVERRIDE_REDIRECT, values);
	xcb_create_gc(x, gc, window, 0, NULL);
	xcb_map_window(x, window);
	clock_gettime(CLOCK_MONOTONIC, &t);
	for (unsigned long n = 1; !xcb_connection_has_error(x); n++) {
		xcb_rectangle_t r = { (int16_t)(n % 150), 20, 40, 40 };
		uint32_t color = (uint32_t)(n * 12345 & 0xffffff);

		xcb_change_gc(x, gc, XCB_GC_FOREGROUND, &color);
		xcb_poly_fill_rectangle(x, window, gc, 1, &r);
		xcb_flush(x);
		for (xcb_generic_event_t *e; (e = xcb_poll_for_event(x));)
			free(e);
		wait_until(&t, FRAME_NS);
		if (every && n % (unsigned long)every == 0) {
			struct timespec nap = { pause_ms / 1000, pause_ms % 1000 * 1000000 };

			nanosleep(&nap, NULL);
			clock_gettime(CLOCK_MONOTONIC, &t);
		}
	}
	return 0;
}
