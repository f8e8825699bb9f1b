// SPDX-License-Identifier: GPL-2.0-only
/* tipme-gui: the window; with --dump, its models as text, without a display. */
#include "config.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "actions.h"
#include "command.h"
#include "dumped.h"
#include "window.h"
#include "language.h"
#include "paint.h"

static TipmeWish wish;
static TipmeDumpWish dumped = { .what = { NAN, NAN, NULL } };
static gboolean dump, actions, service;
static char **rest, *size;

static const GOptionEntry options[] = {
	{ "page", 0, 0, G_OPTION_ARG_STRING, &wish.page,
	  N_("Show this page first: episodes, answer, timeline, compare, report, check, week, measured or live"),
	  "PAGE" },
	{ "picture", 0, 0, G_OPTION_ARG_FILENAME, &wish.picture,
	  N_("Write a picture of the page and its words, then end"), "FILE.png" },
	{ "size", 0, 0, G_OPTION_ARG_STRING, &size,
	  N_("How large the window is; 1280x800 without it"), "WIDTHxHEIGHT" },
	{ "dump", 0, 0, G_OPTION_ARG_NONE, &dump, N_("Print what would be shown; needs no display"),
	  NULL },
	{ "from", 0, 0, G_OPTION_ARG_DOUBLE, &dumped.what.from_ms,
	  N_("With --dump: sums from here on, in ms from the event"), "MS" },
	{ "to", 0, 0, G_OPTION_ARG_DOUBLE, &dumped.what.to_ms, N_("With --dump: up to here"),
	  "MS" },
	{ "lane", 0, 0, G_OPTION_ARG_STRING, &dumped.what.lane,
	  N_("With --dump: all that this lane did, and its functions by samples"), "NAME" },
	{ "threads", 0, 0, G_OPTION_ARG_STRING, &dumped.threads,
	  N_("With --dump: lanes of these, too: names or numbers, with blanks between them"),
	  "WORDS" },
	{ "pin", 0, 0, G_OPTION_ARG_STRING_ARRAY, &dumped.pinned,
	  N_("With --dump: this lane first"), "NAME" },
	{ "group", 0, 0, G_OPTION_ARG_NONE, &dumped.grouped,
	  N_("With --dump: threads of one process stand together"), NULL },
	{ "actions", 0, 0, G_OPTION_ARG_NONE, &actions,
	  N_("Print what the window can do: name, verb, keys"), NULL },
	{ "gapplication-service", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &service, NULL,
	  NULL },
	{ G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &rest, NULL, "[EPISODE [OTHER]]" },
	{ 0 },
};

static int fail(const char *why)
{
	g_printerr("%s\n", why);
	return 1;
}

/* One window for each program; what is asked for later is shown in it. */
static void show_wish(GtkApplication *application)
{
	GList *windows = gtk_application_get_windows(application);

	if (!windows) {
		tipme_paint_install(gdk_display_get_default());
		gtk_window_set_default_icon_name(TIPME_APP_ID);
		gtk_window_present(
			GTK_WINDOW(tipme_window_new(ADW_APPLICATION(application), &wish)));
		return;
	}
	while (gtk_window_get_transient_for(windows->data) && windows->next)
		windows = windows->next;
	tipme_window_open(windows->data);
}

static void on_activate(GtkApplication *application, gpointer data)
{
	GtkWindow *window = gtk_application_get_active_window(application);

	if (window)
		gtk_window_present(window);
	else
		show_wish(application);
}

/* hint: the page, the episode and the other, a line each; empty where a desktop opens a file. */
static void on_open(GtkApplication *application, GFile **files, int count, const char *hint,
		    gpointer data)
{
	g_auto(GStrv) words = g_strsplit(hint, "\n", 3);
	gboolean told = g_strv_length(words) == 3;

	g_free(wish.page);
	g_free(wish.episode);
	g_free(wish.other);
	wish.page = told && *words[0] ? g_strdup(words[0]) : NULL;
	wish.episode = told ? g_strdup(words[1]) : g_file_get_path(files[0]);
	wish.other = told && *words[2] ? g_strdup(words[2]) : NULL;
	if (wish.episode && !*wish.episode)
		g_clear_pointer(&wish.episode, g_free);
	show_wish(application);
}

