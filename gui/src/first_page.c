// SPDX-License-Identifier: GPL-2.0-only
/* The page of a library without episodes. */
#include "config.h"

#include "first_page.h"

#include "actions.h"
#include "facts_page.h"
#include "json.h"
#include "live.h"
#include "pages.h"
#include "run.h"
#include "language.h"

#include <adwaita.h>

#define ASK_S 2 /* whether it runs now */

typedef struct {
	GtkWidget *status, *start, *command, *press, *snap;
	gboolean has_problem;
	guint asking; /* source, while the page is seen; or 0 */
} First;

static const char *const recorded[] = {
	N_("The last 40 seconds of every thread: whether it ran, waited for a CPU, or slept, and on what."),
	N_("When a key was pressed and which program got it; never which key, never text."),
	N_("When programs asked the screen to change; never what it shows."),
	N_("All of it stays in memory on this machine, and is written only when you ask or agreed to."),
};

char **tipme_first_page_command(void)
{
	static const char *const args[] = { "start", NULL };
	g_auto(GStrv) plain = tipme_command_argv(args);
	g_autofree char *polkit = g_find_program_in_path("pkexec");
	g_autoptr(GStrvBuilder) argv = g_strv_builder_new();
	const char *tree = g_getenv("TIPME_BUILDDIR");

	if (polkit)
		g_strv_builder_add(argv, polkit);
	if (polkit && tree &&
	    *tree) /* pkexec hands no environment on: this program sets it itself */
	{
		g_free(plain[0]);
		plain[0] = g_build_filename(tree, "tipme", NULL);
	}
	g_strv_builder_addv(argv, (const char **)plain);
	return g_strv_builder_end(argv);
}

static void on_status(const TipmeResult *result, gpointer data)
{
	First *self = data;
	struct json_object *status = json_tokener_parse(result->out);
	gboolean runs = !result->status && *tipme_json_text(status, "source");
	const char *title = runs ? tipme_live_recording_words(status) : _("tipme is not recording");

	tipme_facts_page_set_busy(self->status, FALSE);
	if (!self->has_problem)
		adw_status_page_set_title(ADW_STATUS_PAGE(self->status), title);
	gtk_widget_set_visible(self->start, !runs);
	gtk_widget_set_visible(self->command, !runs);
	gtk_widget_set_visible(self->press, runs);
	gtk_widget_set_visible(self->snap, runs);
	json_object_put(status);
}

static gboolean ask(gpointer page)
{
	static const char *const args[] = { "status", "--json", NULL };

	tipme_run_verb(page, args, on_status, g_object_get_data(page, "first"));
	return G_SOURCE_CONTINUE;
}

/* Somebody may start the recorder in a terminal, or at login. */
static void on_seen(GtkWidget *page, First *self)
{
	if (!self->asking)
		self->asking = g_timeout_add_seconds(ASK_S, ask, page);
}

static void on_unseen(GtkWidget *page, First *self)
{
	if (self->asking)
		g_source_remove(self->asking);
	self->asking = 0;
}

void tipme_first_page_set(GtkWidget *page, const char *problem)
{
	First *self = g_object_get_data(G_OBJECT(page), "first");

	self->has_problem = problem != NULL;
	if (problem)
		adw_status_page_set_title(ADW_STATUS_PAGE(self->status),
					  _("The episodes cannot be listed"));
	adw_status_page_set_description(ADW_STATUS_PAGE(self->status), problem);
	tipme_facts_page_set_busy(page, TRUE);
	ask(page);
}

static GtkWidget *button_new(const char *name, const char *css)
{
	GtkWidget *button = gtk_button_new_with_label(_(tipme_action_find(name)->words));
	g_autofree char *action = g_strconcat("win.", name, NULL);

	gtk_actionable_set_action_name(GTK_ACTIONABLE(button), action);
	gtk_widget_set_halign(button, GTK_ALIGN_CENTER);
	gtk_widget_add_css_class(button, "pill");
	if (css)
		gtk_widget_add_css_class(button, css);
	return button;
}

static GtkWidget *centred(const char *text, const char *css)
{
	GtkWidget *label = tipme_label_new(text, css);

	gtk_label_set_xalign(GTK_LABEL(label), 0.5F);
	gtk_label_set_justify(GTK_LABEL(label), GTK_JUSTIFY_CENTER);
	return label;
}

static GtkWidget *content_new(First *self)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 10);
	g_auto(GStrv) argv = tipme_first_page_command();
	g_autofree char *words = g_strjoinv(" ", argv);
	g_autofree char *command = g_strdup_printf(_("This runs: %s"), words);

	gtk_box_append(GTK_BOX(box), tipme_label_new(_("What tipme records:"), "heading"));
	for (guint i = 0; i < G_N_ELEMENTS(recorded); i++)
		gtk_box_append(GTK_BOX(box), tipme_label_new(_(recorded[i]), NULL));
	self->start = button_new("start", "suggested-action");
	self->command = centred(command, "dim-label");
	self->press =
		centred(_("When something was slow, press Ctrl+Alt+minus, the agent's hot-key "
			  "unless you changed it. The button below does what tipme snap does."),
			NULL);
	self->snap = button_new("snap", "suggested-action");
	gtk_box_append(GTK_BOX(box), self->start);
	gtk_box_append(GTK_BOX(box), self->command);
	gtk_box_append(GTK_BOX(box), self->press);
	gtk_box_append(GTK_BOX(box), self->snap);
	gtk_widget_set_visible(self->press, FALSE);
	gtk_widget_set_visible(self->snap, FALSE);
	return box;
}

GtkWidget *tipme_first_page_new(void)
{
	First *self = g_new0(First, 1);

	self->status = adw_status_page_new();
	adw_status_page_set_title(ADW_STATUS_PAGE(self->status), _("Reading the episodes"));
	GtkWidget *clamp = adw_clamp_new();

	adw_clamp_set_child(ADW_CLAMP(clamp), content_new(self));
	adw_status_page_set_child(ADW_STATUS_PAGE(self->status), clamp);
	g_object_set_data_full(G_OBJECT(self->status), "first", self, g_free);
	g_signal_connect(self->status, "map", G_CALLBACK(on_seen), self);
	g_signal_connect(self->status, "unmap", G_CALLBACK(on_unseen), self);
	return self->status;
}
