// SPDX-License-Identifier: GPL-2.0-only
/* Each deed runs a verb and says what it said; those that show something turn to its page. */
#include "config.h"

#include "deeds.h"

#include "actions.h"
#include "ask.h"
#include "first_page.h"
#include "episodes.h"
#include "pages.h"
#include "run.h"
#include "language.h"

#include <string.h>

#define WAIT_MS 8000 /* before what was deleted is removed: as long as its toast is seen */

/* The first line, which says what happened. */
static void on_done(const TipmeResult *result, gpointer data)
{
	TipmeDeeds *deeds = data;
	const char *text = result->status ? result->said : result->out;
	g_auto(GStrv) lines = g_strsplit(*text ? text : result->said, "\n", 2);

	if (lines[0] && *lines[0])
		deeds->say(lines[0], FALSE, deeds->data);
	deeds->changed(deeds->data);
}

/* The page of the recorder tells what is so now. */
static void on_switched(const TipmeResult *result, gpointer data)
{
	if (result->status)
		on_done(result, data);
}

/* VERB ID... [OPTION...]; it belongs to the caller. */
static char **args_of(const char *verb, GPtrArray *rows, const char *const *options)
{
	g_autoptr(GStrvBuilder) args = g_strv_builder_new();

	g_strv_builder_add(args, verb);
	for (guint i = 0; rows && i < rows->len; i++)
		g_strv_builder_add(args, ((TipmeRow *)g_ptr_array_index(rows, i))->id);
	if (options)
		g_strv_builder_addv(args, (const char **)options);
	return g_strv_builder_end(args);
}

/* `tipme VERB ID... [OPTION]` */
static void run(TipmeDeeds *deeds, const char *verb, GPtrArray *rows, const char *option)
{
	g_auto(GStrv) args = args_of(verb, rows, (const char *const[]){ option, NULL });

	tipme_run_verb(deeds->window, (const char *const *)args, on_done, deeds);
}

/* The same, with the options that take it back. */
static void run_undoable(TipmeDeeds *deeds, const char *verb, GPtrArray *rows,
			 const char *const *options, const char *back)
{
	g_auto(GStrv) args = args_of(verb, rows, options);
	g_auto(GStrv) undo = args_of(verb, rows, (const char *const[]){ back, NULL });

	tipme_run_verb(deeds->window, (const char *const *)args, on_done, deeds);
	tipme_undo_push(deeds->undo, (const char *const *)undo);
}

/* Not at once: until then it can be taken back. */
static void remove_later(TipmeDeeds *deeds, GPtrArray *rows)
{
	const char *const options[] = { "--pinned", NULL };
	g_auto(GStrv) args = args_of("rm", rows, options);
	g_auto(GStrv) all = args_of("", rows, NULL);
	g_autofree char *text = rows->len == 1
					? g_strdup_printf(_("%s is deleted"), all[1])
					: g_strdup_printf(_("%u episodes are deleted"), rows->len);

	tipme_undo_later(deeds->undo, (const char *const *)args, (const char *const *)all + 1);
	deeds->say(text, TRUE, deeds->data);
}

static void on_agreed(GtkWidget *dialog, const char *response, TipmeDeeds *deeds)
{
	if (!strcmp(response, "delete"))
		remove_later(deeds, g_object_get_data(G_OBJECT(dialog), "rows"));
}

static char *question(GPtrArray *rows)
{
	TipmeRow *first = g_ptr_array_index(rows, 0);

	if (rows->len == 1)
		return g_strdup_printf(_("Delete the episode %s?"), first->id);
	return g_strdup_printf(_("Delete %u episodes?"), rows->len);
}

