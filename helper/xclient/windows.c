// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which windows are watched for changes: in each child of the root, the outermost windows of other
 * clients than the one that owns it (a window manager's frame is not what answers a key); where
 * there is none, the child itself.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "observer_impl.h"

#define DEPTH_MAX 5
#define LOOKED_AT_MAX 200 /* windows in one child of the root */
#define FLOOD 1000 /* changes of one window in one tick */
#define CALM_TICKS 50

static struct observed_window *window_find(struct tipme_observer *o, xcb_window_t window)
{
	for (unsigned i = 0; i < OBSERVER_WINDOWS; i++)
		if (o->window[i].window == window)
			return &o->window[i];
	return NULL;
}

/*
 * The server reports the whole window at once; as that is no change, and the report has the number
 * of our request, a request more (any) makes all others differ. Every change is told as it happens,
 * even if we do not come to read it: an observer that has to empty the region first would miss what
 * happens while it waits for a CPU.
 */
static void damage_create(struct tipme_observer *o, struct observed_window *w)
{
	w->damage = xcb_generate_id(o->x);
	w->made = (uint16_t)xcb_damage_create(o->x, w->damage, w->window,
					      w->coarse ? XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY
							: XCB_DAMAGE_REPORT_LEVEL_RAW_RECTANGLES)
			  .sequence;
	xcb_no_operation(o->x);
	/* Non-empty from the start, and silent until it is emptied. */
	w->dirty = true;
	observer_arm_tick(o);
}

static void watch(struct tipme_observer *o, xcb_window_t window, xcb_window_t top)
{
	struct observed_window *w = window_find(o, window);

	if (w) {
		w->top = top;
		return;
	}
	w = observer_is_own(o, window) ? NULL : window_find(o, 0);
	if (!w)
		return;
	*w = (struct observed_window){ .window = window, .top = top };
	damage_create(o, w);
}

static void unwatch(struct tipme_observer *o, struct observed_window *w)
{
	/* An error, where the window is gone and took it along: nobody reads it. */
	xcb_damage_destroy(o->x, w->damage);
	*w = (struct observed_window){ 0 };
}

/* Watches what others have in `window`; returns how many. */
static unsigned watch_inside(struct tipme_observer *o, xcb_window_t window, xcb_window_t top,
			     unsigned depth, unsigned *looked_at)
{
	unsigned found = 0;
	xcb_query_tree_reply_t *tree =
		xcb_query_tree_reply(o->x, xcb_query_tree(o->x, window), NULL);
	int children = tree ? xcb_query_tree_children_length(tree) : 0;

	for (int i = 0; i < children && ++*looked_at < LOOKED_AT_MAX; i++) {
		xcb_window_t child = xcb_query_tree_children(tree)[i];

		if ((child & o->client_mask) == (top & o->client_mask)) {
			found += depth < DEPTH_MAX
					 ? watch_inside(o, child, top, depth + 1, looked_at)
					 : 0;
			continue;
		}
		watch(o, child, top);
		found++;
	}
	free(tree);
	return found;
}

static void watch_top(struct tipme_observer *o, xcb_window_t top)
{
	unsigned looked_at = 0;

	if (observer_is_own(o, top))
		return;
	if (!watch_inside(o, top, top, 1, &looked_at)) {
		watch(o, top, top);
		return;
	}
	struct observed_window *frame = window_find(o, top);

	if (frame)
		unwatch(o, frame);
}

/* A window may have appeared anywhere: its child of the root is what is looked at. */
void observer_window_appeared(struct tipme_observer *o, xcb_window_t window)
{
	for (unsigned i = 0; i < DEPTH_MAX && window && window != o->root; i++) {
		xcb_query_tree_reply_t *tree =
			xcb_query_tree_reply(o->x, xcb_query_tree(o->x, window), NULL);
		xcb_window_t parent = tree ? tree->parent : 0;

		free(tree);
		if (parent == o->root)
			watch_top(o, window);
		window = parent;
	}
}

void observer_window_gone(struct tipme_observer *o, xcb_window_t window)
{
	if (!window)
		return;
	for (unsigned i = 0; i < OBSERVER_WINDOWS; i++)
		if (o->window[i].window &&
		    (o->window[i].window == window || o->window[i].top == window))
			unwatch(o, &o->window[i]);
}

void observer_windows_open(struct tipme_observer *o)
{
	uint32_t mask = XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY;

	xcb_change_window_attributes(o->x, o->root, XCB_CW_EVENT_MASK, &mask);
	xcb_query_tree_reply_t *tree =
		xcb_query_tree_reply(o->x, xcb_query_tree(o->x, o->root), NULL);

	for (int i = 0; tree && i < xcb_query_tree_children_length(tree); i++)
		watch_top(o, xcb_query_tree_children(tree)[i]);
	free(tree);
}

void observer_put_damage(struct tipme_observer *o, xcb_window_t window, uint64_t ts_ns,
			 uint16_t width, uint16_t height)
{
	struct tipme_x_damage rec = {
		.ts_ns = ts_ns,
		.type = TIPME_X_DAMAGE,
		.pid = observer_pid_of(o, window),
		.window = window,
		.client = (uint16_t)observer_client_of(o, window),
		.width = width,
		.height = height,
	};

	tipme_xring_put(&o->ring, &rec);
}

void observer_damaged(struct tipme_observer *o, const xcb_damage_notify_event_t *e, uint64_t ts_ns)
{
	struct observed_window *w = window_find(o, e->drawable);

	if (!w || !e->drawable || e->sequence == w->made)
		return;
	w->dirty = true;
	observer_arm_tick(o);
	if (w->notices++ == FLOOD && !w->coarse) {
		xcb_damage_destroy(o->x, w->damage);
		w->coarse = true;
		damage_create(o, w);
	}
	observer_put_damage(o, w->window, ts_ns, e->area.width, e->area.height);
}

bool observer_windows_tick(struct tipme_observer *o)
{
	bool again = false;

	for (unsigned i = 0; i < OBSERVER_WINDOWS; i++) {
		struct observed_window *w = &o->window[i];

		if (!w->window)
			continue;
		if (w->dirty)
			xcb_damage_subtract(o->x, w->damage, XCB_NONE, XCB_NONE);
		w->calm_ticks = w->notices ? 0 : w->calm_ticks + 1;
		w->dirty = false;
		w->notices = 0;
		again |= w->coarse;
		if (w->coarse && w->calm_ticks >= CALM_TICKS) {
			xcb_damage_destroy(o->x, w->damage);
			w->coarse = false;
			damage_create(o, w);
		}
	}
	return again;
}
