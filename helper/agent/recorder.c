// SPDX-License-Identifier: GPL-2.0-only
/* The agent's connection to the recorder. */
#include "config.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "message.h"
#include "paths.h"
#include "recorder.h"
#include "text.h"

/* A recorder that is started is joined within this. */
#define AGAIN_MS 1000

struct agent_recorder {
	struct agent_recorder_calls calls;
	int fd; /* -1: no recorder */
	guint source;
	bool watching; /* the recorder has taken us as a watcher */
	char buf[TIPME_MESSAGE_MAX + 1];
};

static gboolean join(gpointer arg);

static void again_later(struct agent_recorder *r)
{
	r->source = g_timeout_add(AGAIN_MS, join, r);
}

static void leave(struct agent_recorder *r)
{
	bool told = r->watching;

	close(r->fd);
	r->fd = -1;
	r->watching = false;
	again_later(r);
	if (told && r->calls.left)
		r->calls.left(r->calls.arg);
}

static void on_triggered(struct agent_recorder *r, uint32_t error, char *text)
{
	char *kind = strchr(text, '\n');

	if (error) {
		r->calls.refused(r->calls.arg, text);
		return;
	}
	if (kind)
		*kind++ = '\0';
	char *seconds = kind ? strchr(kind, '\n') : NULL;

	if (seconds)
		*seconds++ = '\0';
	r->calls.triggered(r->calls.arg, text, kind ? kind : "",
			   seconds ? g_ascii_strtod(seconds, NULL) : 0);
}

/*
 * The first reply is that to `watch`; later ones to chords matter only when they refuse what is no
 * snapshot.
 */
static void on_reply(struct agent_recorder *r, uint32_t error, const char *text)
{
	if (!r->watching && !error) {
		r->watching = true;
		if (r->calls.joined)
			r->calls.joined(r->calls.arg);
	} else if (error) {
		r->calls.refused(r->calls.arg, text);
	}
}

static void on_message(struct agent_recorder *r, const struct tipme_incoming *in)
{
	char *text = g_malloc(in->text_len + 1);

	/* It goes to a notification, a terminal, or the question. */
	tipme_text_clean(text, in->text_len + 1, in->text, in->text_len);

	if (in->verb == TIPME_VERB_REPLY)
		on_reply(r, in->arg, text);
	else if (in->verb == TIPME_VERB_TRIGGERED)
		on_triggered(r, in->arg, text);
	else if (in->verb == TIPME_VERB_SAVED)
		r->calls.saved(r->calls.arg, (int)in->arg, text);
	g_free(text);
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer arg)
{
	struct agent_recorder *r = arg;
	struct tipme_incoming in;
	int passed;
	ssize_t n = tipme_message_receive(fd, r->buf, TIPME_MESSAGE_MAX, &passed, MSG_DONTWAIT);

	if (passed >= 0)
		close(passed);
	if (n == -EAGAIN)
		return G_SOURCE_CONTINUE;
	if (n <= 0 || tipme_message_parse(r->buf, (size_t)n, &in)) {
		leave(r);
		return G_SOURCE_REMOVE;
	}
	on_message(r, &in);
	return G_SOURCE_CONTINUE;
}

static gboolean join(gpointer arg)
{
	struct agent_recorder *r = arg;

	/*
	 * Where it is changes with who starts it: an ordinary user, or root for the whole machine.
	 */
	r->fd = tipme_message_connect(tipme_rundir());
	if (r->fd < 0)
		return G_SOURCE_CONTINUE;
	tipme_message_send(r->fd, TIPME_VERB_WATCH, 0, "", 0, MSG_DONTWAIT);
	r->source = g_unix_fd_add(r->fd, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, r);
	return G_SOURCE_REMOVE;
}

struct agent_recorder *agent_recorder_new(const struct agent_recorder_calls *calls)
{
	struct agent_recorder *r = g_new0(struct agent_recorder, 1);

	r->calls = *calls;
	r->fd = -1;
	if (join(r) == G_SOURCE_CONTINUE)
		again_later(r);
	return r;
}

void agent_recorder_free(struct agent_recorder *r)
{
	if (!r)
		return;
	if (r->source)
		g_source_remove(r->source);
	if (r->fd >= 0)
		close(r->fd);
	g_free(r);
}

bool agent_recorder_joined(const struct agent_recorder *r)
{
	return r->watching;
}

int agent_recorder_chord(struct agent_recorder *r, uint32_t action)
{
	if (r->fd < 0 || !r->watching)
		return -ENOTCONN;
	return tipme_message_send(r->fd, TIPME_VERB_TRIGGER, action, "", 0, MSG_DONTWAIT);
}

void agent_recorder_tell(struct agent_recorder *r, const char *session)
{
	if (r->fd >= 0)
		tipme_message_send(r->fd, TIPME_VERB_WATCH, 0, session, strlen(session),
				   MSG_DONTWAIT);
}