/* It is asked first, and what was agreed to can be taken back for a while. */
static void ask_delete(TipmeDeeds *deeds, GPtrArray *rows)
{
	g_autofree char *heading = question(rows);
	const char *body = _("Those that are pinned, too. You can undo this for some seconds.");
	GtkWidget *dialog = tipme_dialog_new(GTK_WINDOW(deeds->window), heading, body, NULL);

	adw_message_dialog_add_responses(ADW_MESSAGE_DIALOG(dialog), "keep", _("_Keep"), "delete",
					 _("_Delete"), NULL);
	adw_message_dialog_set_response_appearance(ADW_MESSAGE_DIALOG(dialog), "delete",
						   ADW_RESPONSE_DESTRUCTIVE);
	adw_message_dialog_set_default_response(ADW_MESSAGE_DIALOG(dialog), "keep");
	adw_message_dialog_set_close_response(ADW_MESSAGE_DIALOG(dialog), "keep");
	g_object_set_data_full(G_OBJECT(dialog), "rows", g_ptr_array_ref(rows),
			       (GDestroyNotify)g_ptr_array_unref);
	g_signal_connect(dialog, "response", G_CALLBACK(on_agreed), deeds);
	gtk_window_present(GTK_WINDOW(dialog));
}

/* --- notes and tags --- */

typedef struct {
	TipmeDeeds *deeds;
	GPtrArray *rows;
} About;

static About *about_new(TipmeDeeds *deeds, GPtrArray *rows)
{
	About *about = g_new(About, 1);

	*about = (About){ deeds, g_ptr_array_ref(rows) };
	return about;
}

static void about_free(gpointer data)
{
	About *about = data;

	g_ptr_array_unref(about->rows);
	g_free(about);
}

static void on_note(const char *text, gpointer data)
{
	About *about = data;
	const char *const options[] = { *text ? text : "--clear", NULL };
	const char *const quoted[] = { "--", text, NULL };

	run_undoable(about->deeds, "note", about->rows, *text == '-' ? quoted : options, "--undo");
}

/* What is not there any more is removed, from all that are chosen. */
static void on_tags(const char *text, gpointer data)
{
	About *about = data;
	TipmeRow *first = g_ptr_array_index(about->rows, 0);
	g_auto(GStrv) now = g_strsplit(text, " ", -1);
	g_auto(GStrv) before = g_strsplit(first->tags, " ", -1);
	g_autoptr(GPtrArray) options = g_ptr_array_new_with_free_func(g_free);

	for (char **word = now; *word; word++)
		if (**word)
			g_ptr_array_add(options, g_strconcat("--add=", *word, NULL));
	for (char **word = before; *word; word++)
		if (**word && !g_strv_contains((const char *const *)now, *word))
			g_ptr_array_add(options, g_strconcat("--remove=", *word, NULL));
	if (!options->len)
		return;
	g_ptr_array_add(options, NULL);
	run_undoable(about->deeds, "tag", about->rows, (const char *const *)options->pdata,
		     "--undo");
}

static void ask_words(TipmeDeeds *deeds, GPtrArray *rows, gboolean tags)
{
	TipmeRow *first = g_ptr_array_index(rows, 0);
	GtkWindow *window = GTK_WINDOW(deeds->window);

	if (tags)
		tipme_ask(window, _("Tags"),
			  _("Words by which you find it again, a blank between two."), first->tags,
			  on_tags, about_new(deeds, rows), about_free);
	else
		tipme_ask(window, _("Note"),
			  _("What did you do, and what did you expect? It stays on this machine."),
			  first->note, on_note, about_new(deeds, rows), about_free);
}

typedef struct {
	TipmeDeeds *deeds;
	char *path;
} Written;

/* Where it is, which is what its writer looks for. */
static void on_written(const TipmeResult *result, gpointer data)
{
	Written *written = data;
	g_autofree char *text = g_strdup_printf(
		_("Saved as %s. tipme sends nothing: give it to whom you like."), written->path);

	if (result->status)
		on_done(result, written->deeds);
	else
		written->deeds->say(text, FALSE, written->deeds->data);
	g_free(written->path);
	g_free(written);
}

static void on_chosen(GtkNativeDialog *dialog, int response, TipmeDeeds *deeds)
{
	const char *id = g_object_get_data(G_OBJECT(dialog), "id");

	if (response == GTK_RESPONSE_ACCEPT) {
		g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
		Written *written = g_new(Written, 1);

		*written = (Written){ deeds, g_file_get_path(file) };
		const char *args[] = { "bundle", id, "--yes", "-o", written->path, NULL };

		tipme_run_verb(deeds->window, args, on_written, written);
	}
	g_object_unref(dialog);
}

