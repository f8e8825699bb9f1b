// SPDX-License-Identifier: GPL-2.0-only
/*
 * Triggers for the worst intervals only: an episode costs seconds of disk, which would be in the
 * next intervals.
 */
#include "config.h"

#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "explain.h"
#include "message.h"
#include "paths.h"
#include "text.h"

/* tipmed takes one from a user in five seconds. */
#define PAUSE_NS (5 * TIPME_NS_PER_S)

int tipme_explain_open(struct tipme_explain *ex)
{
	*ex = (struct tipme_explain){ .fd = tipme_message_connect(tipme_rundir()) };
	return ex->fd < 0 ? ex->fd : 0;
}

static void take_id(struct tipme_explain *ex, const char *text)
{
	struct json_object *o = json_tokener_parse(text), *id;

	ex->id[0] = 0;
	if (json_object_object_get_ex(o, "id", &id))
		snprintf(ex->id, sizeof(ex->id), "%s", json_object_get_string(id));
	json_object_put(o);
}

/* Takes one message. Returns 0, or -errno when there is none or the recorder has gone. */
static int take_message(struct tipme_explain *ex, int flags)
{
	static char buf[TIPME_MESSAGE_MAX + 1];
	struct tipme_incoming in;
	int passed;
	ssize_t n = tipme_message_receive(ex->fd, buf, TIPME_MESSAGE_MAX, &passed, flags);

	if (passed >= 0)
		close(passed);
	if (n <= 0)
		return n ? (int)n : -ECONNRESET;
	if (tipme_message_parse(buf, (size_t)n, &in))
		return 0;
	buf[n] = 0;
	if (in.verb == TIPME_VERB_REPLY && in.arg)
		ex->refused++, ex->id[0] = 0;
	else if (in.verb == TIPME_VERB_REPLY)
		take_id(ex, in.text);
	else if (in.verb == TIPME_VERB_SAVED && !in.arg && ex->id[0] && strstr(in.text, ex->id))
		tipme_text_clean(ex->path, sizeof(ex->path), in.text, in.text_len);
	return 0;
}

void tipme_explain_offer(struct tipme_explain *ex, const struct tipme_interval *at,
			 const char *words)
{
	uint64_t now_ns = tipme_clock_ns(), length = at->to_ns - at->from_ns,
		 before = ex->asked.to_ns - ex->asked.from_ns;

	if (ex->fd < 0 || length <= before + before / 4 ||
	    (ex->asked_ns && now_ns - ex->asked_ns < PAUSE_NS))
		return;
	while (!take_message(ex, MSG_DONTWAIT))
		;
	if (tipme_message_send(ex->fd, TIPME_VERB_TRIGGER, 0, words, strlen(words), MSG_DONTWAIT))
		return;
	ex->asked = *at;
	ex->asked_ns = now_ns;
	ex->path[0] = 0;
	/* The answer comes at once, the path when all is on disk. */
	take_message(ex, 0);
	if (!ex->id[0])
		ex->asked = (struct tipme_interval){ 0 };
}

int tipme_explain_wait(struct tipme_explain *ex)
{
	uint64_t end_ns = tipme_clock_ns() + 30 * TIPME_NS_PER_S;

	while (ex->fd >= 0 && ex->id[0] && !ex->path[0] && tipme_clock_ns() < end_ns) {
		struct pollfd p = { .fd = ex->fd, .events = POLLIN };

		if (poll(&p, 1, 500) > 0 && take_message(ex, 0))
			break;
	}
	return ex->path[0] ? 0 : -ENOENT;
}

void tipme_explain_close(struct tipme_explain *ex)
{
	if (ex->fd >= 0)
		close(ex->fd);
	ex->fd = -1;
}
