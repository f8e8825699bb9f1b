// SPDX-License-Identifier: GPL-2.0-only
/* The question's window. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "notice.h"
#include "place.h"
#include "question_parts.h"
#include "verb.h"
#include "words.h"

/* or more; less than half of a small screen: there is always a corner beside the pointer */
#define WIDTH 380
#define VERDICT_HEIGHT 84 /* kept free for it: what is below stays where it is when it comes */
#define PANEL_WIDTH 660 /* 80 columns */
#define PANEL_HEIGHT 260
#define PART_LEAST 80 /* of the panel or the list: some lines, whatever the screen */
#define SPACING 8
#define WORDS_MAX 500

/* Those of a question follow each other. */
static const struct said answers[] = {
	{ QUESTION_WHAT, "typing", TIPME_WORDS_TYPING, TIPME_WORDS_TYPING_NOTE, 'T' },
	{ QUESTION_WHAT, "click", TIPME_WORDS_CLICKING, TIPME_WORDS_CLICKING_NOTE, 'k' },
	{ QUESTION_WHAT, "smooth", TIPME_WORDS_SCROLLING, TIPME_WORDS_SCROLLING_NOTE, 'l' },
	{ QUESTION_WHAT, "start", TIPME_WORDS_STARTING, TIPME_WORDS_STARTING_NOTE, 'g' },
	{ QUESTION_WHAT, "all", TIPME_WORDS_EVERYTHING, TIPME_WORDS_ALL_NOTE, 'E' },
	{ QUESTION_WHAT, "test", TIPME_WORDS_TESTING, TIPME_WORDS_TESTING_NOTE, 'J' },
	{ QUESTION_POINTER, "pointer-moved", TIPME_WORDS_MOVED, TIPME_WORDS_MOVED_NOTE, 'm' },
	{ QUESTION_POINTER, "pointer-stood", TIPME_WORDS_STOOD, TIPME_WORDS_STOOD_NOTE, 'd' },
	{ QUESTION_AGAIN, "again", TIPME_WORDS_AGAIN, TIPME_WORDS_AGAIN_NOTE, 'A' },
	{ QUESTION_AGAIN, "once", TIPME_WORDS_ONCE, TIPME_WORDS_ONCE_NOTE, 'O' },
};

#define IN_A_ROW 3 /* six answers in one would be wider than the rest */

static GtkWidget *row(GtkButtonBoxStyle style)
{
	GtkWidget *box = gtk_button_box_new(GTK_ORIENTATION_HORIZONTAL);

	gtk_button_box_set_layout(GTK_BUTTON_BOX(box), style);
	gtk_box_set_spacing(GTK_BOX(box), SPACING);
	return box;
}

static GtkWidget *button(struct question *q, GtkWidget *box, const char *text, char key,
			 GCallback call)
{
	GtkWidget *b = notice_button(text, key);

	g_signal_connect(b, "clicked", call, q);
	gtk_container_add(GTK_CONTAINER(box), b);
	return b;
}

/*
 * Which press it is about, by the clock on the wall: two questions may be open, and some are
 * answered late. The id has the time in UTC.
 */
static char *headline(const char *id)
{
	int year, month, day, hour, minute, second;
	GDateTime *utc =
		sscanf(id, "%4d%2d%2d-%2d%2d%2d", &year, &month, &day, &hour, &minute, &second) == 6
			? g_date_time_new_utc(year, month, day, hour, minute, second)
			: NULL;
	GDateTime *local = utc ? g_date_time_to_local(utc) : NULL;
	char *time = local ? g_date_time_format(local, "%X") : NULL;
	char *words = time ? g_strdup_printf(_(TIPME_WORDS_SAVED_AT), time)
			   : g_strdup(_(TIPME_WORDS_SAVED_TITLE));
	char *text = g_markup_printf_escaped("<b>%s</b>", words);

	g_free(words);
	g_free(time);
	if (local)
		g_date_time_unref(local);
	if (utc)
		g_date_time_unref(utc);
	return text;
}