/* The report page has shown what leaves; to name the file is to agree. */
static void write_bundle(TipmeDeeds *deeds, GPtrArray *rows)
{
	TipmeRow *row = g_ptr_array_index(rows, 0);
	g_autofree char *name = g_strdup_printf("tipme-%s.tipme", row->id);
	GtkFileChooserNative *dialog =
		gtk_file_chooser_native_new(_("Write the file for a vendor"),
					    GTK_WINDOW(deeds->window), GTK_FILE_CHOOSER_ACTION_SAVE,
					    _("_Write"), _("_Cancel"));

	gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(dialog), name);
	g_object_set_data_full(G_OBJECT(dialog), "id", g_strdup(row->id), g_free);
	g_signal_connect(dialog, "response", G_CALLBACK(on_chosen), deeds);
	gtk_native_dialog_show(GTK_NATIVE_DIALOG(dialog));
}

/* What the agent's hot-keys for it do. */
static void switch_input(TipmeDeeds *deeds, gboolean on)
{
	const char *args[] = { "classes", on ? "+input" : "-input", NULL };

	tipme_run_verb(deeds->window, args, on_switched, deeds);
}

static void test_hotkey(TipmeDeeds *deeds)
{
	deeds->show("page-live", NULL, deeds->data);
	deeds->show("test-hotkey", NULL, deeds->data);
}

static void start(TipmeDeeds *deeds)
{
	g_auto(GStrv) argv = tipme_first_page_command();

	tipme_run(deeds->window, (const char *const *)argv, on_done, deeds);
}

static void unpin(TipmeDeeds *deeds, GPtrArray *rows)
{
	g_auto(GStrv) back = args_of("pin", rows, NULL);

	run(deeds, "pin", rows, "--undo");
	tipme_undo_push(deeds->undo, (const char *const *)back);
}

static void undo(TipmeDeeds *deeds)
{
	if (!tipme_undo_last(deeds->undo))
		deeds->say(_("There is nothing to undo"), FALSE, deeds->data);
}

/* A file that `tipme latency` or `tipme profile` wrote. */
static void on_measurement(GtkNativeDialog *dialog, int response, TipmeDeeds *deeds)
{
	if (response == GTK_RESPONSE_ACCEPT) {
		g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
		g_autofree char *path = g_file_get_path(file);

		deeds->measured(path, deeds->data);
	}
	g_object_unref(dialog);
}

static void open_measurement(TipmeDeeds *deeds)
{
	GtkFileChooserNative *dialog =
		gtk_file_chooser_native_new(_("Open what tipme latency or tipme profile recorded"),
					    GTK_WINDOW(deeds->window), GTK_FILE_CHOOSER_ACTION_OPEN,
					    _("_Open"), _("_Cancel"));

	g_signal_connect(dialog, "response", G_CALLBACK(on_measurement), deeds);
	gtk_native_dialog_show(GTK_NATIVE_DIALOG(dialog));
}

/* What an action is about: the report that is seen, or what is selected. */
static GPtrArray *rows_for(TipmeDeeds *deeds, const char *name)
{
	GPtrArray *told = tipme_report_page_rows(deeds->report);

	if (told && !strcmp(name, "bundle") && gtk_widget_get_mapped(deeds->report))
		return g_ptr_array_ref(told);
	return tipme_episodes_page_chosen(deeds->episodes);
}

static void do_rows(TipmeDeeds *deeds, const char *name)
{
	g_autoptr(GPtrArray) rows = rows_for(deeds, name);

	if (!rows->len)
		deeds->say(_("Select an episode in the list first"), FALSE, deeds->data);
	else if (!strcmp(name, "pin"))
		run_undoable(deeds, "pin", rows, NULL, "--undo");
	else if (!strcmp(name, "unpin"))
		unpin(deeds, rows);
	else if (!strcmp(name, "note") && rows->len != 1)
		deeds->say(_("Select one episode in the list first"), FALSE, deeds->data);
	else if (!strcmp(name, "note") || !strcmp(name, "tag"))
		ask_words(deeds, rows, *name == 't');
	else if (!strcmp(name, "delete"))
		ask_delete(deeds, rows);
	else if (!strcmp(name, "bundle"))
		write_bundle(deeds, rows);
	else if (!strcmp(name, "compare") && rows->len != 2)
		deeds->say(_("Select two episodes in the list first, with Control or Shift"), FALSE,
			   deeds->data);
	else
		deeds->show(name, rows, deeds->data);
}

