// SPDX-License-Identifier: GPL-2.0-only
/*
 * tipme-agent: hears the hot-key in the user's session, says so, and asks what happened. Has no
 * privileges.
 */
#include "config.h"

#include <X11/Xlib.h>
#include <errno.h>
#include <glib-unix.h>
#include <glib.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "chords.h"
#include "feedback.h"
#include "keys.h"
#include "offers.h"
#include "recorder.h"
#include "extensions.h"
#include "verb.h"
#include "words.h"

#define TEST_S 15

struct agent {
	Display *display; /* NULL: no X server: only watches */
	struct agent_chords chords;
	struct agent_keys *keys;
	struct agent_feedback *feedback;
	struct agent_recorder *recorder;
	GMainLoop *loop;
	int status;
	bool beside; /* another agent runs on this display */
	GPid observer; /* 0: none */
	/* ids of hot-keys, and of what no human asked for, that are not saved yet */
	GHashTable *asked, *automatic;
	char *dialog; /* program of the question; NULL: none */
	/* options */
	gboolean test, list; /* list: tests nothing, says only which keys make the chords */
	gboolean no_dialog, no_observer, no_notifications, version;
	char *set[AGENT_CHORDS];
	char *config;
	int dialog_s;
};

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "tipme: agent: %s: %s\n", what, why);
	return 1;
}

/* It ends with us, however we end. */
static void die_with_agent(gpointer arg)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
}

static void on_observer_end(GPid pid, gint status, gpointer arg)
{
	((struct agent *)arg)->observer = 0;
	g_spawn_close_pid(pid);
}

/*
 * Tells the recorder what a client can see of a server without hooks; on one with hooks it ends at
 * once.
 */
static void observer_start(struct agent *a)
{
	char *program = agent_program_path("helper/xclient", "tipme-x-observer", TIPME_LIBEXECDIR);
	char *argv[] = { program, NULL };

	if (!a->no_observer && g_file_test(program, G_FILE_TEST_IS_EXECUTABLE) &&
	    g_spawn_async("/", argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, die_with_agent, NULL,
			  &a->observer, NULL))
		g_child_watch_add(a->observer, on_observer_end, a);
	g_free(program);
}

/*
 * Helpers are programs of their own: they may be slow to start, or break, and the hot-key works on.
 * Said at the start, since at the hot-key nobody looks at our standard error.
 */
static void dialog_find(struct agent *a)
{
	if (a->no_dialog)
		return;
	a->dialog = agent_program_path("helper/agent", "tipme-dialog", TIPME_LIBEXECDIR);
	if (g_file_test(a->dialog, G_FILE_TEST_IS_EXECUTABLE))
		return;
	char *why = g_strdup_printf(
		"%s: is not there: nobody is asked what happened: install all of tipme, or say --no-dialog",
		a->dialog);

	fail("dialog", why);
	g_free(why);
	g_clear_pointer(&a->dialog, g_free);
}

static void say(struct agent *a, const char *text)
{
	if (a->feedback)
		agent_feedback_say(a->feedback, text);
	if (a->test)
		printf("%s\n", text);
}

/* As the session is now: what is switched on may change from one episode to the next. */
static void tell_session(struct agent *a)
{
	char *text = agent_session_text();

	agent_recorder_tell(a->recorder, text);
	g_free(text);
}

static void on_triggered(void *arg, const char *id, const char *kind, double seconds)
{
	struct agent *a = arg;

	if (a->test) {
		printf(_("heard, by the X server itself or by the recorder: episode %s\n"), id);
		a->status = 0;
		g_main_loop_quit(a->loop);
		return;
	}
	tell_session(a);
	if (!strcmp(kind, "auto"))
		g_hash_table_add(a->automatic, g_strdup(id));
	if (strcmp(kind, "hotkey"))
		return;
	g_hash_table_add(a->asked, g_strdup(id));
	char *number = g_strdup_printf("%.0f", seconds);
	char *text = seconds < 1 ? g_strdup(_(TIPME_WORDS_SAVING))
				 : g_strdup_printf(_(TIPME_WORDS_SAVING_LAST), number);

	say(a, text);
	g_free(text);
	g_free(number);
}

static void on_refused(void *arg, const char *why)
{
	struct agent *a = arg;
	char *text = g_strdup_printf(_(TIPME_WORDS_NOT_DONE), why);

	say(a, text);
	g_free(text);
}

/*
 * Who asked by the hot-key is asked back; who typed `tipme snap -m` has said it all. What nobody
 * asked for is told, once.
 */
