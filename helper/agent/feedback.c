// SPDX-License-Identifier: GPL-2.0-only
/* Tells the user in a line that the press was heard, and offers what can be done. */
#include "config.h"

#include <X11/Xutil.h>
#include <X11/extensions/Xrandr.h>
#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session_bus.h"
#include "feedback.h"
#include "x_resources.h"

/*
 * A notification that is not there by then is given up: the user is to know at once, also while the
 * desktop is slow.
 */
#define NOTIFY_TIMEOUT_MS 700

#define NOTIFICATIONS "org.freedesktop.Notifications"
#define NOTIFICATIONS_PATH "/org/freedesktop/Notifications"

#define SHOWN_MS 3500
#define OFFERED_S 10 /* where the desktop does not say how long */
#define AS_OTHERS -1 /* for the desktop: as long as it shows others */
#define MARGIN 12 /* these two times the scale */
#define PADDING 10

/*
 * A letter has FONT_PIXELS on a monitor of so many dots, or of so many an inch; on others so many
 * times as many, up to SCALE_MAX.
 */
#define USUAL_DOTS 1080
#define USUAL_DPI 96
#define SCALE_MAX 4
#define FONT_PIXELS 20

struct agent_feedback {
	Display *display;
	Window window; /* None: no display */
	GC gc;
	XFontStruct *font;
	int scale; /* of the font */
	XRectangle area; /* of the monitor where the line is shown */
	int rr_event; /* number of RandR's first event; -1: no RandR that knows monitors */
	guint hide;
	GDBusConnection *bus; /* NULL: no notifications */
	guint32 notification; /* the one to take the place of */
	GHashTable *offers; /* struct offer by the number of its notification */
	guint signals[2]; /* what the desktop tells of them */
	int asks_s; /* as in agent_feedback_new() */
	GCancellable *cancel;
	char *text;
	char **lines; /* of the text, as the window shows it */
};

static int scale_wanted(struct agent_feedback *f)
{
	/* The smaller side: monitors are turned, too. */
	int dots = MIN(f->area.width, f->area.height),
	    by_dots = (dots + USUAL_DOTS / 2) / USUAL_DOTS;
	int by_dpi = (agent_told_dpi(f->display) + USUAL_DPI / 2) / USUAL_DPI;

	return CLAMP(MAX(by_dots, by_dpi), 1, SCALE_MAX);
}

static XFontStruct *font_load(struct agent_feedback *f, int scale)
{
	char name[96];

	snprintf(name, sizeof(name), "-misc-fixed-medium-r-normal--%d-*-*-*-*-*-iso8859-1",
		 scale * FONT_PIXELS);
	XFontStruct *font = XLoadQueryFont(f->display, scale > 1 ? name : "10x20");

	return font ? font : XLoadQueryFont(f->display, "fixed");
}

/* Another font, where the monitor is a large one. Waits for the server, as area_read() does. */
static void font_choose(struct agent_feedback *f)
{
	int scale = scale_wanted(f);
	XFontStruct *font = f->font && scale == f->scale ? NULL : font_load(f, scale);

	if (!font)
		return;
	if (f->font)
		XFreeFont(f->display, f->font);
	f->font = font;
	f->scale = scale;
	if (f->gc)
		XSetFont(f->display, f->gc, font->fid);
}

/*
 * The primary monitor; of several beside each other no corner of the whole need be on any. Waits
 * for the server: never while something is to be shown.
 */
static void area_read(struct agent_feedback *f)
{
	XWindowAttributes root;
	int n = 0;
	XRRMonitorInfo *monitors =
		f->rr_event < 0
			? NULL
			: XRRGetMonitors(f->display, DefaultRootWindow(f->display), True, &n);
	const XRRMonitorInfo *best = n > 0 ? &monitors[0] : NULL;

	for (int i = 0; i < n; i++)
		if (monitors[i].primary)
			best = &monitors[i];
	if (best)
		f->area = (XRectangle){ (short)best->x, (short)best->y, (unsigned short)best->width,
					(unsigned short)best->height };
	else if (XGetWindowAttributes(f->display, DefaultRootWindow(f->display), &root))
		f->area = (XRectangle){ 0, 0, (unsigned short)root.width,
					(unsigned short)root.height };
	if (monitors)
		XRRFreeMonitors(monitors);
	font_choose(f);
}