static void add_verdict(struct question *q, GtkWidget *box)
{
	char *head = headline(q->id);
	GtkWidget *title = notice_label(""),
		  *buttons = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, SPACING);

	gtk_label_set_markup(GTK_LABEL(title), head);
	g_free(head);
	q->verdict = notice_label("");
	gtk_label_set_yalign(GTK_LABEL(q->verdict), 0);
	gtk_widget_set_size_request(q->verdict, -1, VERDICT_HEIGHT);
	gtk_container_add(GTK_CONTAINER(box), title);
	gtk_container_add(GTK_CONTAINER(box), q->verdict);
	q->yes = button(q, buttons, _(TIPME_WORDS_YES), 'Y', G_CALLBACK(question_on_yes));
	q->no = button(q, buttons, _(TIPME_WORDS_NO), 'N', G_CALLBACK(question_on_no));
	gtk_widget_set_sensitive(q->no, FALSE);
	gtk_container_add(GTK_CONTAINER(box), buttons);
	q->list = gtk_box_new(GTK_ORIENTATION_VERTICAL, 2);
	q->moments = gtk_scrolled_window_new(NULL, NULL);
	GtkScrolledWindow *scroll = GTK_SCROLLED_WINDOW(q->moments);

	gtk_scrolled_window_set_policy(scroll, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
	gtk_scrolled_window_set_propagate_natural_height(scroll, TRUE);
	gtk_container_add(GTK_CONTAINER(q->moments), q->list);
	GtkWidget *port = gtk_bin_get_child(GTK_BIN(q->moments));

	gtk_viewport_set_shadow_type(GTK_VIEWPORT(port), GTK_SHADOW_NONE);
	gtk_widget_show(port);
	gtk_widget_set_no_show_all(q->moments, TRUE);
	gtk_container_add(GTK_CONTAINER(box), q->moments);
}

/* The answers to a question, as many in a row as there is room for. */
static GtkWidget *answers_new(struct question *q, enum question_short to)
{
	GtkWidget *grid = gtk_grid_new();
	int n = 0;

	gtk_grid_set_column_homogeneous(GTK_GRID(grid), TRUE);
	gtk_grid_set_column_spacing(GTK_GRID(grid), 4);
	gtk_grid_set_row_spacing(GTK_GRID(grid), 4);
	for (size_t i = 0; i < G_N_ELEMENTS(answers); i++) {
		if (answers[i].to != to)
			continue;
		GtkWidget *b = notice_button(_(answers[i].name), answers[i].key);

		gtk_widget_set_hexpand(b, to == QUESTION_WHAT);
		g_object_set_data(G_OBJECT(b), "said", (void *)&answers[i]);
		g_signal_connect(b, "clicked", G_CALLBACK(question_on_said), q);
		gtk_grid_attach(GTK_GRID(grid), b, n % IN_A_ROW, n / IN_A_ROW, 1, 1);
		n++;
	}
	return grid;
}

/* A question that other answers lead to, in one row with them: screens may have 600 rows only. */
static void add_short(struct question *q, GtkWidget *box, enum question_short to, const char *text)
{
	GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, SPACING),
		  *label = notice_label(text);

	gtk_widget_set_hexpand(label, TRUE);
	gtk_container_add(GTK_CONTAINER(line), label);
	gtk_container_add(GTK_CONTAINER(line), answers_new(q, to));
	gtk_widget_show_all(line);
	gtk_widget_hide(line);
	gtk_widget_set_no_show_all(line, TRUE);
	gtk_container_add(GTK_CONTAINER(box), line);
	q->shorts[to] = line;
}

void question_shorts_show(struct question *q)
{
	const struct said *what = q->now.said[QUESTION_WHAT];
	bool felt = what && strcmp(what->code, "test");

	gtk_widget_set_visible(q->shorts[QUESTION_POINTER], felt && !strcmp(what->code, "all"));
	gtk_widget_set_visible(q->shorts[QUESTION_AGAIN], felt);
}

static void add_doing(struct question *q, GtkWidget *box)
{
	q->entry = gtk_entry_new();
	gtk_entry_set_max_length(GTK_ENTRY(q->entry), WORDS_MAX);
	gtk_entry_set_placeholder_text(GTK_ENTRY(q->entry), _(TIPME_WORDS_OWN_WORDS));
	g_signal_connect(q->entry, "changed", G_CALLBACK(question_on_changed), q);
	g_signal_connect(q->entry, "activate", G_CALLBACK(question_on_close), q);
	gtk_container_add(GTK_CONTAINER(box), notice_label(_(TIPME_WORDS_DOING)));
	gtk_container_add(GTK_CONTAINER(box), answers_new(q, QUESTION_WHAT));
	add_short(q, box, QUESTION_POINTER, _(TIPME_WORDS_POINTER));
	add_short(q, box, QUESTION_AGAIN, _(TIPME_WORDS_OFTEN));
	gtk_container_add(GTK_CONTAINER(box), q->entry);
}

static void add_status(struct question *q, GtkWidget *box)
{
	GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, SPACING);

	q->status = notice_label("");
	gtk_widget_set_hexpand(q->status, TRUE);
	gtk_container_add(GTK_CONTAINER(line), q->status);
	q->undo = button(q, line, _(TIPME_WORDS_UNDO), 'U', G_CALLBACK(question_on_undo));
	q->start =
		button(q, line, _(TIPME_WORDS_START_RECORDING), 'S', G_CALLBACK(question_on_start));
	gtk_widget_set_no_show_all(q->undo, TRUE);
	gtk_widget_set_no_show_all(q->start, TRUE);
	/* As high as with a button, so that nothing moves when one comes. */
	int height;

	gtk_widget_show(q->undo);
	gtk_widget_get_preferred_height(q->undo, NULL, &height);
	gtk_widget_hide(q->undo);
	gtk_widget_set_size_request(line, -1, height);
	gtk_container_add(GTK_CONTAINER(box), line);
}

