// SPDX-License-Identifier: GPL-2.0-only
/*
 * tipme-dialog: asks the user what happened, and puts the answer into the episode. It never takes the focus from what is being typed:
 * it is mapped without it, and gets it only by a click.
 */
#include "config.h"

#include <errno.h>
#include <glib-unix.h>
#include <gtk/gtk.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "message.h"
#include "paths.h"
#include "text.h"

/* A recorder that is started again is joined within the first; one that does not answer is given up after the second. */
#define AGAIN_MS 1000
#define JOIN_S 2

#define WIDTH 420 /* or more */

/* So far from the pointer the window stays: the verdict makes it higher. */
#define GROWTH 160

struct dialog {
	char *path, *id;
	int fd; /* the recorder; -1: none */
	guint source; /* of fd, or of the next try; 0: neither */
	guint timeout;
	int timeout_s;
	char *sentence; /* of the verdict; NULL: not yet, or none */
	GtkWidget *window, *entry, *suggestion, *yes, *save, *problem;
	GdkRectangle area; /* of the screen, where the window shall stay */
	int width, height; /* as they were last seen */
	GCancellable *cancel;
	char buf[TIPME_MESSAGE_MAX];
};

/* What people say most: for those who would rather click than write. */
static const char *const phrases[] = { "Typing was slow", "A click did nothing", "Moving or scrolling was not smooth", "I was just trying it" };

static gboolean on_timeout(gpointer arg)
{
	gtk_main_quit();
	return G_SOURCE_REMOVE;
}

/* Who has begun to answer has all the time there is. */
static void timeout_stop(struct dialog *d)
{
	if (d->timeout)
		g_source_remove(d->timeout);
	d->timeout = 0;
}

static void say_problem(struct dialog *d, const char *text)
{
	gtk_label_set_text(GTK_LABEL(d->problem), text);
	gtk_widget_show(d->problem);
	gtk_widget_set_sensitive(d->save, TRUE);
}

static gboolean recorder_again(gpointer arg);

/* A recorder that is started again knows us again, and takes the words. */
static void recorder_gone(struct dialog *d)
{
	close(d->fd);
	d->fd = -1;
	d->source = g_timeout_add(AGAIN_MS, recorder_again, d);
	if (!gtk_widget_get_sensitive(d->save))
		say_problem(d, "The recorder has ended and the words are not saved yet: start it (sudo tipme start), then Save again");
}

static void on_answer(struct dialog *d, const struct tipme_incoming *in)
{
	if (!in->arg) {
		gtk_main_quit();
		return;
	}
	char *text = g_malloc(in->text_len + 1);

	tipme_text_clean(text, in->text_len + 1, in->text, in->text_len);

	say_problem(d, text);
	g_free(text);
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer arg)
{
	struct dialog *d = arg;
	struct tipme_incoming in;
	int passed;
	ssize_t n = tipme_message_receive(fd, d->buf, sizeof(d->buf), &passed, MSG_DONTWAIT);

	if (passed >= 0)
		close(passed);
	if (n == -EAGAIN)
		return G_SOURCE_CONTINUE;
	if (n <= 0 || tipme_message_parse(d->buf, (size_t)n, &in)) {
		recorder_gone(d);
		return G_SOURCE_REMOVE;
	}
	if (in.verb == TIPME_VERB_REPLY && !gtk_widget_get_sensitive(d->save))
		on_answer(d, &in);
	return G_SOURCE_CONTINUE;
}

/*
 * First of all: whoever watches is known as no program of the user's. The answer to that is waited for, so that Save is the only question open;
 * but not for ever, for the recorder may hang.
 */
