// SPDX-License-Identifier: GPL-2.0-only
/* All here happens in the main thread: GSubprocess reads both streams without blocking. */
#include "config.h"

#include "run.h"

typedef struct {
	GCancellable *ending; /* cancelled when the owner is destroyed */
	GSubprocess *child; /* of one that is told by lines, else NULL */
	void (*line)(const char *line, gpointer data);
	TipmeDone done;
	gpointer data;
} Run;

static void run_free(Run *run)
{
	g_object_unref(run->ending);
	g_clear_object(&run->child);
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

static Run *run_new(GtkWidget *owner, TipmeDone done, gpointer data)
{
	Run *run = g_new0(Run, 1);

	run->ending = g_cancellable_new();
	run->done = done;
	run->data = data;
	g_signal_connect_object(owner, "destroy", G_CALLBACK(g_cancellable_cancel), run->ending,
				G_CONNECT_SWAPPED);
	return run;
}

void tipme_run(GtkWidget *owner, const char *const *argv, TipmeDone done, gpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GSubprocess) child = g_subprocess_newv(
		argv, G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE, &error);
	Run *run = run_new(owner, done, data);

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

/* It has closed its streams: it ends, or has ended. */
static void on_ended(GObject *child, GAsyncResult *result, gpointer data)
{
	Run *run = data;

	if (g_subprocess_wait_finish(run->child, result, NULL))
		tell(run, g_strdup(""), g_strdup(""),
		     g_subprocess_get_if_exited(run->child)
			     ? g_subprocess_get_exit_status(run->child)
			     : -1);
	else
		g_subprocess_force_exit(run->child);
	run_free(run);
}

static void on_line(GObject *stream, GAsyncResult *result, gpointer data)
{
	Run *run = data;
	g_autofree char *line = g_data_input_stream_read_line_finish(G_DATA_INPUT_STREAM(stream),
								     result, NULL, NULL);

	if (!line) {
		g_subprocess_wait_async(run->child, run->ending, on_ended, run);
		return;
	}
	g_autofree char *valid = g_utf8_make_valid(line, -1);

	run->line(valid, run->data);
	g_data_input_stream_read_line_async(G_DATA_INPUT_STREAM(stream), G_PRIORITY_DEFAULT,
					    run->ending, on_line, run);
}

void tipme_run_lines(GtkWidget *owner, const char *const *args,
		     void (*line)(const char *line, gpointer data), TipmeDone done, gpointer data)
{
	g_auto(GStrv) argv = tipme_command_argv(args);
	g_autoptr(GError) error = NULL;
	Run *run = run_new(owner, done, data);

	run->line = line;
	run->child =
		g_subprocess_newv((const char *const *)argv,
				  G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_MERGE,
				  &error);
	if (!run->child) {
		line(error->message, data);
		tell(run, g_strdup(""), g_strdup(error->message), -1);
		run_free(run);
		return;
	}
	g_autoptr(GDataInputStream) stream =
		g_data_input_stream_new(g_subprocess_get_stdout_pipe(run->child));

	g_data_input_stream_read_line_async(stream, G_PRIORITY_DEFAULT, run->ending, on_line, run);
}