static void add_panel(struct question *q, GtkWidget *box)
{
	GtkWidget *scroll = q->panel_scroll = gtk_scrolled_window_new(NULL, NULL);

	q->panel = gtk_box_new(GTK_ORIENTATION_VERTICAL, SPACING);
	q->text = gtk_text_view_new();
	gtk_text_view_set_editable(GTK_TEXT_VIEW(q->text), FALSE);
	gtk_text_view_set_cursor_visible(GTK_TEXT_VIEW(q->text), FALSE);
	gtk_text_view_set_monospace(GTK_TEXT_VIEW(q->text), TRUE);
	gtk_text_view_set_wrap_mode(GTK_TEXT_VIEW(q->text), GTK_WRAP_WORD_CHAR);
	gtk_widget_set_size_request(scroll, PANEL_WIDTH, -1);
	gtk_scrolled_window_set_shadow_type(GTK_SCROLLED_WINDOW(scroll), GTK_SHADOW_IN);
	gtk_container_add(GTK_CONTAINER(scroll), q->text);
	gtk_container_add(GTK_CONTAINER(q->panel), scroll);
	q->report_save = button(q, q->panel, _(TIPME_WORDS_REPORT_SAVE), 'v',
				G_CALLBACK(question_on_report_save));
	gtk_widget_show_all(scroll);
	gtk_widget_hide(q->report_save);
	gtk_widget_set_no_show_all(q->panel, TRUE);
	gtk_container_add(GTK_CONTAINER(box), q->panel);
}

static GtkWidget *contents(struct question *q)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, SPACING),
		  *end = row(GTK_BUTTONBOX_END);

	gtk_container_set_border_width(GTK_CONTAINER(box), 12);
	add_verdict(q, box);
	add_doing(q, box);
	add_status(q, box);
	add_panel(q, box);
	if (agent_window_there())
		button(q, end, _(TIPME_WORDS_OPEN), 'O', G_CALLBACK(question_on_open));
	button(q, end, _(TIPME_WORDS_WHY), 'W', G_CALLBACK(question_on_why));
	button(q, end, _(TIPME_WORDS_REPORT), 'R', G_CALLBACK(question_on_report));
	button(q, end, _(TIPME_WORDS_CLOSE), 'C', G_CALLBACK(question_on_close));
	gtk_container_add(GTK_CONTAINER(box), end);
	return box;
}

void question_fit(struct question *q, GtkWidget *part)
{
	GdkWindow *window = gtk_widget_get_window(q->window);
	GdkRectangle area, frame;
	int others, button;

	GtkWidget *all = gtk_bin_get_child(GTK_BIN(q->window));
	GdkMonitor *monitor =
		gdk_display_get_monitor_at_window(gtk_widget_get_display(all), window);

	gdk_monitor_get_workarea(monitor, &area);
	gdk_window_get_frame_extents(window, &frame);
	gtk_widget_get_preferred_height_for_width(all, WIDTH, NULL, &others);
	gtk_widget_get_preferred_height(q->no, NULL, &button); /* of a hidden one: 0 */
	/* The frame, and the button below the panel with its spaces. */
	others += frame.height - gdk_window_get_height(window) + button + 3 * SPACING;
	int most = MAX(area.height - others, PART_LEAST);

	if (part == q->moments)
		gtk_scrolled_window_set_max_content_height(GTK_SCROLLED_WINDOW(part), most);
	else
		gtk_widget_set_size_request(part, PANEL_WIDTH, MIN(most, PANEL_HEIGHT));
}

static gboolean on_delete(GtkWidget *widget, GdkEvent *event, gpointer arg)
{
	question_on_close(widget, arg);
	return TRUE;
}

static gboolean on_key(GtkWidget *widget, GdkEventKey *key, gpointer arg)
{
	if (key->keyval != GDK_KEY_Escape)
		return FALSE;
	question_on_close(widget, arg);
	return TRUE;
}

void question_window_make(struct question *q)
{
	q->window = agent_window_new("tipme: what happened?", WIDTH);
	g_signal_connect(q->window, "destroy", gtk_main_quit, NULL);
	g_signal_connect(q->window, "delete-event", G_CALLBACK(on_delete), q);
	g_signal_connect(q->window, "key-press-event", G_CALLBACK(on_key), q);
	gtk_container_add(GTK_CONTAINER(q->window), contents(q));
	gtk_widget_show_all(gtk_bin_get_child(GTK_BIN(q->window)));
	gtk_widget_grab_focus(q->entry);
	agent_window_place(q->window, WIDTH);
}