static void on_saved(void *arg, int error, const char *text)
{
	struct agent *a = arg;
	const char *id = strrchr(text, '/');

	if (error) {
		char *line = g_strdup_printf(_(TIPME_WORDS_NOT_SAVED), text);

		say(a, line);
		g_free(line);
	} else if (id && g_hash_table_remove(a->asked, id + 1)) {
		if (a->dialog)
			agent_question_start(a->dialog, text, a->dialog_s);
	} else if (id && g_hash_table_remove(a->automatic, id + 1)) {
		agent_offer_details(a->feedback, a->dialog, text);
	}
}

static void on_joined(void *arg)
{
	struct agent *a = arg;

	if (a->test)
		puts(_("the recorder is there"));
	else
		tell_session(a);
}

static void on_left(void *arg)
{
	say(arg, _(TIPME_WORDS_ENDED));
}

static void heard_in_test(struct agent *a, const struct agent_chord *chord, enum agent_keys_way way)
{
	printf(_("heard %s (%s), %s\n"), chord->text, _(chord->says),
	       way == AGENT_BY_GRAB ? _("by the grab of the key: no other program gets it")
				    : _("as a raw event: also while a menu is open"));
	a->status = 0;
	g_main_loop_quit(a->loop);
}

static void on_heard(void *arg, const struct agent_chord *chord, enum agent_keys_way way)
{
	struct agent *a = arg;

	if (a->test) {
		heard_in_test(a, chord, way);
		return;
	}
	int err = agent_recorder_chord(a->recorder, chord->action);

	if (err == -ENOTCONN)
		agent_offer_start(a->feedback, a->dialog);
	else if (err)
		say(a, _(TIPME_WORDS_DEAF));
	else if (chord->action == TIPME_CHORD_ACTION_START)
		say(a, _(TIPME_WORDS_RECORDING));
	else if (chord->action == TIPME_CHORD_ACTION_NO_INPUT)
		say(a, _(TIPME_WORDS_NO_INPUT));
	else if (chord->action == TIPME_CHORD_ACTION_DEFAULT_INPUT)
		say(a, _(TIPME_WORDS_DEFAULT_INPUT));
}

/*
 * The X connection as a source of GLib: what Xlib has read already is as good as what the socket
 * has.
 */
struct x_source {
	GSource source;
	struct agent *agent;
	gpointer tag;
};

static gboolean x_pending(GSource *source)
{
	return XPending(((struct x_source *)source)->agent->display) > 0;
}

static gboolean x_prepare(GSource *source, gint *timeout)
{
	*timeout = -1;
	return x_pending(source);
}

static gboolean x_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
	struct agent *a = ((struct x_source *)source)->agent;

	while (XPending(a->display)) {
		XEvent event;

		XNextEvent(a->display, &event);
		if (!agent_keys_event(a->keys, &event) && a->feedback)
			agent_feedback_event(a->feedback, &event);
	}
	return G_SOURCE_CONTINUE;
}

static GSourceFuncs x_funcs = { .prepare = x_prepare, .check = x_pending, .dispatch = x_dispatch };

static void x_listen(struct agent *a)
{
	if (!a->display)
		return;
	GSource *source = g_source_new(&x_funcs, sizeof(struct x_source));

	((struct x_source *)source)->agent = a;
	((struct x_source *)source)->tag = g_source_add_unix_fd(
		source, ConnectionNumber(a->display), G_IO_IN | G_IO_HUP | G_IO_ERR);
	g_source_attach(source, NULL);
	g_source_unref(source);
}

/* The server ended: so did the session. */
static int on_x_gone(Display *display)
{
	_exit(0);
}

/* One agent for each display: the selection tells. Who only tests does not take it. */
static bool alone(struct agent *a)
{
	Atom selection = XInternAtom(a->display, "_TIPME_AGENT", False);
	Window window = XCreateSimpleWindow(a->display, DefaultRootWindow(a->display), -1, -1, 1, 1,
					    0, 0, 0);

	XGrabServer(a->display);
	bool taken = XGetSelectionOwner(a->display, selection) != None;

	if (!taken && !a->test)
		XSetSelectionOwner(a->display, selection, window, CurrentTime);
	XUngrabServer(a->display);
	XSync(a->display, False);
	return !taken;
}

