// SPDX-License-Identifier: GPL-2.0-only
/*
 * The recorder, asked again and again. What can be pressed stands above its tables, and stays
 * while they are made anew.
 */
#include "config.h"

#include "facts.h"
#include "facts_page.h"
#include "json.h"
#include "live.h"
#include "pages.h"
#include "run.h"
#include "language.h"

typedef struct {
	GtkWidget *title, *start; /* seen while it does not record */
	GtkWidget *tables; /* seen while it does */
	GtkWidget *input, *off, *on; /* what is recorded of input, and the switch */
	GtkWidget *hotkey, *chords, *test;
	gboolean listed, testing;
} Live;

static Live *live_of(GtkWidget *page)
{
	return g_object_get_data(G_OBJECT(page), "live");
}

static void show_controls(Live *self, struct json_object *status)
{
	TipmeInput input = tipme_live_input(status);
	g_autofree char *hotkey = tipme_live_hotkey_words(status);
	gboolean runs = *tipme_json_text(status, "source") != '\0';

	gtk_widget_set_visible(self->title, !runs);
	gtk_widget_set_visible(self->start, !runs);
	gtk_widget_set_visible(self->tables, runs);
	gtk_label_set_text(GTK_LABEL(self->input), tipme_live_input_words(input));
	gtk_widget_set_visible(self->off, input == TIPME_INPUT_ON);
	gtk_widget_set_visible(self->on, input == TIPME_INPUT_OFF);
	gtk_label_set_text(GTK_LABEL(self->hotkey), hotkey);
}

static void on_status(const TipmeResult *result, gpointer page)
{
	struct json_object *status = tipme_command_parse(result->out, result->said, NULL);

	tipme_facts_page_set_busy(page, FALSE);
	tipme_facts_page_show(page, result, tipme_facts_of_status, "status", NULL);
	show_controls(live_of(page), status);
	json_object_put(status);
}

static void add_line(const char *line, gpointer page)
{
	Live *self = live_of(page);
	const char *before = gtk_label_get_text(GTK_LABEL(self->chords));
	g_autofree char *text = g_strconcat(before, *before ? "\n" : "", line, NULL);

	gtk_label_set_text(GTK_LABEL(self->chords), text);
}

static void on_listed(const TipmeResult *result, gpointer page)
{
	Live *self = live_of(page);
	g_autofree char *text = g_strdup(result->status ? result->said : result->out);

	if (!self->testing)
		gtk_label_set_text(GTK_LABEL(self->chords), g_strchomp(text));
}

static void on_tested(const TipmeResult *result, gpointer page)
{
	Live *self = live_of(page);

	self->testing = FALSE;
	gtk_widget_set_sensitive(self->test, TRUE);
}

void tipme_live_page_test(GtkWidget *page)
{
	static const char *const args[] = { "doctor", "--test-hotkey", NULL };
	Live *self = live_of(page);

	if (self->testing)
		return;
	self->testing = TRUE;
	gtk_widget_set_sensitive(self->test, FALSE);
	gtk_label_set_text(GTK_LABEL(self->chords), "");
	tipme_run_lines(page, args, add_line, on_tested, page);
}

void tipme_live_page_read(GtkWidget *page)
{
	static const char *const args[] = { "status", "--json", NULL };
	static const char *const list[] = { "doctor", "--hotkeys", NULL };
	Live *self = live_of(page);

	tipme_facts_page_set_busy(page, TRUE);
	tipme_run_verb(page, args, on_status, page);
	if (self->listed)
		return;
	self->listed = TRUE;
	tipme_run_verb(page, list, on_listed, page);
}

static GtkWidget *button_new(GtkWidget *box, const char *name)
{
	GtkWidget *button = tipme_action_button(name);

	gtk_widget_set_halign(button, GTK_ALIGN_START);
	gtk_box_append(GTK_BOX(box), button);
	return button;
}

static GtkWidget *label_new(GtkWidget *box, const char *text, const char *css)
{
	GtkWidget *label = tipme_label_new(text, css);

	gtk_box_append(GTK_BOX(box), label);
	return label;
}

GtkWidget *tipme_live_page_new(void)
{
	GtkWidget *page = tipme_facts_page_new();
	GtkWidget *box = g_object_get_data(G_OBJECT(page), "box");
	Live *self = g_new0(Live, 1);

	g_object_set_data_full(G_OBJECT(page), "live", self, g_free);
	self->title = label_new(box, _("tipme is not recording"), "title-2");
	self->start = button_new(box, "start");
	label_new(box, _("Input"), "heading");
	self->input = label_new(box, "", NULL);
	self->off = button_new(box, "no-input");
	self->on = button_new(box, "input");
	label_new(box, _("Hot-keys"), "heading");
	self->hotkey = label_new(box, "", NULL);
	self->chords = label_new(box, "", "monospace");
	self->test = button_new(box, "test-hotkey");
	self->tables = gtk_box_new(GTK_ORIENTATION_VERTICAL, 10);
	gtk_box_append(GTK_BOX(box), self->tables);
	g_object_set_data(G_OBJECT(page), "box", self->tables);
	gtk_widget_set_visible(self->title, FALSE);
	gtk_widget_set_visible(self->start, FALSE);
	gtk_widget_set_visible(self->off, FALSE);
	gtk_widget_set_visible(self->on, FALSE);
	return page;
}
