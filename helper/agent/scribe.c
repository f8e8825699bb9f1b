// SPDX-License-Identifier: GPL-2.0-only
/*
 * Puts the user's words into an episode, through the recorder: one request at a time, and again
 * when a recorder comes back.
 */
#include "config.h"

#include <errno.h>
#include <glib-unix.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "message.h"
#include "paths.h"
#include "scribe.h"
#include "text.h"

/* A recorder that is started again is joined within this. */
#define AGAIN_MS 1000

struct scribe {
	const struct scribe_calls *calls;
	char *id;
	char *wanted; /* not sent yet; NULL: nothing */
	char *sent; /* not answered yet; NULL: nothing */
	int fd; /* the recorder; -1: none */
	bool known; /* it has answered that we watch */
	guint source; /* of fd, or of the next try; 0: neither */
	char buf[TIPME_MESSAGE_MAX];
};

static gboolean join_again(gpointer arg);

/* What was sent and not answered is to be sent again, unless there is something newer. */
static void recorder_gone(struct scribe *s)
{
	close(s->fd);
	s->fd = -1;
	if (!s->wanted)
		s->wanted = s->sent;
	else
		g_free(s->sent);
	s->sent = NULL;
	s->source = g_timeout_add(AGAIN_MS, join_again, s);
	if (s->wanted)
		s->calls->alone(s->calls->arg);
}

static void send_wanted(struct scribe *s)
{
	if (s->fd < 0 || !s->known || s->sent || !s->wanted)
		return;
	char *text = g_strdup_printf("%s\n%s", s->id, s->wanted);

	s->sent = g_steal_pointer(&s->wanted);
	/* A failure shows as the end of the connection. */
	tipme_message_send(s->fd, TIPME_VERB_NOTE, 0, text, strlen(text), MSG_DONTWAIT);
	g_free(text);
}

static void on_reply(struct scribe *s, const struct tipme_incoming *in)
{
	g_clear_pointer(&s->sent, g_free);
	if (in->arg) {
		char *text = g_malloc(in->text_len + 1);

		tipme_text_clean(text, in->text_len + 1, in->text, in->text_len);
		s->calls->refused(s->calls->arg, text);
		g_free(text);
	} else if (!s->wanted) {
		s->calls->saved(s->calls->arg);
		return;
	}
	send_wanted(s);
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer arg)
{
	struct scribe *s = arg;
	struct tipme_incoming in;
	int passed;
	ssize_t n = tipme_message_receive(fd, s->buf, sizeof(s->buf), &passed, MSG_DONTWAIT);

	if (passed >= 0)
		close(passed);
	if (n == -EAGAIN)
		return G_SOURCE_CONTINUE;
	if (n <= 0 || tipme_message_parse(s->buf, (size_t)n, &in)) {
		recorder_gone(s);
		return G_SOURCE_REMOVE;
	}
	if (in.verb != TIPME_VERB_REPLY)
		return G_SOURCE_CONTINUE;
	if (s->sent) {
		on_reply(s, &in);
	} else {
		s->known = true;
		send_wanted(s);
	}
	return G_SOURCE_CONTINUE;
}

/*
 * First of all: whoever watches is known as no program of the user's. Words follow when that is
 * answered, so that one question is open at a time. A recorder that hangs keeps nobody: nothing
 * is waited for.
 */
static bool join(struct scribe *s)
{
	s->known = false;
	s->fd = tipme_message_connect(tipme_rundir());
	if (s->fd < 0)
		return false;
	if (!tipme_message_send(s->fd, TIPME_VERB_WATCH, 0, "", 0, MSG_DONTWAIT)) {
		s->source = g_unix_fd_add(s->fd, G_IO_IN | G_IO_HUP, on_readable, s);
		return true;
	}
	close(s->fd);
	s->fd = -1;
	return false;
}

static gboolean join_again(gpointer arg)
{
	/* What it made instead, if it did, is the new source. */
	return join(arg) ? G_SOURCE_REMOVE : G_SOURCE_CONTINUE;
}

struct scribe *scribe_new(const char *id, const struct scribe_calls *calls)
{
	struct scribe *s = g_new0(struct scribe, 1);

	s->calls = calls;
	s->id = g_strdup(id);
	s->fd = -1;
	if (!join(s))
		s->source = g_timeout_add(AGAIN_MS, join_again, s);
	return s;
}

void scribe_free(struct scribe *s)
{
	if (!s)
		return;
	if (s->source)
		g_source_remove(s->source);
	if (s->fd >= 0)
		close(s->fd);
	g_free(s->wanted);
	g_free(s->sent);
	g_free(s->id);
	g_free(s);
}

/* Whoever has something to save does not wait for the next try. */
void scribe_write(struct scribe *s, const char *words)
{
	g_free(s->wanted);
	s->wanted = g_strdup(words);
	if (s->fd < 0) {
		guint again = s->source;

		if (!join(s)) {
			s->calls->alone(s->calls->arg);
			return;
		}
		if (again)
			g_source_remove(again);
	}
	send_wanted(s);
}

bool scribe_busy(const struct scribe *s)
{
	return s->wanted || s->sent;
}