static void tell_chord(const struct agent *a, const struct agent_chord *c)
{
	unsigned int count = agent_keys_count(a->keys, c->action);
	char *keys = count == 1 ? g_strdup(_("1 key")) : g_strdup_printf(_("%u keys"), count);

	if (!c->hotkey.chord[TIPME_CHORD_ACTION_SNAPSHOT].keysym)
		printf(_("%-14s none\n"), c->name);
	else if (!count)
		printf(_("%-14s %s: no key of this layout bears that symbol: choose another with --%s\n"),
		       c->name, c->text, c->name);
	else if (agent_keys_taken(a->keys, c->action) && a->beside)
		printf(_("%-14s %s (%s): %s; taken, as it should be, if it is the agent of this session that has it\n"),
		       c->name, c->text, keys, _(c->says));
	else if (agent_keys_taken(a->keys, c->action))
		printf(_("%-14s %s: another program has taken it%s: choose another with --%s\n"),
		       c->name, c->text,
		       agent_keys_raw(a->keys)
			       ? _(" (it is heard all the same, but that program gets it, too)")
			       : "",
		       c->name);
	else
		printf("%-14s %s (%s): %s\n", c->name, c->text, keys, _(c->says));
	g_free(keys);
}

static void tell_chords(const struct agent *a)
{
	for (int i = 0; i < AGENT_CHORDS; i++)
		tell_chord(a, &a->chords.chord[i]);
	fflush(stdout);
}

static void complain_taken(struct agent *a)
{
	for (int i = 0; i < AGENT_CHORDS; i++) {
		const struct agent_chord *c = &a->chords.chord[i];

		if (agent_keys_taken(a->keys, c->action))
			fprintf(stderr,
				"tipme: agent: %s: another program has taken this key: choose another with --%s, or free it there\n",
				c->text, c->name);
	}
}

/* [hotkeys] snapshot=Ctrl+Alt+minus; what is given as an option counts more. */
static int config_read(struct agent *a)
{
	char *path =
		a->config ? g_strdup(a->config)
			  : g_build_filename(g_get_user_config_dir(), "tipme", "agent.conf", NULL);
	GKeyFile *file = g_key_file_new();
	bool there = g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL);
	int bad = 0;
	char why[128];

	if (!there && a->config)
		bad = fail(path, "cannot be read as a configuration: see tipme-agent(1)");
	for (int i = 0; there && !bad && i < AGENT_CHORDS; i++) {
		char *text = g_key_file_get_string(file, "hotkeys", a->chords.chord[i].name, NULL);

		if (text && agent_chord_set(&a->chords, a->chords.chord[i].name, g_strstrip(text),
					    why, sizeof(why)))
			bad = fail(path, why);
		g_free(text);
	}
	g_key_file_free(file);
	g_free(path);
	return bad;
}

/* Of two that are the same one would never be heard. */
static int chords_differ(const struct agent *a)
{
	for (int i = 0; i < AGENT_CHORDS; i++)
		for (int j = 0; j < i; j++) {
			const struct agent_chord *c = &a->chords.chord[i], *d = &a->chords.chord[j];

			if (!agent_chords_same(c, d))
				continue;
			fprintf(stderr,
				"tipme: agent: %s: is the hot-key for both %s and %s: choose another with --%s or --%s, or none\n",
				c->text, d->name, c->name, d->name, c->name);
			return 1;
		}
	return 0;
}

static int chords_set(struct agent *a)
{
	char why[128];

	agent_chords_init(&a->chords);
	if (config_read(a))
		return 1;
	for (int i = 0; i < AGENT_CHORDS; i++)
		if (a->set[i] && agent_chord_set(&a->chords, a->chords.chord[i].name, a->set[i],
						 why, sizeof(why)))
			return fail("hot-key", why);
	return chords_differ(a);
}

