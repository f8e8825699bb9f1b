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

void tipme_ask(GtkWindow *window, const char *heading, const char *body, const char *text,
	       TipmeAsked asked, gpointer data, GDestroyNotify free_data)
{
	GtkWidget *dialog = adw_message_dialog_new(window, heading, body);
	Question *question = g_new0(Question, 1);

	*question = (Question){ entry_new(heading, text), asked, data, free_data };
	gtk_window_set_title(GTK_WINDOW(dialog), heading);
	adw_message_dialog_set_extra_child(ADW_MESSAGE_DIALOG(dialog), question->entry);
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
