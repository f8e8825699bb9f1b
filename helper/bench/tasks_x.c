// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks of a client of an X server: pictures, round trips, windows. The server is that of $DISPLAY.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>
#include <xcb/render.h>
#include <xcb/shm.h>
#include <xcb/xcb.h>

#include "task.h"

/* Section 4.6: so much is scrolled through a window of half its height, a row at a time. */
#define WIDTH 570
#define SHOWN 760
#define HEIGHT 1520

struct x {
	xcb_connection_t *c;
	xcb_screen_t *screen;
	xcb_window_t window;
	xcb_gcontext_t gc;
	xcb_pixmap_t pixmap; /* the picture on the server, of render */
	xcb_render_picture_t from, to;
	xcb_shm_seg_t segment;
	uint8_t *picture;
	int shm_id;
	uint8_t depth;
	unsigned int row_bytes, top;
};

static int refused(struct tipme_task_run *r, const char *what)
{
	return tipme_task_fail(r, -ENOTSUP, "the X server has no %s", what);
}

static int wait_exposed(struct x *x)
{
	xcb_generic_event_t *e;
	bool exposed = false;

	xcb_flush(x->c);
	while (!exposed && (e = xcb_wait_for_event(x->c))) {
		exposed = (e->response_type & 127) == XCB_EXPOSE;
		free(e);
	}
	return exposed ? 0 : -EPIPE;
}

static xcb_window_t make_window(struct x *x)
{
	const uint32_t values[] = { x->screen->white_pixel, XCB_EVENT_MASK_EXPOSURE };
	xcb_window_t w = xcb_generate_id(x->c);

	xcb_create_window(x->c, XCB_COPY_FROM_PARENT, w, x->screen->root, 0, 0, WIDTH, SHOWN, 0,
			  XCB_WINDOW_CLASS_INPUT_OUTPUT, x->screen->root_visual,
			  XCB_CW_BACK_PIXEL | XCB_CW_EVENT_MASK, values);
	xcb_map_window(x->c, w);
	return w;
}

static int prepare_connection(struct tipme_task_run *r)
{
	struct x *x = calloc(1, sizeof(*x));

	r->state = x;
	if (!x)
		return -ENOMEM;
	x->shm_id = -1;
	x->c = xcb_connect(NULL, NULL);
	if (xcb_connection_has_error(x->c))
		return tipme_task_fail(r, -ENOTSUP,
				       "no X server answers: install xvfb, or set "
				       "DISPLAY and say --here");
	x->screen = xcb_setup_roots_iterator(xcb_get_setup(x->c)).data;
	return 0;
}

static int sync_with(struct x *x)
{
	free(xcb_get_input_focus_reply(x->c, xcb_get_input_focus(x->c), NULL));
	return xcb_connection_has_error(x->c) ? -EPIPE : 0;
}

static void finish_x(struct tipme_task_run *r)
{
	struct x *x = r->state;

	if (!x)
		return;
	xcb_disconnect(x->c);
	if (x->shm_id >= 0)
		shmdt(x->picture);
	else
		free(x->picture);
	free(x);
}

/* --- bitblt --- */

/* Not all alike, so that nobody compresses or skips: a pattern that is the same everywhere. */
static void paint(uint8_t *at, size_t len)
{
	uint32_t v = 2463534242U;

	for (size_t i = 0; i < len; i++) {
		v ^= v << 13, v ^= v >> 17, v ^= v << 5;
		at[i] = (uint8_t)v;
	}
}

/* Seen by the server alone from then on: it goes when both are gone, however they end. */
static uint8_t *shared(struct x *x, size_t len)
{
	x->shm_id = shmget(IPC_PRIVATE, len, IPC_CREAT | 0600);
	void *at = x->shm_id < 0 ? (void *)-1 : shmat(x->shm_id, NULL, 0);

	x->segment = xcb_generate_id(x->c);
	xcb_generic_error_t *e =
		at == (void *)-1
			? NULL
			: xcb_request_check(x->c, xcb_shm_attach_checked(x->c, x->segment,
									 (uint32_t)x->shm_id, 0));
	if (x->shm_id >= 0)
		shmctl(x->shm_id, IPC_RMID, NULL);
	if (at == (void *)-1)
		x->shm_id = -1;
	free(e);
	return at == (void *)-1 || e ? NULL : at;
}