/* Who changes monitors alone tells it as a change of the root window; who moves them, by RandR. */
static void area_follow(struct agent_feedback *f)
{
	int error, major = 0, minor = 0;

	if (!XRRQueryExtension(f->display, &f->rr_event, &error) ||
	    !XRRQueryVersion(f->display, &major, &minor) || major < 1 || (major == 1 && minor < 5))
		f->rr_event = -1;
	else
		XRRSelectInput(f->display, DefaultRootWindow(f->display), RRScreenChangeNotifyMask);
	XSelectInput(f->display, DefaultRootWindow(f->display), StructureNotifyMask);
	area_read(f);
}

static void window_make(struct agent_feedback *f)
{
	unsigned long paper = 0, ink = 0;

	/* One of them alone might be the colour that the other one usually has. */
	if (!agent_told_colour(f->display, "background", &paper) ||
	    !agent_told_colour(f->display, "foreground", &ink)) {
		paper = BlackPixel(f->display, DefaultScreen(f->display));
		ink = WhitePixel(f->display, DefaultScreen(f->display));
	}
	XSetWindowAttributes attributes = {
		.override_redirect = True,
		.background_pixel = paper,
		.border_pixel = ink,
		.event_mask = ExposureMask,
	};

	area_follow(f);
	if (!f->font)
		return;
	f->window = XCreateWindow(f->display, DefaultRootWindow(f->display), 0, 0, 100, 30, 1,
				  CopyFromParent, InputOutput, CopyFromParent,
				  CWOverrideRedirect | CWBackPixel | CWBorderPixel | CWEventMask,
				  &attributes);
	XStoreName(f->display, f->window, "tipme");
	XSetClassHint(f->display, f->window,
		      &(XClassHint){ (char *)"tipme-agent", (char *)"Tipme-agent" });
	f->gc = XCreateGC(f->display, f->window, 0, NULL);
	XSetForeground(f->display, f->gc, ink);
	XSetFont(f->display, f->gc, f->font->fid);
}

static gboolean window_hide(gpointer arg)
{
	struct agent_feedback *f = arg;

	XUnmapWindow(f->display, f->window);
	XFlush(f->display);
	f->hide = 0;
	return G_SOURCE_REMOVE;
}

static int text_width(const struct agent_feedback *f, const char *text)
{
	return XTextWidth(f->font, text, (int)strlen(text));
}

/* Between words. Fonts of the X server know no UTF-8. */
static char **lines_of(const struct agent_feedback *f, int max_width)
{
	/* Nothing else there says who speaks. */
	char *ascii = g_str_to_ascii(f->text, NULL), *said = g_strconcat("tipme: ", ascii, NULL),
	     **words = g_strsplit_set(said, " \n", -1);
	GPtrArray *lines = g_ptr_array_new();
	char *line = g_strdup(words[0] ? words[0] : "");

	for (int i = 1; words[0] && words[i]; i++) {
		char *longer = g_strconcat(line, " ", words[i], NULL);

		if (text_width(f, longer) <= max_width) {
			g_free(line);
			line = longer;
			continue;
		}
		g_free(longer);
		g_ptr_array_add(lines, line);
		line = g_strdup(words[i]);
	}
	g_ptr_array_add(lines, line);
	g_ptr_array_add(lines, NULL);
	g_strfreev(words);
	g_free(said);
	g_free(ascii);
	return (char **)g_ptr_array_free(lines, FALSE);
}

static void window_draw(struct agent_feedback *f)
{
	XClearWindow(f->display, f->window);
	for (int i = 0; f->lines[i]; i++)
		XDrawString(f->display, f->window, f->gc, f->scale * PADDING,
			    f->scale * PADDING + i * (f->font->ascent + f->font->descent) +
				    f->font->ascent,
			    f->lines[i], (int)strlen(f->lines[i]));
	XFlush(f->display);
}