static bool recorder_join(struct dialog *d)
{
	const struct timeval patience = { .tv_sec = JOIN_S };
	struct tipme_incoming in;
	int passed = -1;

	d->fd = tipme_message_connect(tipme_rundir());
	if (d->fd < 0)
		return false;
	setsockopt(d->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	ssize_t n = tipme_message_send(d->fd, TIPME_VERB_WATCH, 0, "", 0, MSG_DONTWAIT);

	while (n >= 0) {
		n = tipme_message_receive(d->fd, d->buf, sizeof(d->buf), &passed, 0);
		if (passed >= 0)
			close(passed);
		if (n <= 0 || tipme_message_parse(d->buf, (size_t)n, &in))
			n = -EBADMSG;
		else if (in.verb == TIPME_VERB_REPLY)
			break;
	}
	if (n >= 0) {
		d->source = g_unix_fd_add(d->fd, G_IO_IN | G_IO_HUP, on_readable, d);
		return true;
	}
	close(d->fd);
	d->fd = -1;
	return false;
}

static gboolean recorder_again(gpointer arg)
{
	/* What it made instead, if it did, is the new source. */
	return recorder_join(arg) ? G_SOURCE_REMOVE : G_SOURCE_CONTINUE;
}

/* Whoever presses Save does not wait for the next try. */
static int words_send(struct dialog *d, const char *text)
{
	if (d->fd < 0) {
		guint again = d->source;

		if (!recorder_join(d))
			return -ENOTCONN;
		if (again)
			g_source_remove(again);
	}
	return tipme_message_send(d->fd, TIPME_VERB_NOTE, 0, text, strlen(text), MSG_DONTWAIT);
}

static void on_save(GtkWidget *widget, gpointer arg)
{
	struct dialog *d = arg;
	char *words = g_strstrip(g_strdup(gtk_entry_get_text(GTK_ENTRY(d->entry))));
	char *text = g_strdup_printf("%s\n%s", d->id, words);

	timeout_stop(d);
	if (!*words) {
		gtk_main_quit();
	} else {
		gtk_widget_set_sensitive(d->save, FALSE);
		if (words_send(d, text))
			say_problem(d, "No recorder answers and the words are not saved yet: start it (sudo tipme start), then Save again");
	}
	g_free(words);
	g_free(text);
}

static void on_phrase(GtkWidget *widget, gpointer arg)
{
	struct dialog *d = arg;
	const char *phrase = widget == d->yes ? d->sentence : gtk_button_get_label(GTK_BUTTON(widget));
	const char *before = gtk_entry_get_text(GTK_ENTRY(d->entry));
	char *text = *before ? g_strdup_printf("%s; %s", before, phrase) : g_strdup(phrase);

	gtk_entry_set_text(GTK_ENTRY(d->entry), text);
	gtk_editable_set_position(GTK_EDITABLE(d->entry), -1);
	g_free(text);
}

static void on_changed(GtkEditable *entry, gpointer arg)
{
	timeout_stop(arg);
}

static gboolean on_key(GtkWidget *widget, GdkEventKey *key, gpointer arg)
{
	if (key->keyval != GDK_KEY_Escape)
		return FALSE;
	gtk_main_quit();
	return TRUE;
}

/* --- the verdict, when it is ready --- */

static char *text_of(struct json_object *from, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(from, key, &value) && json_object_is_type(value, json_type_string) ? g_strdup(json_object_get_string(value)) : NULL;
}

/* Returns the sentence, NULL if there is none; *sure: it names a cause, which the user may take over. */
static char *verdict_sentence(const char *json, bool *sure)
{
	struct json_object *top = json ? json_tokener_parse(json) : NULL, *verdict;
	char *text = NULL, *kind = NULL;

	if (top && json_object_object_get_ex(top, "verdict", &verdict)) {
		text = text_of(verdict, "sentence");
		kind = text_of(verdict, "kind");
	}
	*sure = kind && strcmp(kind, "unknown") && strcmp(kind, "none");
	g_free(kind);
	json_object_put(top);
	return text;
}

static void on_diagnosed(GObject *process, GAsyncResult *result, gpointer arg)
{
	struct dialog *d = arg;
	char *json = NULL;
	bool sure;
	GError *error = NULL;

	if (!g_subprocess_communicate_utf8_finish(G_SUBPROCESS(process), result, &json, NULL, &error) &&
	    g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
		g_error_free(error);
		return;
	}
	g_clear_error(&error);
	d->sentence = verdict_sentence(json, &sure);
	g_free(json);
	if (!d->sentence) {
		gtk_label_set_text(GTK_LABEL(d->suggestion), "The cause is not known yet: tipme diagnose last");
		return;
	}
	char *text = g_strdup_printf(sure ? "It looks like this: %s" : "%s", d->sentence);

	gtk_label_set_text(GTK_LABEL(d->suggestion), text);
	gtk_widget_set_visible(d->yes, sure);
	g_free(text);
}

/* With what is left over of the CPUs: whoever waits for this machine comes first. */
static void become_nice(gpointer arg)
{
	if (nice(10) < 0)
		return;
}

static void diagnose(struct dialog *d)
{
	const char *tree = g_getenv("TIPME_BUILDDIR");
	char *program = tree && *tree ? g_build_filename(tree, "tipme", NULL) : g_strdup(TIPME_BINDIR "/tipme");
	GSubprocessLauncher *launcher = g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_SILENCE);
	const char *argv[] = { program, "diagnose", d->path, "--json", NULL };

	g_subprocess_launcher_set_child_setup(launcher, become_nice, NULL, NULL);
	GSubprocess *process = g_subprocess_launcher_spawnv(launcher, argv, NULL);

	if (process) {
		g_subprocess_communicate_utf8_async(process, NULL, d->cancel, on_diagnosed, d);
		g_object_unref(process);
	} else {
		gtk_widget_hide(d->suggestion);
	}
	g_object_unref(launcher);
	g_free(program);
}