static bool has(struct x *x, xcb_extension_t *ext)
{
	const xcb_query_extension_reply_t *e = xcb_get_extension_data(x->c, ext);

	return e && e->present;
}

static int prepare_render(struct tipme_task_run *r, struct x *x)
{
	xcb_render_query_pict_formats_reply_t *formats = xcb_render_query_pict_formats_reply(
		x->c, xcb_render_query_pict_formats(x->c), NULL);
	xcb_render_pictformat_t format = 0;

	for (xcb_render_pictforminfo_iterator_t i =
		     xcb_render_query_pict_formats_formats_iterator(formats);
	     formats && i.rem; xcb_render_pictforminfo_next(&i))
		if (i.data->depth == x->screen->root_depth && !format)
			format = i.data->id;
	free(formats);
	if (!format)
		return refused(r, "Render");
	x->pixmap = xcb_generate_id(x->c);
	xcb_create_pixmap(x->c, x->screen->root_depth, x->pixmap, x->window, WIDTH, HEIGHT);
	x->from = xcb_generate_id(x->c);
	x->to = xcb_generate_id(x->c);
	xcb_render_create_picture(x->c, x->from, x->pixmap, format, 0, NULL);
	xcb_render_create_picture(x->c, x->to, x->window, format, 0, NULL);
	return sync_with(x);
}

/*
 * Rows are padded to 32 bits; a picture of depth 24 has 32 bits for each pixel on all servers met.
 */
static unsigned int row_bytes(uint8_t depth)
{
	unsigned int bits = depth == 1 ? 1 : depth <= 8 ? 8 : depth <= 16 ? 16 : 32;

	return (WIDTH * bits + 31) / 32 * 4;
}

static bool is(const struct tipme_task_run *r, const char *variant)
{
	return !strcmp(r->variant, variant);
}

static int prepare_bitblt(struct tipme_task_run *r)
{
	int err = prepare_connection(r);
	struct x *x = r->state;

	if (err)
		return err;
	x->depth = is(r, "1-bit") ? 1 : is(r, "8-bit") ? 8 : x->screen->root_depth;
	x->row_bytes = row_bytes(x->depth);
	if (is(r, "shm") && !has(x, &xcb_shm_id))
		return refused(r, "shared memory (MIT-SHM)");
	if ((is(r, "render") || is(r, "8-bit")) && !has(x, &xcb_render_id))
		return refused(r, "Render");
	x->picture =
		is(r, "shm") ? shared(x, x->row_bytes * HEIGHT) : malloc(x->row_bytes * HEIGHT);
	if (!x->picture)
		return is(r, "shm") ? refused(r, "memory in common with us") : -ENOMEM;
	paint(x->picture, x->row_bytes * HEIGHT);
	x->window = make_window(x);
	x->gc = xcb_generate_id(x->c);
	xcb_create_gc(x->c, x->gc, x->window, XCB_GC_FOREGROUND | XCB_GC_BACKGROUND,
		      (const uint32_t[]){ x->screen->black_pixel, x->screen->white_pixel });
	err = wait_exposed(x);
	return err || !is(r, "render") ? err : prepare_render(r, x);
}

