// SPDX-License-Identifier: GPL-2.0-only
/* What the agent offers by a button. */
#include "config.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "offers.h"
#include "verb.h"
#include "words.h"

/* Until the end of an offer. */
struct offered {
	struct agent_feedback *feedback;
	char *dialog, *path; /* or NULL */
};

static struct offered *offered_new(struct agent_feedback *feedback, const char *dialog,
				   const char *path)
{
	struct offered *o = g_new(struct offered, 1);

	*o = (struct offered){ feedback, g_strdup(dialog), g_strdup(path) };
	return o;
}

static void offered_free(void *arg)
{
	struct offered *o = arg;

	g_free(o->dialog);
	g_free(o->path);
	g_free(o);
}

bool agent_question_start(const char *dialog, const char *path, int timeout_s)
{
	char *seconds = g_strdup_printf("%d", timeout_s);
	char *argv[] = { (char *)dialog, (char *)"--timeout", seconds, (char *)path, NULL };
	GError *error = NULL;
	bool good = g_spawn_async("/", argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, &error);

	if (!good) {
		fprintf(stderr, "tipme: agent: dialog: %s\n", error->message);
		g_error_free(error);
	}
	g_free(seconds);
	return good;
}

static void on_started(void *arg, int status, const char *out, const char *err)
{
	struct agent_feedback *feedback = arg;
	char *why = g_strndup(err, strcspn(err, "\n"));
	char *text = status ? g_strdup_printf(_(TIPME_WORDS_NOT_DONE), why)
			    : g_strdup(_(TIPME_WORDS_RECORDING));

	agent_feedback_say(feedback, text);
	g_free(text);
	g_free(why);
}

static void on_start_chosen(void *arg)
{
	static const char *const args[] = { "start", "--ask", NULL };

	agent_verb_run(args, NULL, NULL, on_started, ((struct offered *)arg)->feedback);
}

/* Who presses again and again gets one offer, and each time the line. */
#define OFFER_AGAIN_US (30 * G_USEC_PER_SEC)

void agent_offer_start(struct agent_feedback *feedback, const char *dialog)
{
	static gint64 last_us;
	gint64 now_us = g_get_monotonic_time();

	if (last_us && now_us - last_us < OFFER_AGAIN_US) {
		agent_feedback_say(feedback, _(TIPME_WORDS_NOT_RECORDING));
		return;
	}
	last_us = now_us;
	agent_feedback_offer(feedback, &(struct agent_offer){
					       .text = _(TIPME_WORDS_NOT_RECORDING),
					       .button = _(TIPME_WORDS_START_RECORDING),
					       .program = dialog,
					       .at_once = true,
					       .chosen = on_start_chosen,
					       .free_arg = offered_free,
					       .arg = offered_new(feedback, NULL, NULL),
				       });
}

static void on_details_chosen(void *arg)
{
	struct offered *o = arg;

	if (!agent_window_start(o->path) && o->dialog)
		agent_question_start(o->dialog, o->path, 0);
}

/* "xterm (pid 200) answered a key press after 515 ms. Saved." */
static char *slow_text(const char *json)
{
	struct json_object *top = json_tokener_parse(json), *verdict, *head;
	const char *what = json_object_object_get_ex(top, "verdict", &verdict) &&
					   json_object_object_get_ex(verdict, "head", &head)
				   ? json_object_get_string(head)
				   : NULL;
	char *sentence =
		what ? g_strconcat(what, ".", NULL) : g_strdup(_(TIPME_WORDS_SLOW_UNKNOWN));
	char *text = g_strdup_printf(_(TIPME_WORDS_SLOW_SAVED), sentence);

	json_object_put(top);
	g_free(sentence);
	return text;
}

static void on_diagnosed(void *arg, int status, const char *out, const char *err)
{
	struct offered *o = arg;
	char *text = slow_text(out);

	if (!o->dialog && !agent_window_there()) {
		agent_feedback_say(o->feedback, text);
		offered_free(o);
		g_free(text);
		return;
	}
	agent_feedback_offer(o->feedback, &(struct agent_offer){
						  .text = text,
						  .button = _(TIPME_WORDS_DETAILS),
						  .program = o->dialog,
						  .chosen = on_details_chosen,
						  .free_arg = offered_free,
						  .arg = o,
					  });
	g_free(text);
}

void agent_offer_details(struct agent_feedback *feedback, const char *dialog, const char *path)
{
	const char *args[] = { "diagnose", path, "--json", NULL };

	agent_verb_run_aside(args, on_diagnosed, offered_new(feedback, dialog, path));
}
