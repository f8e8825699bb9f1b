// SPDX-License-Identifier: GPL-2.0-only
/* Reads an episode in a thread of its own: what the command line says of it, then its records. */
#include "config.h"

#include "opened.h"

#include "command.h"

#define DIAGNOSED 0.5 /* of the time until an episode is open, about */

void tipme_opened_free(gpointer data)
{
	TipmeOpened *opened = data;

	if (!opened)
		return;
	g_free(opened->episode);
	g_free(opened->folder);
	g_free(opened->problem);
	g_free(opened->more);
	g_clear_pointer(&opened->threads, g_array_unref);
	tipme_answer_free(opened->answer);
	tipme_lanes_free(opened->lanes);
	g_free(opened);
}

static void diagnose(TipmeOpened *opened, GCancellable *cancellable)
{
	const char *args[] = { "diagnose", "--json", opened->episode, NULL };
	g_autoptr(GError) error = NULL;
	struct json_object *diagnosis = tipme_command_json(args, cancellable, &error);

	opened->answer =
		diagnosis ? tipme_answer_from_json(diagnosis) : tipme_answer_failed(error->message);
	json_object_put(diagnosis);
}

typedef struct {
	GTask *task;
	const TipmeOpened *asked;
} Telling;

/* The records come after the diagnosis. */
static void on_share(double share, gpointer data)
{
	const Telling *telling = data;

	telling->asked->tell(telling->asked->threads ? share : DIAGNOSED + (1 - DIAGNOSED) * share,
			     telling->task);
}

void tipme_opened_load(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	const TipmeOpened *asked = data;
	g_autoptr(GError) error = NULL;
	TipmeOpened *opened = g_new0(TipmeOpened, 1);

	opened->episode = g_strdup(asked->episode);
	opened->folder = g_strdup(asked->folder);
	opened->more = g_strdup(asked->more);
	if (!asked->threads)
		diagnose(opened, cancellable);
	const GArray *threads = asked->threads ? asked->threads : opened->answer->threads;

	const Telling telling = { task, asked };
	const TipmeReading how = { .more = asked->more,
				   .cancellable = cancellable,
				   .progress = on_share,
				   .data = (gpointer)&telling,
				   .about_ns = asked->threads ? asked->about_ns
							      : opened->answer->from_ns };

	opened->lanes = tipme_lanes_load(opened->folder, (const guint32 *)(void *)threads->data,
					 threads->len, &how, &error);
	if (error)
		opened->problem = g_strdup(error->message);
	g_task_return_pointer(task, opened, tipme_opened_free);
}
