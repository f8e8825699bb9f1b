// SPDX-License-Identifier: GPL-2.0-only
/* Where a small window of the agent goes. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "place.h"

/* So far from the pointer the window stays: what is asked for makes it higher. */
#define GROWTH 160

struct place {
	GdkRectangle area; /* of the screen, where the window shall stay */
	int width, height; /* as they were last seen */
};

/* How far a point is outside of a rectangle; negative: inside. */
static int clearance(const GdkRectangle *r, int x, int y)
{
	int across = MAX(r->x - x, x - (r->x + r->width)),
	    down = MAX(r->y - y, y - (r->y + r->height));

	return MAX(across, down);
}

static GdkRectangle in_corner(const GdkRectangle *area, GdkGravity corner, int width, int height)
{
	bool right = corner == GDK_GRAVITY_SOUTH_EAST || corner == GDK_GRAVITY_NORTH_EAST;
	bool bottom = corner == GDK_GRAVITY_SOUTH_EAST || corner == GDK_GRAVITY_SOUTH_WEST;

	return (GdkRectangle){ right ? area->x + MAX(area->width - width, 0) : area->x,
			       bottom ? area->y + MAX(area->height - height, 0) : area->y, width,
			       height };
}

static const GdkGravity corners[] = { GDK_GRAVITY_SOUTH_EAST, GDK_GRAVITY_SOUTH_WEST,
				      GDK_GRAVITY_NORTH_WEST, GDK_GRAVITY_NORTH_EAST };

/*
 * Another question, of an episode just before, may still be open there. Who is in a corner holds
 * its name, which goes with the process; a name that cannot be had for another reason hinders
 * nobody.
 */
static bool corner_take(const struct place *p, size_t corner)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* open to the end */
	int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
			 "tipme-question-%u-%s-%d,%d-%zu", (unsigned int)getuid(),
			 gdk_display_get_name(gdk_display_get_default()), p->area.x, p->area.y,
			 corner);

	if (fd < 0 || n >= (int)sizeof(name.sun_path) - 1)
		return true;
	if (!bind(fd, (const struct sockaddr *)&name,
		  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)))
		return true;
	bool taken = errno == EADDRINUSE;

	close(fd);
	return !taken;
}

/*
 * The first that is far enough from the pointer, or else the one farthest from it; of those in
 * `free` (bits).
 */
static size_t corner_best(const struct place *p, unsigned int free, int x, int y, int width,
			  int height)
{
	int best = INT_MIN;
	size_t corner = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(corners) && best < GROWTH; i++) {
		GdkRectangle r = in_corner(&p->area, corners[i], width, height);

		if (!(free & 1U << i) || clearance(&r, x, y) <= best)
			continue;
		best = clearance(&r, x, y);
		corner = i;
	}
	return corner;
}

/*
 * In a corner, where it hides little, of the screen where the pointer is; but not under the
 * pointer: where the focus follows that, or no window manager runs, what is being typed would go
 * here. Nor over another question, as long as there are corners.
 */
static void to_corner(struct place *p, GtkWidget *window, int least)
{
	const unsigned int all = (1U << G_N_ELEMENTS(corners)) - 1;
	GdkDisplay *display = gdk_display_get_default();
	unsigned int free = all;
	int x = 0, y = 0, width, height;

	gdk_device_get_position(gdk_seat_get_pointer(gdk_display_get_default_seat(display)), NULL,
				&x, &y);
	gdk_monitor_get_workarea(gdk_display_get_monitor_at_point(display, x, y), &p->area);
	gtk_widget_get_preferred_width(window, NULL, &width);
	width = MAX(width, least);
	gtk_widget_get_preferred_height_for_width(window, width, NULL, &height);
	size_t corner = corner_best(p, all, x, y, width, height);

	for (size_t next = corner; free; next = corner_best(p, free, x, y, width, height)) {
		GdkRectangle r = in_corner(&p->area, corners[next], width, height);

		/*
		 * Under the pointer it would get what is being typed: better over the other
		 * question.
		 */
		if (clearance(&r, x, y) < 0)
			break;
		if (corner_take(p, next)) {
			corner = next;
			break;
		}
		free &= ~(1U << next);
	}
	GdkRectangle place = in_corner(&p->area, corners[corner], width, height);

	gtk_window_set_gravity(GTK_WINDOW(window), corners[corner]);
	gtk_window_move(GTK_WINDOW(window), place.x, place.y);
}

/*
 * Window managers let it grow away from its corner, most of them; where there is none it would
 * grow off the screen.
 */
static gboolean on_configure(GtkWidget *widget, GdkEventConfigure *event, gpointer arg)
{
	struct place *p = arg;
	GdkRectangle frame;

	if (event->width == p->width && event->height == p->height)
		return FALSE;
	p->width = event->width;
	p->height = event->height;
	gdk_window_get_frame_extents(event->window, &frame);
	int right = p->area.x + p->area.width - frame.width,
	    bottom = p->area.y + p->area.height - frame.height;

	if (frame.x > right || frame.y > bottom) {
		gtk_window_set_gravity(GTK_WINDOW(widget), GDK_GRAVITY_NORTH_WEST);
		gtk_window_move(GTK_WINDOW(widget), MAX(MIN(frame.x, right), p->area.x),
				MAX(MIN(frame.y, bottom), p->area.y));
	}
	return FALSE;
}

GtkWidget *agent_window_new(const char *title, int width)
{
	GtkWidget *window = gtk_window_new(GTK_WINDOW_TOPLEVEL);
	GtkWindow *w = GTK_WINDOW(window);

	gtk_window_set_title(w, title);
	gtk_window_set_icon_name(w, "utilities-system-monitor");
	gtk_window_set_type_hint(w, GDK_WINDOW_TYPE_HINT_UTILITY);
	gtk_window_set_focus_on_map(w, FALSE);
	gtk_window_set_keep_above(w, TRUE);
	gtk_window_set_resizable(w, FALSE);
	/* Not its default size: with one GTK 3 keeps the widest that it ever was. */
	gtk_widget_set_size_request(window, width, -1);
	return window;
}

void agent_window_place(GtkWidget *window, int width)
{
	struct place *p = g_new0(struct place, 1);

	g_signal_connect(window, "configure-event", G_CALLBACK(on_configure), p);
	to_corner(p, window, width);
	gtk_widget_show(window);
}
