// SPDX-License-Identifier: GPL-2.0-only
/* A dialog with one entry: Return saves, Escape cancels. */
#include "config.h"

#include "ask.h"

#include <adwaita.h>

#include "language.h"

typedef struct {
	GtkWidget *entry;
	TipmeAsked asked;
	gpointer data;
	GDestroyNotify free_data;
} Question;

static void question_free(gpointer data, GClosure *closure)
{
	Question *question = data;

	if (question->free_data)
		question->free_data(question->data);
	g_free(question);
}

static void on_response(GtkWidget *dialog, const char *response, Question *question)
{
	if (g_str_equal(response, "save"))
		question->asked(gtk_editable_get_text(GTK_EDITABLE(question->entry)),
				question->data);
}

static GtkWidget *entry_new(const char *heading, const char *text)
{
	GtkWidget *entry = gtk_entry_new();

	gtk_editable_set_text(GTK_EDITABLE(entry), text);
	gtk_entry_set_activates_default(GTK_ENTRY(entry), TRUE);
	gtk_accessible_update_property(GTK_ACCESSIBLE(entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       heading, -1);
	return entry;
}

static GtkWidget *text_new(const char *text, const char *style)
{
	GtkWidget *label = gtk_label_new(text);

	gtk_label_set_wrap(GTK_LABEL(label), TRUE);
	gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
	gtk_label_set_justify(GTK_LABEL(label), GTK_JUSTIFY_CENTER);
	gtk_label_set_max_width_chars(GTK_LABEL(label), 40);
	if (style)
		gtk_widget_add_css_class(label, style);
	return label;
}

/*
 * The heading is a label of ours: GTK since 4.18 warns of the dialog's own, which libadwaita
 * measures for widths that are less than it needs.
 */
GtkWidget *tipme_dialog_new(GtkWindow *window, const char *heading, const char *body,
			    GtkWidget *child)
{
	GtkWidget *dialog = adw_message_dialog_new(window, NULL, NULL);
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12), *text = text_new(body, NULL);

	gtk_window_set_title(GTK_WINDOW(dialog), heading);
	gtk_box_append(GTK_BOX(box), text_new(heading, "title-2"));
	gtk_box_append(GTK_BOX(box), text);
	if (child)
		gtk_box_append(GTK_BOX(box), child);
	adw_message_dialog_set_extra_child(ADW_MESSAGE_DIALOG(dialog), box);
	gtk_accessible_update_relation(GTK_ACCESSIBLE(dialog), GTK_ACCESSIBLE_RELATION_DESCRIBED_BY,
				       text, NULL, -1);
	return dialog;
}

void tipme_ask(GtkWindow *window, const char *heading, const char *body, const char *text,
	       TipmeAsked asked, gpointer data, GDestroyNotify free_data)
{
	Question *question = g_new0(Question, 1);
	GtkWidget *dialog;

	*question = (Question){ entry_new(heading, text), asked, data, free_data };
	dialog = tipme_dialog_new(window, heading, body, question->entry);
	adw_message_dialog_add_responses(ADW_MESSAGE_DIALOG(dialog), "cancel", _("_Cancel"), "save",
					 _("_Save"), NULL);
	adw_message_dialog_set_response_appearance(ADW_MESSAGE_DIALOG(dialog), "save",
						   ADW_RESPONSE_SUGGESTED);
	adw_message_dialog_set_default_response(ADW_MESSAGE_DIALOG(dialog), "save");
	adw_message_dialog_set_close_response(ADW_MESSAGE_DIALOG(dialog), "cancel");
	g_signal_connect_data(dialog, "response", G_CALLBACK(on_response), question, question_free,
			      0);
	gtk_window_present(GTK_WINDOW(dialog));
	gtk_widget_grab_focus(question->entry);
}