/* As many rows at a time as fit into a request. Returns how many. */
static void put_rows(struct x *x, xcb_drawable_t to, xcb_gcontext_t gc, uint8_t format)
{
	unsigned int room = xcb_get_maximum_request_length(x->c) * 4 - 64;
	unsigned int most = room / x->row_bytes, done = 0;

	for (unsigned int n; done < SHOWN; done += n) {
		n = SHOWN - done < most ? SHOWN - done : most;
		xcb_put_image(x->c, format, to, gc, WIDTH, (uint16_t)n, 0, (int16_t)done, 0,
			      format == XCB_IMAGE_FORMAT_XY_BITMAP ? 1 : x->depth, n * x->row_bytes,
			      x->picture + (x->top + done) * x->row_bytes);
	}
}

static void show_shm(struct x *x)
{
	xcb_shm_put_image(x->c, x->window, x->gc, WIDTH, HEIGHT, 0, (uint16_t)x->top, WIDTH, SHOWN,
			  0, 0, x->depth, XCB_IMAGE_FORMAT_Z_PIXMAP, 0, x->segment, 0);
}

static void show_render(struct x *x)
{
	xcb_render_composite(x->c, XCB_RENDER_PICT_OP_SRC, x->from, 0, x->to, 0, (int16_t)x->top, 0,
			     0, 0, 0, WIDTH, SHOWN);
}

/* No screen has 8 bits today: such pictures go to a pixmap of that depth. */
static int prepare_eight(struct tipme_task_run *r)
{
	int err = prepare_bitblt(r);
	struct x *x = r->state;

	if (err)
		return err;
	x->pixmap = xcb_generate_id(x->c);
	xcb_create_pixmap(x->c, 8, x->pixmap, x->window, WIDTH, SHOWN);
	x->gc = xcb_generate_id(x->c);
	xcb_create_gc(x->c, x->gc, x->pixmap, 0, NULL);
	return sync_with(x);
}

static int prepare_any(struct tipme_task_run *r)
{
	return is(r, "8-bit") ? prepare_eight(r) : prepare_bitblt(r);
}

static int run_bitblt(struct tipme_task_run *r)
{
	struct x *x = r->state;

	for (unsigned int i = 0; i < r->references; i++) {
		x->top = (x->top + 1) % (HEIGHT - SHOWN);
		if (is(r, "shm"))
			show_shm(x);
		else if (is(r, "render"))
			show_render(x);
		else if (x->depth == 1)
			put_rows(x, x->window, x->gc, XCB_IMAGE_FORMAT_XY_BITMAP);
		else
			put_rows(x, x->depth == 8 ? x->pixmap : x->window, x->gc,
				 XCB_IMAGE_FORMAT_Z_PIXMAP);
	}
	return sync_with(x);
}

/* --- round trips and windows --- */

static int run_round_trips(struct tipme_task_run *r)
{
	int err = 0;

	for (unsigned int i = 0; i < r->references && !err; i++)
		err = sync_with(r->state);
	return err;
}

static int run_windows(struct tipme_task_run *r)
{
	struct x *x = r->state;
	int err = 0;

	for (unsigned int i = 0; i < r->references && !err; i++) {
		xcb_window_t w = make_window(x);

		err = wait_exposed(x);
		xcb_destroy_window(x->c, w);
	}
	return err ? err : sync_with(x);
}

const struct tipme_task tipme_tasks_x[] = {
	{ .name = "bitblt/1-bit/8-bit/core/shm/render",
	  .what = "a picture of 570 x 1520 scrolled through 570 x 760",
	  .unit = "picture",
	  .references = 19,
	  .repeats = 8,
	  .prepare = prepare_any,
	  .run = run_bitblt,
	  .finish = finish_x },
	{ .name = "x-roundtrip",
	  .what = "a request to the X server, and its answer",
	  .unit = "round trip",
	  .references = 500,
	  .repeats = 8,
	  .prepare = prepare_connection,
	  .run = run_round_trips,
	  .finish = finish_x },
	{ .name = "window",
	  .what = "a window, from map to the first expose",
	  .unit = "window",
	  .references = 50,
	  .repeats = 8,
	  .prepare = prepare_connection,
	  .run = run_windows,
	  .finish = finish_x },
	{ 0 },
};