/* No answer of the server is waited for: it may be the very thing that hangs. */
static void window_show(struct agent_feedback *f)
{
	if (!f->window)
		return;
	int width = 0, n;

	g_strfreev(f->lines);
	f->lines = lines_of(f, f->area.width - 2 * f->scale * (MARGIN + PADDING));
	for (n = 0; f->lines[n]; n++)
		width = MAX(width, text_width(f, f->lines[n]));
	width += 2 * f->scale * PADDING;
	XMoveResizeWindow(
		f->display, f->window,
		f->area.x + MAX(f->area.width - width - f->scale * MARGIN, 0),
		f->area.y + f->scale * MARGIN, (unsigned int)width,
		(unsigned int)(n * (f->font->ascent + f->font->descent) + 2 * f->scale * PADDING));
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
	f->text = g_utf8_make_valid(text, -1);
	if (!f->bus) {
		window_show(f);
		return;
	}
	GVariantBuilder hints;

	/* Its text is read as markup; its title has our name. */
	char *body = g_markup_escape_text(f->text, -1);

	g_variant_builder_init(&hints, G_VARIANT_TYPE("a{sv}"));
	g_variant_builder_add(&hints, "{sv}", "transient", g_variant_new_boolean(TRUE));
	g_dbus_connection_call(f->bus, NOTIFICATIONS, NOTIFICATIONS_PATH, NOTIFICATIONS, "Notify",
			       g_variant_new("(susssasa{sv}i)", "tipme", f->notification,
					     "utilities-system-monitor", "tipme", body, NULL,
					     &hints, (gint32)SHOWN_MS),
			       G_VARIANT_TYPE("(u)"), G_DBUS_CALL_FLAGS_NONE, NOTIFY_TIMEOUT_MS,
			       f->cancel, on_notified, f);
	g_free(body);
}

bool agent_feedback_event(struct agent_feedback *f, XEvent *event)
{
	if (!f->window)
		return false;
	if (f->rr_event >= 0 && event->type == f->rr_event + RRScreenChangeNotify) {
		XRRUpdateConfiguration(event);
		area_read(f);
		return true;
	}
	if (event->type == ConfigureNotify &&
	    event->xconfigure.window == DefaultRootWindow(f->display)) {
		area_read(f);
		return true;
	}
	if (event->xany.window != f->window)
		return false;
	if (event->type == Expose && !event->xexpose.count && f->lines)
		window_draw(f);
	return true;
}

/* --- offers: notifications with a button --- */

struct offer {
	struct agent_feedback *feedback;
	struct agent_offer what; /* its texts are ours */
};

static void offer_free(gpointer arg)
{
	struct offer *o = arg;

	if (o->what.free_arg)
		o->what.free_arg(o->what.arg);
	g_free((char *)o->what.text);
	g_free((char *)o->what.button);
	g_free((char *)o->what.program);
	g_free(o);
}

static void on_notice_end(GPid pid, gint status, gpointer arg)
{
	struct offer *o = arg;

	g_spawn_close_pid(pid);
	if (g_spawn_check_wait_status(status, NULL))
		o->what.chosen(o->what.arg);
	offer_free(o);
}

/* A window of a program of its own. It ends by itself, or is closed. */
static void notice_show(struct offer *o)
{
	char *seconds = g_strdup_printf("%d", MIN(OFFERED_S, o->feedback->asks_s));
	char *argv[] = { (char *)o->what.program,
			 (char *)"--timeout",
			 seconds,
			 (char *)"--notice",
			 (char *)o->what.text,
			 (char *)"--button",
			 (char *)o->what.button,
			 NULL };
	GPid pid;

	bool shown = o->what.program && g_spawn_async("/", argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD,
						      NULL, NULL, &pid, NULL);

	if (o->what.at_once || !shown)
		agent_feedback_say(o->feedback, o->what.text);
	if (shown)
		g_child_watch_add(pid, on_notice_end, o);
	else
		offer_free(o);
	g_free(seconds);
}