/* What is a path here may be none where the window runs. */
static char *absolute(const char *episode)
{
	g_autoptr(GFile) file = g_file_new_for_path(episode);

	return g_file_test(episode, G_FILE_TEST_EXISTS) ? g_file_get_path(file) : g_strdup(episode);
}

/* By D-Bus, where a window runs already, else here. */
static void open_there(GApplication *application)
{
	g_autoptr(GFile) file = g_file_new_for_path(wish.episode ? wish.episode : ".");
	g_autofree char *episode = absolute(wish.episode ? wish.episode : "");
	g_autofree char *other = absolute(wish.other ? wish.other : "");
	g_autofree char *hint = g_strjoin("\n", wish.page ? wish.page : "", episode, other, NULL);

	g_application_open(application, &file, 1, hint);
}

/* -1: the window is ours, go on. Within g_application_run(), which leaves the bus as it should. */
static int on_options(GApplication *application, GVariantDict *unused, gpointer data)
{
	g_autoptr(GError) error = NULL;

	if (!wish.episode && !wish.page)
		return -1;
	if (!g_application_register(application, NULL, &error))
		return fail(error->message);
	open_there(application);
	return g_application_get_is_remote(application) ? 0 : -1;
}

static int run_window(void)
{
	if (!gtk_init_check())
		return fail(_(
			"tipme: gui: there is no display: run it in a session, or use tipme diagnose"));
	GApplicationFlags flags =
		wish.picture ? G_APPLICATION_NON_UNIQUE : G_APPLICATION_HANDLES_OPEN;
	g_autoptr(AdwApplication) application =
		adw_application_new(TIPME_APP_ID, flags | (service ? G_APPLICATION_IS_SERVICE : 0));

	g_signal_connect(application, "activate", G_CALLBACK(on_activate), NULL);
	g_signal_connect(application, "open", G_CALLBACK(on_open), NULL);
	if (!wish.picture)
		g_signal_connect(application, "handle-local-options", G_CALLBACK(on_options), NULL);
	int status = g_application_run(G_APPLICATION(application), 0, NULL);

	return status ? status : wish.status;
}

static gboolean size_is_right(void)
{
	return !size || (sscanf(size, "%dx%d", &wish.width, &wish.height) == 2 && wish.width > 0 &&
			 wish.height > 0);
}

static gboolean page_is_known(void)
{
	return !wish.page || g_strv_contains(tipme_window_pages, wish.page);
}

/* Two for a comparison, else one at most. */
static gboolean count_is_right(void)
{
	guint count = rest ? g_strv_length(rest) : 0;

	return !g_strcmp0(wish.page, "compare") ? count == 2 : count <= 1;
}

/* The catalog of the installation; tests name another folder. */
static void find_words(void)
{
	const char *named = g_getenv("TIPME_LOCALEDIR");

	bindtextdomain(GETTEXT_PACKAGE, named && *named ? named : TIPME_LOCALEDIR);
	bind_textdomain_codeset(GETTEXT_PACKAGE, "UTF-8");
}

int main(int argc, char **argv)
{
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) error = NULL;

	/* Numbers as the verbs print them; GTK would set the locale anew. */
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	gtk_disable_setlocale();
	find_words();
	g_option_context_set_translation_domain(context, GETTEXT_PACKAGE);
	g_option_context_set_summary(
		context,
		N_("Shows the episodes, who made a key press slow, and the timeline that proves it."));
	g_option_context_set_description(
		context,
		N_("Examples:\n  tipme gui\n  tipme gui last\n  tipme gui --page timeline last\n"));
	g_option_context_add_main_entries(context, options, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error) || !count_is_right() ||
	    !page_is_known() || !size_is_right()) {
		g_printerr(_("tipme: gui: %s: see tipme gui --help\n"),
			   error ? error->message : _("one EPISODE, and a page that there is"));
		return 64;
	}
	if (actions) {
		g_autofree char *text = tipme_actions_dump();

		g_print("%s", text);
		return 0;
	}
	wish.episode = rest ? g_strdup(rest[0]) : NULL;
	wish.other = wish.episode ? g_strdup(rest[1]) : NULL;
	dumped.episode = wish.episode;
	return dump ? tipme_dump_run(&dumped) : run_window();
}