/* --- the window --- */

static GtkWidget *label(const char *text)
{
	GtkWidget *l = gtk_label_new(text);

	gtk_label_set_xalign(GTK_LABEL(l), 0);
	gtk_label_set_line_wrap(GTK_LABEL(l), TRUE);
	gtk_label_set_max_width_chars(GTK_LABEL(l), 60);
	return l;
}

static GtkWidget *phrase_box(struct dialog *d)
{
	GtkWidget *box = gtk_flow_box_new();

	gtk_flow_box_set_selection_mode(GTK_FLOW_BOX(box), GTK_SELECTION_NONE);
	gtk_flow_box_set_min_children_per_line(GTK_FLOW_BOX(box), 2);
	gtk_flow_box_set_max_children_per_line(GTK_FLOW_BOX(box), 2);
	for (size_t i = 0; i < G_N_ELEMENTS(phrases); i++) {
		GtkWidget *button = gtk_button_new_with_label(phrases[i]);

		g_signal_connect(button, "clicked", G_CALLBACK(on_phrase), d);
		gtk_container_add(GTK_CONTAINER(box), button);
	}
	return box;
}

static GtkWidget *button_box(struct dialog *d)
{
	GtkWidget *box = gtk_button_box_new(GTK_ORIENTATION_HORIZONTAL), *skip = gtk_button_new_with_mnemonic("S_kip");

	gtk_button_box_set_layout(GTK_BUTTON_BOX(box), GTK_BUTTONBOX_END);
	gtk_box_set_spacing(GTK_BOX(box), 8);
	d->save = gtk_button_new_with_mnemonic("_Save");
	g_signal_connect(skip, "clicked", gtk_main_quit, NULL);
	g_signal_connect(d->save, "clicked", G_CALLBACK(on_save), d);
	gtk_container_add(GTK_CONTAINER(box), skip);
	gtk_container_add(GTK_CONTAINER(box), d->save);
	return box;
}

/* Which press it is about, by the clock on the wall: two questions may be open, and some are answered late. The id has the time in UTC. */
static char *headline(const char *id)
{
	int year, month, day, hour, minute, second;
	GDateTime *utc = sscanf(id, "%4d%2d%2d-%2d%2d%2d", &year, &month, &day, &hour, &minute, &second) == 6 ?
				 g_date_time_new_utc(year, month, day, hour, minute, second) : NULL;
	GDateTime *local = utc ? g_date_time_to_local(utc) : NULL;
	char *time = local ? g_date_time_format(local, "%X") : NULL;
	char *text = time ? g_strdup_printf("The last seconds before %s are saved. What happened?", time) : g_strdup("The last seconds are saved. What happened?");

	g_free(time);
	if (local)
		g_date_time_unref(local);
	if (utc)
		g_date_time_unref(utc);
	return text;
}