static void on_action(GSimpleAction *action, GVariant *parameter, gpointer data)
{
	TipmeDeeds *deeds = data;
	const char *name = g_action_get_name(G_ACTION(action));

	if (!strcmp(name, "refresh"))
		deeds->changed(deeds->data);
	else if (!strcmp(name, "snap"))
		run(deeds, "snap", NULL, NULL);
	else if (!strcmp(name, "start"))
		start(deeds);
	else if (g_str_has_suffix(name, "input"))
		switch_input(deeds, !strcmp(name, "input"));
	else if (!strcmp(name, "undo"))
		undo(deeds);
	else if (!strcmp(name, "measured"))
		open_measurement(deeds);
	else if (!strcmp(name, "test-hotkey"))
		test_hotkey(deeds);
	else if (!strcmp(name, "find") || !strcmp(name, "cancel") ||
		 g_str_has_prefix(name, "page-"))
		deeds->show(name, NULL, deeds->data);
	else
		do_rows(deeds, name);
}

static void enable(TipmeDeeds *deeds, const char *name, gboolean enabled)
{
	GAction *action = g_action_map_lookup_action(G_ACTION_MAP(deeds->window), name);

	if (action)
		g_simple_action_set_enabled(G_SIMPLE_ACTION(action), enabled);
}

void tipme_deeds_refresh(TipmeDeeds *deeds)
{
	if (!deeds->undo)
		return;
	g_autoptr(GPtrArray) rows = tipme_episodes_page_chosen(deeds->episodes);
	static const char *const selected[] = { "diagnose", "note",  "tag",    "pin", "delete",
						"compare",  "check", "report", NULL };
	guint pinned = 0;

	for (const char *const *name = selected; *name; name++)
		enable(deeds, *name, rows->len > 0);
	for (guint i = 0; i < rows->len; i++)
		pinned += ((TipmeRow *)g_ptr_array_index(rows, i))->pinned ? 1 : 0;
	enable(deeds, "pin", pinned < rows->len);
	enable(deeds, "unpin", pinned > 0);
	enable(deeds, "undo", tipme_undo_any(deeds->undo));
}

static void on_undo_changed(gpointer data)
{
	tipme_deeds_refresh(data);
}

static void on_undo_run(const char *const *args, gpointer data)
{
	TipmeDeeds *deeds = data;

	tipme_run_verb(deeds->window, args, on_done, deeds);
}

static void on_undo_hide(const char *const *ids, gboolean hide, gpointer data)
{
	TipmeDeeds *deeds = data;

	tipme_episodes_page_hide(deeds->episodes, ids, hide);
}

/* The window is closed: nobody waits for what the verbs say. */
static void on_last_run(const char *const *args, gpointer data)
{
	g_auto(GStrv) argv = tipme_command_argv(args);

	g_spawn_async(NULL, argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, NULL);
}

void tipme_deeds_end(TipmeDeeds *deeds)
{
	tipme_undo_free(deeds->undo);
	deeds->undo = NULL;
}

void tipme_deeds_install(GtkApplication *application, TipmeDeeds *deeds)
{
	const TipmeUndoDoes does = { on_undo_run, on_last_run, on_undo_hide,
				     WAIT_MS,	  deeds,       on_undo_changed };

	deeds->undo = tipme_undo_new(&does);
	for (const TipmeAction *action = tipme_actions; action->name; action++) {
		g_autoptr(GSimpleAction) made = g_simple_action_new(action->name, NULL);
		g_autofree char *detailed = g_strconcat("win.", action->name, NULL);
		const char *keys[] = { action->in_list ? NULL : action->keys, NULL };

		g_signal_connect(made, "activate", G_CALLBACK(on_action), deeds);
		g_action_map_add_action(G_ACTION_MAP(deeds->window), G_ACTION(made));
		gtk_application_set_accels_for_action(application, detailed, keys);
	}
	tipme_deeds_refresh(deeds);
}
