// SPDX-License-Identifier: GPL-2.0-only
/*
 * A child process reads the list, a thread an episode; the main thread takes what they found. A
 * monitor of the library's folder, and each diagnosis, let the list be read again.
 */
#include "config.h"

#include "window.h"

#include "command.h"
#include "deeds.h"
#include "dump.h"
#include "follow.h"
#include "pages.h"
#include "picture.h"
#include "progress.h"
#include "remember.h"
#include "run.h"
#include "switcher.h"
#include "unpack.h"
#include "watch.h"
#include "language.h"

#include <string.h>

#define SETTLED_MS 600 /* after which a page has been laid out and drawn */
#define PICTURE_TRIES 50
#define ASK_S 2 /* the recorder, that often */

const char *const tipme_window_pages[] = { "episodes", "answer", "timeline", "compare", "report",
					   "check",    "week",	 "measured", "live",	NULL };

typedef struct {
	GtkWidget *window, *stack, *episodes, *compare, *report, *check, *week, *measured, *live,
		*title, *timeline;
	TipmeRemember *remember;
	guint asking; /* source that asks the recorder while the live page is seen, or 0 */
	AdwToastOverlay *toasts;
	TipmeSession *session;
	TipmeWish *wish;
	TipmeDeeds deeds;
	char *unpacked; /* where the content of the file that was opened is, or NULL */
	TipmeWatch *watch; /* of the library's folder; NULL: not known yet */
	unsigned int tries; /* for a picture */
	gboolean listing, again, listed, told; /* it is read; then again; it was; page is told */
} Window;

static void list(Window *self);

static void show_page(Window *self, const char *name)
{
	adw_view_stack_set_visible_child_name(ADW_VIEW_STACK(self->stack), name);
}

static void show_told(Window *self, const char *name)
{
	self->told = TRUE;
	show_page(self, name);
	self->told = FALSE;
}

static gboolean take_picture(gpointer data)
{
	Window *self = data;

	if (tipme_facts_page_is_busy(adw_view_stack_get_visible_child(ADW_VIEW_STACK(self->stack))))
		return G_SOURCE_CONTINUE;
	/* A page that has just come may not be drawn yet: then there is no picture of it. */
	if (++self->tries < PICTURE_TRIES && !tipme_picture_is_drawn(self->window))
		return G_SOURCE_CONTINUE;
	g_autofree char *words = tipme_picture_words(self->window);

	self->wish->status = tipme_picture_save(self->window, self->wish->picture) ? 0 : 1;
	if (self->wish->status)
		g_printerr(
			_("tipme: gui: %s: the picture cannot be written: see whether its folder is there\n"),
			self->wish->picture);
	g_print("%s", words);
	gtk_window_destroy(GTK_WINDOW(self->window));
	return G_SOURCE_REMOVE;
}

static void settled(Window *self)
{
	if (self->wish->picture)
		g_timeout_add(SETTLED_MS, take_picture, self);
}

static void say_with(Window *self, const char *text, gboolean undo)
{
	AdwToast *toast = adw_toast_new(text);

	adw_toast_set_timeout(toast, undo ? 8 : 3);
	if (undo) {
		adw_toast_set_button_label(toast, _("Undo"));
		adw_toast_set_action_name(toast, "win.undo");
	}
	adw_toast_overlay_add_toast(self->toasts, toast);
}

static void say(Window *self, const char *text)
{
	say_with(self, text, FALSE);
}

static void open_episode(Window *self, const char *episode, const char *folder)
{
	tipme_session_open(self->session, episode, folder);
}

static void on_opened(TipmeRow *row, gpointer data)
{
	open_episode(data, row->path, row->path);
}

/*
 * The page has the focus: keys scroll what is text, and no caret stands before its first word as if
 * it could be written.
 */
static void focus_page(GtkWidget *page)
{
	if (GTK_IS_SCROLLED_WINDOW(page))
		gtk_widget_grab_focus(page);
}

static void on_selected(gpointer data)
{
	Window *self = data;

	tipme_deeds_refresh(&self->deeds);
}

static void on_loaded(TipmeSession *session, Window *self)
{
	const TipmeAnswer *answer = tipme_session_answer(session);

	adw_window_title_set_subtitle(ADW_WINDOW_TITLE(self->title), answer->id ? answer->id : "");
	show_page(self, self->wish->page ? self->wish->page : "answer");
	focus_page(adw_view_stack_get_visible_child(ADW_VIEW_STACK(self->stack)));
	g_clear_pointer(&self->wish->page, g_free); /* it is for the first episode only */
	list(self); /* the verdict is in the library now */
	settled(self);
}

