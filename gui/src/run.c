// SPDX-License-Identifier: GPL-2.0-only
/* All here happens in the main thread: GSubprocess reads both streams without blocking. */
#include "config.h"

#include "run.h"

typedef struct {
	GCancellable *ending; /* cancelled when the owner is destroyed */
	TipmeDone done;
	gpointer data;
} Run;

static void run_free(Run *run)
{
	g_object_unref(run->ending);
	g_free(run);
}

static char *text_of(GBytes *bytes)
{
	gsize length = 0;
	const char *text = bytes ? g_bytes_get_data(bytes, &length) : NULL;

	return g_utf8_make_valid(text ? text : "", (gssize)length);
}

static void tell(Run *run, char *out, char *said, int status)
{
	TipmeResult result = { out, said, status };

	run->done(&result, run->data);
	g_free(out);
	g_free(said);
}

static void on_said(GObject *source, GAsyncResult *result, gpointer data)
{
	GSubprocess *child = G_SUBPROCESS(source);
	Run *run = data;
	g_autoptr(GBytes) out = NULL;
	g_autoptr(GBytes) said = NULL;
	g_autoptr(GError) error = NULL;
	gboolean done = g_subprocess_communicate_finish(child, result, &out, &said, &error);

	if (g_cancellable_is_cancelled(run->ending))
		g_subprocess_force_exit(child);
	else if (done)
		tell(run, text_of(out), text_of(said),
		     g_subprocess_get_if_exited(child) ? g_subprocess_get_exit_status(child) : -1);
	else
		tell(run, g_strdup(""), g_strdup(error->message), -1);
	run_free(run);
}

void tipme_run(GtkWidget *owner, const char *const *argv, TipmeDone done, gpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GSubprocess) child = g_subprocess_newv(
		argv, G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE, &error);
	Run *run = g_new0(Run, 1);

	run->ending = g_cancellable_new();
	run->done = done;
	run->data = data;
	g_signal_connect_object(owner, "destroy", G_CALLBACK(g_cancellable_cancel), run->ending,
				G_CONNECT_SWAPPED);
	if (child) {
		g_subprocess_communicate_async(child, NULL, run->ending, on_said, run);
		return;
	}
	tell(run, g_strdup(""), g_strdup(error->message), -1);
	run_free(run);
}

void tipme_run_verb(GtkWidget *owner, const char *const *args, TipmeDone done, gpointer data)
{
	g_auto(GStrv) argv = tipme_command_argv(args);

	tipme_run(owner, (const char *const *)argv, done, data);
}
