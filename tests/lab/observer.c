// SPDX-License-Identifier: GPL-2.0-only
/*
 * The independent observer: an X client that prints when a window, or what is in it, changed on the
 * screen, and what others had computed by then.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <xcb/damage.h>
#include <xcb/xcb.h>

#include "report.h"

/* The kernel's CPU clocks of these processes; 0: it has ended. */
static void print_clocks(char **pids)
{
	clockid_t clock;

	for (; *pids; pids++)
		printf(" %lld",
		       clock_getcpuclockid(atoi(*pids), &clock) ? 0LL : (long long)clock_ns(clock));
}

int main(int argc, char **argv)
{
	xcb_connection_t *x = xcb_connect(NULL, NULL);
	const xcb_query_extension_reply_t *ext;
	xcb_generic_event_t *e;

	if (argc < 2 || xcb_connection_has_error(x)) {
		fprintf(stderr,
			"usage: observer WINDOW-ID [PID...]      (on the X server of DISPLAY; prints: TIME-NS X Y WIDTH HEIGHT [CPU-NS...])\n");
		return 64;
	}
	ext = xcb_get_extension_data(x, &xcb_damage_id);
	if (!ext || !ext->present) {
		fprintf(stderr, "observer: the X server has no DAMAGE extension\n");
		return 1;
	}
	free(xcb_damage_query_version_reply(x, xcb_damage_query_version(x, 1, 1), NULL));
	xcb_damage_create(x, xcb_generate_id(x), (xcb_window_t)strtoul(argv[1], NULL, 0),
			  XCB_DAMAGE_REPORT_LEVEL_RAW_RECTANGLES);
	xcb_flush(x);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready\n");
	while ((e = xcb_wait_for_event(x))) {
		int64_t t = now_ns();
		xcb_damage_notify_event_t *d = (xcb_damage_notify_event_t *)e;

		if ((e->response_type & 0x7f) == ext->first_event + XCB_DAMAGE_NOTIFY) {
			printf("%lld %d %d %u %u", (long long)t, d->area.x, d->area.y,
			       d->area.width, d->area.height);
			print_clocks(argv + 2);
			printf("\n");
		}
		free(e);
	}
	return 0;
}