/* A page that shows what a verb says of rows, and no episode that is opened. */
static gboolean open_facts(Window *self, GPtrArray *rows, TipmeRow *row)
{
	const char *page = self->wish->page;
	guint found = 0;
	TipmeRow *other =
		rows && self->wish->other ? tipme_rows_find(rows, self->wish->other, &found) : NULL;
	g_autoptr(GPtrArray) chosen = g_ptr_array_new_with_free_func(g_object_unref);

	if (row)
		g_ptr_array_add(chosen, g_object_ref(row));
	if (other)
		g_ptr_array_add(chosen, g_object_ref(other));
	if (!g_strcmp0(page, "compare") && chosen->len == 2)
		tipme_compare_page_set(self->compare, chosen);
	else if (!g_strcmp0(page, "report") && row)
		tipme_report_page_set(self->report, chosen);
	else if (!g_strcmp0(page, "check") && row)
		tipme_check_page_set(self->check, chosen);
	else if (!g_strcmp0(page, "measured") && self->wish->episode)
		tipme_measured_page_set(self->measured, self->wish->episode);
	else if (g_strcmp0(page, "live") && g_strcmp0(page, "week") && g_strcmp0(page, "measured"))
		return FALSE;
	show_told(self, page);
	return TRUE;
}

static void on_unpacked(const TipmeResult *result, gpointer data)
{
	Window *self = data;
	g_auto(GStrv) lines = g_strsplit(result->said, "\n", 2);

	if (g_file_test(self->unpacked, G_FILE_TEST_IS_DIR)) {
		open_episode(self, self->unpacked, self->unpacked);
		return;
	}
	say(self,
	    lines[0] ? lines[0] : _("The file cannot be opened: run tipme open in a terminal"));
	settled(self);
}

/* A file that somebody has sent. FALSE: it is none. */
static gboolean open_file(Window *self, const char *file)
{
	const char *args[] = { "open", file, "-o", NULL, NULL };
	g_autofree char *why = NULL;

	g_free(self->unpacked);
	args[3] = self->unpacked = tipme_unpack_folder(file, &why);
	if (why) {
		say(self, why);
		settled(self);
	}
	if (!self->unpacked)
		return why != NULL;
	if (g_file_test(self->unpacked, G_FILE_TEST_IS_DIR))
		open_episode(self, self->unpacked, self->unpacked);
	else
		tipme_run_verb(self->window, args, on_unpacked, self);
	return TRUE;
}

/* Goes on where the window was closed, unless something has happened since. FALSE: it does not. */
static gboolean resume(Window *self, GPtrArray *rows)
{
	const TipmeState *state = tipme_remember_state(self->remember);
	const char *newest =
		rows && rows->len ? ((TipmeRow *)g_ptr_array_index(rows, 0))->id : NULL;

	if (self->wish->page || self->wish->episode || self->wish->picture || !state->page ||
	    g_strcmp0(newest, state->newest))
		return FALSE;
	if (!strcmp(state->page, "week") || !strcmp(state->page, "live")) {
		show_page(self, state->page);
		return TRUE;
	}
	if ((strcmp(state->page, "answer") && strcmp(state->page, "timeline")) || !state->episode ||
	    !g_file_test(state->episode, G_FILE_TEST_IS_DIR))
		return FALSE;
	self->wish->page = g_strdup(state->page);
	open_episode(self, state->episode, state->episode);
	return TRUE;
}

/* The episode that was asked for, once the list is known. */
static void open_wished(Window *self, GPtrArray *rows)
{
	const char *episode = self->wish->episode;
	guint found = 0;
	TipmeRow *row = episode && rows ? tipme_rows_find(rows, episode, &found) : NULL;

	if (resume(self, rows))
		return;
	if (open_facts(self, rows, row))
		settled(self);
	else if (row)
		open_episode(self, row->path, row->path);
	else if (episode && g_file_test(episode, G_FILE_TEST_IS_DIR))
		open_episode(self, episode, episode);
	else if (episode && open_file(self, episode))
		return;
	else if (episode) {
		g_autofree char *text = tipme_rows_why_not(episode, found);

		say(self, text);
		settled(self);
	} else
		settled(self);
}