static int options_parse(struct agent *a, int argc, char **argv)
{
	const GOptionEntry entries[] = {
		{ "snapshot", 0, 0, G_OPTION_ARG_STRING, &a->set[1],
		  "save what just happened (Ctrl+Alt+minus)", "CHORD" },
		{ "start", 0, 0, G_OPTION_ARG_STRING, &a->set[0], "start recording (Ctrl+Alt+plus)",
		  "CHORD" },
		{ "no-input", 0, 0, G_OPTION_ARG_STRING, &a->set[2],
		  "record no input at all (Ctrl+Alt+0)", "CHORD" },
		{ "default-input", 0, 0, G_OPTION_ARG_STRING, &a->set[3],
		  "record input, never which key (Ctrl+Alt+1)", "CHORD" },
		{ "test-hotkey", 0, 0, G_OPTION_ARG_NONE, &a->test,
		  "press it now: says whether it is heard, and ends", NULL },
		{ "hotkeys", 0, 0, G_OPTION_ARG_NONE, &a->list,
		  "say which keys make the chords here, and end", NULL },
		{ "no-dialog", 0, 0, G_OPTION_ARG_NONE, &a->no_dialog, "do not ask what happened",
		  NULL },
		{ "no-observer", 0, 0, G_OPTION_ARG_NONE, &a->no_observer,
		  "do not observe a server without hooks for the recorder", NULL },
		{ "no-notifications", 0, 0, G_OPTION_ARG_NONE, &a->no_notifications,
		  "an own small window instead of the desktop's notifications", NULL },
		{ "dialog-timeout", 0, 0, G_OPTION_ARG_INT, &a->dialog_s,
		  "seconds until the question goes away by itself (60)", "S" },
		{ "config", 0, 0, G_OPTION_ARG_FILENAME, &a->config,
		  "instead of ~/.config/tipme/agent.conf", "FILE" },
		{ "version", 0, 0, G_OPTION_ARG_NONE, &a->version, "print the version", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	GOptionContext *context =
		g_option_context_new("- the recorder's hot-key and question in this session");
	GError *error = NULL;

	g_option_context_set_description(
		context,
		"CHORD is written like Ctrl+Alt+minus, Super+F12, Pause, or none.\n\nExamples:\n"
		"  tipme-agent\n  tipme-agent --test-hotkey\n  tipme-agent --snapshot Super+F12 --start none\n");
	g_option_context_add_main_entries(context, entries, NULL);
	bool good = g_option_context_parse(context, &argc, &argv, &error);

	g_option_context_free(context);
	if (!good || argc > 1) {
		fprintf(stderr, "tipme: agent: %s: %s: see tipme-agent --help\n",
			good ? argv[1] : "options", good ? "not understood" : error->message);
		return 64;
	}
	return 0;
}

static gboolean on_test_over(gpointer arg)
{
	struct agent *a = arg;

	puts(_(TIPME_WORDS_HOTKEY_SILENT));
	g_main_loop_quit(a->loop);
	return G_SOURCE_REMOVE;
}

static gboolean on_end(gpointer arg)
{
	g_main_loop_quit(arg);
	return G_SOURCE_REMOVE;
}

static int display_prepare(struct agent *a)
{
	char why[128];

	a->display = XOpenDisplay(NULL);
	if (!a->display) {
		fail("no X server here",
		     "only episodes that others ask for get a question: see tipme doctor for a hot-key");
		return a->test ? 1 : 0;
	}
	XSetIOErrorHandler(on_x_gone);
	a->beside = !alone(a);
	if (!a->test && a->beside)
		return fail("an agent runs on this display already", "end that one first");
	a->keys = agent_keys_new(a->display, &a->chords, on_heard, a, why, sizeof(why));
	if (!a->keys)
		return fail("hot-key", why);
	if (a->test)
		tell_chords(a);
	else
		complain_taken(a);
	x_listen(a);
	return 0;
}

/* As a test looks at them. */
static int list(struct agent *a)
{
	a->test = true;
	int failed = display_prepare(a);

	if (failed)
		return failed;
	agent_keys_free(a->keys);
	XCloseDisplay(a->display);
	return 0;
}

static int run(struct agent *a)
{
	struct agent_recorder_calls calls = { on_joined,  on_left,  on_triggered,
					      on_refused, on_saved, a };

	if (!a->test)
		dialog_find(a);
	a->loop = g_main_loop_new(NULL, FALSE);
	a->asked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	a->automatic = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	if (display_prepare(a))
		return 1;
	if (!a->test && a->display)
		observer_start(a);
	if (!a->test)
		a->feedback = agent_feedback_new(a->display, !a->no_notifications, a->dialog_s);
	a->recorder = agent_recorder_new(&calls);
	g_unix_signal_add(SIGTERM, on_end, a->loop);
	g_unix_signal_add(SIGINT, on_end, a->loop);
	if (a->test) {
		a->status = 1;
		g_timeout_add_seconds(TEST_S, on_test_over, a);
		printf(_("press one of them now (%d seconds)\n"), TEST_S);
		fflush(stdout);
	}
	g_main_loop_run(a->loop);
	if (a->observer)
		kill(a->observer, SIGTERM);
	agent_recorder_free(a->recorder);
	g_hash_table_unref(a->asked);
	g_hash_table_unref(a->automatic);
	g_free(a->dialog);
	agent_feedback_free(a->feedback);
	agent_keys_free(a->keys);
	if (a->display)
		XCloseDisplay(a->display);
	g_main_loop_unref(a->loop);
	return a->status;
}

int main(int argc, char **argv)
{
	static struct agent agent = { .dialog_s = 60 };

	setlocale(LC_ALL, "");
	tipme_language_begin();
	int misuse = options_parse(&agent, argc, argv);

	if (misuse)
		return misuse;
	if (agent.version) {
		puts("tipme-agent " PACKAGE_VERSION);
		return 0;
	}
	if (chords_set(&agent))
		return 1;
	return agent.list ? list(&agent) : run(&agent);
}