static void on_offered(GObject *bus, GAsyncResult *result, gpointer arg)
{
	GError *error = NULL;
	GVariant *answer = g_dbus_connection_call_finish(G_DBUS_CONNECTION(bus), result, &error);
	struct offer *o = arg;
	guint32 number;

	if (answer) {
		g_variant_get(answer, "(u)", &number);
		g_variant_unref(answer);
		g_hash_table_insert(o->feedback->offers, GUINT_TO_POINTER(number), o);
		return;
	}
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		offer_free(o);
	else
		notice_show(o);
	g_error_free(error);
}

static void on_action(GDBusConnection *bus, const char *sender, const char *path,
		      const char *interface, const char *name, GVariant *values, gpointer arg)
{
	struct agent_feedback *f = arg;
	guint32 number;

	g_variant_get_child(values, 0, "u", &number);
	struct offer *o = g_hash_table_lookup(f->offers, GUINT_TO_POINTER(number));

	if (o)
		o->what.chosen(o->what.arg);
	g_hash_table_remove(f->offers, GUINT_TO_POINTER(number));
}

static void on_notification_closed(GDBusConnection *bus, const char *sender, const char *path,
				   const char *interface, const char *name, GVariant *values,
				   gpointer arg)
{
	struct agent_feedback *f = arg;
	guint32 number;

	g_variant_get_child(values, 0, "u", &number);
	g_hash_table_remove(f->offers, GUINT_TO_POINTER(number));
}

static void signals_follow(struct agent_feedback *f)
{
	f->signals[0] =
		g_dbus_connection_signal_subscribe(f->bus, NOTIFICATIONS, NOTIFICATIONS,
						   "ActionInvoked", NOTIFICATIONS_PATH, NULL,
						   G_DBUS_SIGNAL_FLAGS_NONE, on_action, f, NULL);
	f->signals[1] = g_dbus_connection_signal_subscribe(f->bus, NOTIFICATIONS, NOTIFICATIONS,
							   "NotificationClosed", NOTIFICATIONS_PATH,
							   NULL, G_DBUS_SIGNAL_FLAGS_NONE,
							   on_notification_closed, f, NULL);
}

void agent_feedback_offer(struct agent_feedback *f, const struct agent_offer *offer)
{
	struct offer *o = g_new0(struct offer, 1);
	const char *actions[] = { "default", offer->button, "chosen", offer->button, NULL };

	o->feedback = f;
	o->what = *offer;
	o->what.text = g_utf8_make_valid(offer->text, -1);
	o->what.button = g_strdup(offer->button);
	o->what.program = g_strdup(offer->program);
	if (!f->bus) {
		notice_show(o);
		return;
	}
	char *body = g_markup_escape_text(o->what.text, -1);

	g_dbus_connection_call(f->bus, NOTIFICATIONS, NOTIFICATIONS_PATH, NOTIFICATIONS, "Notify",
			       g_variant_new("(susss@asa{sv}i)", "tipme", 0,
					     "utilities-system-monitor", "tipme", body,
					     g_variant_new_strv(actions, -1), NULL, AS_OTHERS),
			       G_VARIANT_TYPE("(u)"), G_DBUS_CALL_FLAGS_NONE, NOTIFY_TIMEOUT_MS,
			       f->cancel, on_offered, o);
	g_free(body);
}

/* --- from the beginning to the end --- */

struct agent_feedback *agent_feedback_new(Display *display, bool use_notifications, int asks_s)
{
	struct agent_feedback *f = g_new0(struct agent_feedback, 1);

	f->display = display;
	f->asks_s = asks_s;
	f->cancel = g_cancellable_new();
	f->offers = g_hash_table_new_full(NULL, NULL, NULL, offer_free);
	if (use_notifications)
		f->bus = agent_session_bus();
	if (f->bus)
		signals_follow(f);
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
	for (size_t i = 0; f->bus && i < G_N_ELEMENTS(f->signals); i++)
		g_dbus_connection_signal_unsubscribe(f->bus, f->signals[i]);
	g_hash_table_unref(f->offers);
	if (f->bus)
		g_object_unref(f->bus);
	if (f->hide)
		g_source_remove(f->hide);
	g_free(f->text);
	g_strfreev(f->lines);
	g_free(f);
}