static void show_rows(Window *self, GPtrArray *rows, const char *problem)
{
	tipme_episodes_page_set(self->episodes, rows, problem);
	if (!self->listed) {
		self->listed = TRUE;
		tipme_episodes_page_focus(self->episodes, FALSE);
		open_wished(self, rows);
	}
	if (rows && rows->len)
		tipme_remember_newest(self->remember, ((TipmeRow *)g_ptr_array_index(rows, 0))->id);
}

static void on_changed(gpointer data)
{
	list(data);
}

static void on_listed(const TipmeResult *result, gpointer data)
{
	Window *self = data;
	g_autoptr(GError) error = NULL;
	struct json_object *object = tipme_command_parse(result->out, result->said, &error);
	g_autoptr(GPtrArray) rows = object ? tipme_rows_from_json(object) : NULL;

	self->listing = FALSE;
	if (object && !self->watch && *tipme_rows_folder(object))
		self->watch = tipme_watch_new(tipme_rows_folder(object), on_changed, self);
	json_object_put(object);
	show_rows(self, rows, error ? error->message : NULL);
	if (self->again)
		list(self);
}

static void list(Window *self)
{
	static const char *const args[] = { "list", "--json", NULL };

	self->again = self->listing;
	if (self->listing)
		return;
	self->listing = TRUE;
	tipme_run_verb(self->window, args, on_listed, self);
}

/* --- what deeds.h asks of the window --- */

static void on_say(const char *text, gboolean undo, gpointer data)
{
	say_with(data, text, undo);
}

static void on_measured(const char *file, gpointer data)
{
	Window *self = data;

	tipme_measured_page_set(self->measured, file);
	show_page(self, "measured");
}

static void on_show(const char *name, GPtrArray *rows, gpointer data)
{
	Window *self = data;
	TipmeRow *row = rows ? g_ptr_array_index(rows, 0) : NULL;

	if (!strcmp(name, "compare"))
		tipme_compare_page_set(self->compare, rows);
	else if (!strcmp(name, "report"))
		tipme_report_page_set(self->report, rows);
	else if (!strcmp(name, "check"))
		tipme_check_page_set(self->check, rows);
	else if (row)
		open_episode(self, row->path, row->path);
	if (row && strcmp(name, "diagnose"))
		show_told(self, name);
	else if (row)
		return;
	else if (!strcmp(name, "cancel"))
		tipme_session_cancel(self->session);
	else if (!strcmp(name, "test-hotkey"))
		tipme_live_page_test(self->live);
	else if (!strcmp(name, "find"))
		show_page(self, "episodes");
	else
		show_page(self, name + strlen("page-"));
	if (!strcmp(name, "find") || !strcmp(name, "page-episodes"))
		tipme_episodes_page_focus(self->episodes, *name == 'f');
}

static GtkWidget *header_new(Window *self)
{
	GtkWidget *header = adw_header_bar_new();
	GtkWidget *menu = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);

	self->title = adw_window_title_new("tipme", "");
	gtk_box_append(GTK_BOX(menu), self->title);
	adw_header_bar_set_title_widget(ADW_HEADER_BAR(header),
					tipme_switcher_new(ADW_VIEW_STACK(self->stack)));
	adw_header_bar_pack_start(ADW_HEADER_BAR(header), menu);
	return header;
}

static void add_page(Window *self, GtkWidget *page, const char *name, const char *title,
		     const char *icon)
{
	AdwViewStackPage *made =
		adw_view_stack_add_titled(ADW_VIEW_STACK(self->stack), page, name, title);

	adw_view_stack_page_set_icon_name(made, icon);
}

static gboolean ask(gpointer data)
{
	Window *self = data;

	tipme_live_page_read(self->live);
	return G_SOURCE_CONTINUE;
}

/* The recorder is asked while its page is seen, and not otherwise. */
static void ask_while_seen(Window *self, gboolean seen)
{
	if (seen && !self->asking) {
		ask(self);
		self->asking = g_timeout_add_seconds(ASK_S, ask, self);
	} else if (!seen && self->asking) {
		g_source_remove(self->asking);
		self->asking = 0;
	}
}

