// SPDX-License-Identifier: GPL-2.0-only
/* Tells the user in a line that the press was heard. */
#include "config.h"

#include <X11/Xutil.h>
#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>

#include "feedback.h"

/* A notification that is not there by then is given up: the user is to know at once, also while the desktop is slow. */
#define NOTIFY_TIMEOUT_MS 700

#define SHOWN_MS 3500
#define MARGIN 12
#define PADDING 10

struct agent_feedback {
	Display *display;
	Window window; /* None: no display */
	GC gc;
	XFontStruct *font;
	guint hide;
	GDBusConnection *bus; /* NULL: no notifications */
	guint32 notification; /* the one to take the place of */
	GCancellable *cancel;
	char *text;
};

/* Only where there is a session bus already: none is to be started for us. */
static GDBusConnection *bus_open(void)
{
	const char *address = g_getenv("DBUS_SESSION_BUS_ADDRESS"), *runtime = g_getenv("XDG_RUNTIME_DIR");
	char *path = runtime ? g_build_filename(runtime, "bus", NULL) : NULL;
	bool there = (address && *address) || (path && g_file_test(path, G_FILE_TEST_EXISTS));

	g_free(path);
	if (!there)
		return NULL;
	GDBusConnection *bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL);

	if (bus)
		g_dbus_connection_set_exit_on_close(bus, FALSE);
	return bus;
}

static void window_make(struct agent_feedback *f)
{
	XSetWindowAttributes attributes = {
		.override_redirect = True, .background_pixel = BlackPixel(f->display, DefaultScreen(f->display)),
		.border_pixel = WhitePixel(f->display, DefaultScreen(f->display)), .event_mask = ExposureMask,
	};

	f->font = XLoadQueryFont(f->display, "10x20");
	if (!f->font)
		f->font = XLoadQueryFont(f->display, "fixed");
	if (!f->font)
		return;
	f->window = XCreateWindow(f->display, DefaultRootWindow(f->display), 0, 0, 100, 30, 1, CopyFromParent, InputOutput, CopyFromParent,
				  CWOverrideRedirect | CWBackPixel | CWBorderPixel | CWEventMask, &attributes);
	XStoreName(f->display, f->window, "tipme");
	XSetClassHint(f->display, f->window, &(XClassHint){ (char *)"tipme-agent", (char *)"Tipme-agent" });
	f->gc = XCreateGC(f->display, f->window, 0, NULL);
	XSetForeground(f->display, f->gc, WhitePixel(f->display, DefaultScreen(f->display)));
	XSetFont(f->display, f->gc, f->font->fid);
}

struct agent_feedback *agent_feedback_new(Display *display, bool use_notifications)
{
	struct agent_feedback *f = g_new0(struct agent_feedback, 1);

	f->display = display;
	f->cancel = g_cancellable_new();
	if (use_notifications)
		f->bus = bus_open();
	if (display)
		window_make(f);
	return f;
}

void agent_feedback_free(struct agent_feedback *f)
{
	if (!f)
		return;
	g_cancellable_cancel(f->cancel);
	g_object_unref(f->cancel);
	if (f->bus)
		g_object_unref(f->bus);
	if (f->hide)
		g_source_remove(f->hide);
	g_free(f->text);
	g_free(f);
}

static gboolean window_hide(gpointer arg)
{
	struct agent_feedback *f = arg;

	XUnmapWindow(f->display, f->window);
	XFlush(f->display);
	f->hide = 0;
	return G_SOURCE_REMOVE;
}

static void window_draw(struct agent_feedback *f)
{
	XClearWindow(f->display, f->window);
	XDrawString(f->display, f->window, f->gc, PADDING, PADDING + f->font->ascent, f->text, (int)strlen(f->text));
	XFlush(f->display);
}

/* No answer of the server is waited for: it may be the very thing that hangs. */
static void window_show(struct agent_feedback *f)
{
	if (!f->window)
		return;
	int width = XTextWidth(f->font, f->text, (int)strlen(f->text)) + 2 * PADDING, height = f->font->ascent + f->font->descent + 2 * PADDING;

	XMoveResizeWindow(f->display, f->window, DisplayWidth(f->display, DefaultScreen(f->display)) - width - MARGIN, MARGIN, (unsigned int)width,
			  (unsigned int)height);
	XMapRaised(f->display, f->window);
	window_draw(f);
	if (f->hide)
		g_source_remove(f->hide);
	f->hide = g_timeout_add(SHOWN_MS, window_hide, f);
}

static void on_notified(GObject *bus, GAsyncResult *result, gpointer arg)
{
	GError *error = NULL;
	GVariant *answer = g_dbus_connection_call_finish(G_DBUS_CONNECTION(bus), result, &error);
	struct agent_feedback *f = arg;

	if (answer) {
		g_variant_get(answer, "(u)", &f->notification);
		g_variant_unref(answer);
		return;
	}
	if (!g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		window_show(f);
	g_error_free(error);
}

void agent_feedback_say(struct agent_feedback *f, const char *text)
{
	g_free(f->text);
	f->text = g_strdup(text);
	if (!f->bus) {
		window_show(f);
		return;
	}
	GVariantBuilder hints;

	g_variant_builder_init(&hints, G_VARIANT_TYPE("a{sv}"));
	g_variant_builder_add(&hints, "{sv}", "transient", g_variant_new_boolean(TRUE));
	g_dbus_connection_call(f->bus, "org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications", "Notify",
			       g_variant_new("(susssasa{sv}i)", "tipme", f->notification, "utilities-system-monitor", "tipme", text, NULL, &hints,
					     (gint32)SHOWN_MS),
			       G_VARIANT_TYPE("(u)"), G_DBUS_CALL_FLAGS_NONE, NOTIFY_TIMEOUT_MS, f->cancel, on_notified, f);
}

bool agent_feedback_event(struct agent_feedback *f, XEvent *event)
{
	if (!f->window || event->xany.window != f->window)
		return false;
	if (event->type == Expose && !event->xexpose.count && f->text)
		window_draw(f);
	return true;
}