static GtkWidget *contents(struct dialog *d)
{
	char *head = headline(d->id);
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8);

	gtk_container_set_border_width(GTK_CONTAINER(box), 12);
	d->entry = gtk_entry_new();
	gtk_entry_set_max_length(GTK_ENTRY(d->entry), 500);
	gtk_entry_set_placeholder_text(GTK_ENTRY(d->entry), "In your own words, if you like");
	g_signal_connect(d->entry, "changed", G_CALLBACK(on_changed), d);
	g_signal_connect(d->entry, "activate", G_CALLBACK(on_save), d);
	d->suggestion = label("Looking for the cause...");
	gtk_label_set_selectable(GTK_LABEL(d->suggestion), FALSE);
	d->yes = gtk_button_new_with_label("That is it");
	g_signal_connect(d->yes, "clicked", G_CALLBACK(on_phrase), d);
	gtk_widget_set_halign(d->yes, GTK_ALIGN_START);
	gtk_widget_set_no_show_all(d->yes, TRUE);
	d->problem = label("");
	gtk_widget_set_no_show_all(d->problem, TRUE);
	gtk_container_add(GTK_CONTAINER(box), label(head));
	g_free(head);
	gtk_container_add(GTK_CONTAINER(box), d->entry);
	gtk_container_add(GTK_CONTAINER(box), phrase_box(d));
	gtk_container_add(GTK_CONTAINER(box), d->suggestion);
	gtk_container_add(GTK_CONTAINER(box), d->yes);
	gtk_container_add(GTK_CONTAINER(box), d->problem);
	gtk_container_add(GTK_CONTAINER(box), button_box(d));
	return box;
}

/* How far a point is outside of a rectangle; negative: inside. */
static int clearance(const GdkRectangle *r, int x, int y)
{
	int across = MAX(r->x - x, x - (r->x + r->width)), down = MAX(r->y - y, y - (r->y + r->height));

	return MAX(across, down);
}

static GdkRectangle in_corner(const GdkRectangle *area, GdkGravity corner, int width, int height)
{
	bool right = corner == GDK_GRAVITY_SOUTH_EAST || corner == GDK_GRAVITY_NORTH_EAST;
	bool bottom = corner == GDK_GRAVITY_SOUTH_EAST || corner == GDK_GRAVITY_SOUTH_WEST;

	return (GdkRectangle){ right ? area->x + MAX(area->width - width, 0) : area->x, bottom ? area->y + MAX(area->height - height, 0) : area->y, width, height };
}

static const GdkGravity corners[] = { GDK_GRAVITY_SOUTH_EAST, GDK_GRAVITY_SOUTH_WEST, GDK_GRAVITY_NORTH_WEST, GDK_GRAVITY_NORTH_EAST };

/*
 * Another question, of an episode just before, may still be open there. Who is in a corner holds its name, which goes with the process; a
 * name that cannot be had for another reason hinders nobody.
 */
static bool corner_take(const struct dialog *d, size_t corner)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* open to the end */
	int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "tipme-question-%u-%s-%d,%d-%zu", (unsigned int)getuid(),
			 gdk_display_get_name(gdk_display_get_default()), d->area.x, d->area.y, corner);

	if (fd < 0 || n >= (int)sizeof(name.sun_path) - 1)
		return true;
	if (!bind(fd, (const struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)))
		return true;
	bool taken = errno == EADDRINUSE;

	close(fd);
	return !taken;
}

/* The first that is far enough from the pointer, or else the one farthest from it; of those in `free` (bits). */
static size_t corner_best(const struct dialog *d, unsigned int free, int x, int y, int width, int height)
{
	int best = INT_MIN;
	size_t corner = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(corners) && best < GROWTH; i++) {
		GdkRectangle r = in_corner(&d->area, corners[i], width, height);

		if (!(free & 1U << i) || clearance(&r, x, y) <= best)
			continue;
		best = clearance(&r, x, y);
		corner = i;
	}
	return corner;
}

/*
 * In a corner, where it hides little, of the screen where the pointer is; but not under the pointer: where the focus follows that, or no window
 * manager runs, what is being typed would go here. Nor over another question, as long as there are corners.
 */