/* The page in the title: task bars and screen readers tell it. */
static void on_page(AdwViewStack *stack, GParamSpec *property, Window *self)
{
	GtkWidget *page = adw_view_stack_get_visible_child(stack);
	AdwViewStackPage *of = page ? adw_view_stack_get_page(stack, page) : NULL;
	g_autofree char *title = g_strdup_printf(
		_("%s - tipme"), of ? adw_view_stack_page_get_title(of) : _("Window"));

	gtk_window_set_title(GTK_WINDOW(self->window), title);
	if (page)
		focus_page(page);
	ask_while_seen(self, page && page == self->live);
	if (page && page == self->week)
		tipme_week_page_read(page);
	if (page && page == self->report)
		tipme_follow(page, tipme_report_page_set, self->episodes, self->session,
			     self->told);
	else if (page && page == self->check)
		tipme_follow(page, tipme_check_page_set, self->episodes, self->session, self->told);
}

static void window_free(gpointer data)
{
	Window *self = data;

	g_signal_handlers_disconnect_by_data(self->session, self);
	if (self->asking)
		g_source_remove(self->asking);
	tipme_deeds_end(&self->deeds);
	tipme_remember_free(self->remember);
	tipme_watch_free(self->watch);
	g_free(self->unpacked);
	g_object_unref(self->session);
	g_free(self);
}

static void fill_window(Window *self)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0),
		  *overlay = adw_toast_overlay_new();

	/* A label that is read is not one that is copied. */
	g_object_set(gtk_settings_get_default(), "gtk-label-select-on-focus", FALSE, NULL);
	self->stack = adw_view_stack_new();
	self->episodes = tipme_episodes_page_new(on_opened, on_selected, self);
	add_page(self, self->episodes, "episodes", _("Episodes"), "view-list-symbolic");
	add_page(self, tipme_answer_page_new(self->session), "answer", _("Answer"),
		 "dialog-information-symbolic");
	self->timeline = tipme_timeline_page_new(self->session);
	add_page(self, self->timeline, "timeline", _("Timeline"),
		 "media-playlist-consecutive-symbolic");
	self->compare = tipme_compare_page_new();
	self->report = tipme_report_page_new();
	self->check = tipme_check_page_new();
	self->week = tipme_week_page_new();
	self->measured = tipme_measured_page_new();
	self->live = tipme_live_page_new();
	add_page(self, self->compare, "compare", _("Compare"), "view-dual-symbolic");
	add_page(self, self->report, "report", _("Report"), "mail-send-symbolic");
	add_page(self, self->check, "check", _("Check"), "emblem-ok-symbolic");
	add_page(self, self->week, "week", _("Week"), "x-office-calendar-symbolic");
	add_page(self, self->measured, "measured", _("Measured"),
		 "power-profile-performance-symbolic");
	add_page(self, self->live, "live", _("Live"), "media-record-symbolic");
	g_signal_connect(self->stack, "notify::visible-child", G_CALLBACK(on_page), self);
	on_page(ADW_VIEW_STACK(self->stack), NULL, self);
	gtk_widget_set_vexpand(self->stack, TRUE);
	gtk_box_append(GTK_BOX(box), header_new(self));
	gtk_box_append(GTK_BOX(box), tipme_progress_new(self->session));
	gtk_box_append(GTK_BOX(box), self->stack);
	self->toasts = ADW_TOAST_OVERLAY(overlay);
	adw_toast_overlay_set_child(self->toasts, box);
	adw_application_window_set_content(ADW_APPLICATION_WINDOW(self->window), overlay);
}

GtkWidget *tipme_window_new(AdwApplication *application, TipmeWish *wish)
{
	Window *self = g_new0(Window, 1);

	self->wish = wish;
	self->session = tipme_session_new();
	self->window = adw_application_window_new(GTK_APPLICATION(application));
	gtk_window_set_default_size(GTK_WINDOW(self->window), wish->width ? wish->width : 1280,
				    wish->height ? wish->height : 800);
	fill_window(self);
	self->remember =
		tipme_remember_new(GTK_WINDOW(self->window), ADW_VIEW_STACK(self->stack),
				   self->timeline, self->session, !wish->picture && !wish->width);
	g_object_set_data_full(G_OBJECT(self->window), "window", self, window_free);
	g_signal_connect(self->session, "loaded", G_CALLBACK(on_loaded), self);
	self->deeds = (TipmeDeeds){ self->window, self->episodes, self->report, NULL, on_say,
				    on_measured,  on_changed,	  on_show,	self };
	tipme_deeds_install(GTK_APPLICATION(application), &self->deeds);
	list(self);
	return self->window;
}

void tipme_window_open(GtkWidget *window)
{
	Window *self = g_object_get_data(G_OBJECT(window), "window");

	self->listed = FALSE;
	list(self);
	gtk_window_present(GTK_WINDOW(window));
}