static void to_corner(struct dialog *d)
{
	const unsigned int all = (1U << G_N_ELEMENTS(corners)) - 1;
	GdkDisplay *display = gdk_display_get_default();
	unsigned int free = all;
	int x = 0, y = 0, width, height;

	gdk_device_get_position(gdk_seat_get_pointer(gdk_display_get_default_seat(display)), NULL, &x, &y);
	gdk_monitor_get_workarea(gdk_display_get_monitor_at_point(display, x, y), &d->area);
	gtk_widget_get_preferred_width(d->window, NULL, &width);
	width = MAX(width, WIDTH);
	gtk_widget_get_preferred_height_for_width(d->window, width, NULL, &height);
	size_t corner = corner_best(d, all, x, y, width, height);

	for (size_t next = corner; free; next = corner_best(d, free, x, y, width, height)) {
		GdkRectangle r = in_corner(&d->area, corners[next], width, height);

		/* Under the pointer it would get what is being typed: better over the other question. */
		if (clearance(&r, x, y) < 0)
			break;
		if (corner_take(d, next)) {
			corner = next;
			break;
		}
		free &= ~(1U << next);
	}
	GdkRectangle place = in_corner(&d->area, corners[corner], width, height);

	gtk_window_set_gravity(GTK_WINDOW(d->window), corners[corner]);
	gtk_window_move(GTK_WINDOW(d->window), place.x, place.y);
}

/* Window managers let it grow away from its corner, most of them; where there is none it would grow off the screen. */
static gboolean on_configure(GtkWidget *widget, GdkEventConfigure *event, gpointer arg)
{
	struct dialog *d = arg;
	GdkRectangle frame;

	if (event->width == d->width && event->height == d->height)
		return FALSE;
	d->width = event->width;
	d->height = event->height;
	gdk_window_get_frame_extents(event->window, &frame);
	int right = d->area.x + d->area.width - frame.width, bottom = d->area.y + d->area.height - frame.height;

	if (frame.x > right || frame.y > bottom) {
		gtk_window_set_gravity(GTK_WINDOW(widget), GDK_GRAVITY_NORTH_WEST);
		gtk_window_move(GTK_WINDOW(widget), MAX(MIN(frame.x, right), d->area.x), MAX(MIN(frame.y, bottom), d->area.y));
	}
	return FALSE;
}

static void window_make(struct dialog *d)
{
	d->window = gtk_window_new(GTK_WINDOW_TOPLEVEL);
	GtkWindow *w = GTK_WINDOW(d->window);

	gtk_window_set_title(w, "tipme: what happened?");
	gtk_window_set_icon_name(w, "utilities-system-monitor");
	gtk_window_set_type_hint(w, GDK_WINDOW_TYPE_HINT_UTILITY);
	gtk_window_set_focus_on_map(w, FALSE);
	gtk_window_set_keep_above(w, TRUE);
	gtk_window_set_resizable(w, FALSE);
	gtk_window_set_default_size(w, WIDTH, -1);
	g_signal_connect(w, "destroy", gtk_main_quit, NULL);
	g_signal_connect(w, "key-press-event", G_CALLBACK(on_key), NULL);
	g_signal_connect(w, "configure-event", G_CALLBACK(on_configure), d);
	gtk_container_add(GTK_CONTAINER(w), contents(d));
	gtk_widget_show_all(gtk_bin_get_child(GTK_BIN(w)));
	to_corner(d);
	gtk_widget_show(d->window);
}

int main(int argc, char **argv)
{
	static struct dialog d = { .fd = -1, .timeout_s = 60 };
	const GOptionEntry entries[] = {
		{ "timeout", 0, 0, G_OPTION_ARG_INT, &d.timeout_s, "goes away by itself after so many seconds (60)", "S" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	GError *error = NULL;

	gdk_set_allowed_backends("x11,wayland");
	if (!gtk_init_with_args(&argc, &argv, "EPISODE - asks what happened", entries, NULL, &error)) {
		fprintf(stderr, "tipme: dialog: %s\n", error ? error->message : "no display: run it inside the session");
		return 1;
	}
	if (argc != 2 || argv[1][0] != '/') {
		fprintf(stderr, "tipme: dialog: one folder of an episode is needed, as a full path: tipme-agent does that\n");
		return 64;
	}
	d.path = argv[1];
	d.id = g_path_get_basename(d.path);
	d.cancel = g_cancellable_new();
	bool joined = recorder_join(&d);

	window_make(&d);
	if (!joined)
		d.source = g_timeout_add(AGAIN_MS, recorder_again, &d);
	diagnose(&d);
	d.timeout = d.timeout_s > 0 ? g_timeout_add_seconds((guint)d.timeout_s, on_timeout, &d) : 0;
	gtk_main();
	g_cancellable_cancel(d.cancel);
	return 0;
}
