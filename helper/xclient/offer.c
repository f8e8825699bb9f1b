// SPDX-License-Identifier: GPL-2.0-only
/* Offers the ring to tipmed, and offers it again when tipmed was started anew. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "message.h"
#include "observer_impl.h"
#include "paths.h"
#include "text.h"

#define RETRY_NS TIPME_NS_PER_S

void observer_offer_open(struct tipme_observer *o, const char *rundir)
{
	o->rundir = rundir;
	o->sock = -1;
}

/* The ring tells who types when: it goes to whom tipme_message_connect() lets us talk to. */
static void offer(struct tipme_observer *o, uint64_t now_ns)
{
	o->retry_ns = now_ns + RETRY_NS;
	int sock = tipme_message_connect(o->rundir ? o->rundir : tipme_rundir());

	if (sock < 0)
		return;
	if (fcntl(sock, F_SETFL, O_NONBLOCK) ||
	    tipme_message_send_fd(sock, TIPME_VERB_X_HELLO, o->display, o->server_name,
				  strlen(o->server_name), o->ring.fd, MSG_DONTWAIT)) {
		close(sock);
		return;
	}
	o->sock = sock;
}

/* Returns 0, or what tipmed said against us where that is final. */
static int take_answer(struct tipme_observer *o, const char *buf, size_t len, char *why,
		       size_t why_len)
{
	struct tipme_incoming in;

	if (tipme_message_parse(buf, len, &in) || in.verb != TIPME_VERB_REPLY ||
	    (in.arg != EEXIST && in.arg != EACCES))
		return 0;
	tipme_text_clean(why, why_len, in.text, in.text_len < 200 ? in.text_len : 200);
	return -(int)in.arg;
}

int observer_offer_step(struct tipme_observer *o, uint64_t now_ns, char *why, size_t why_len)
{
	char buf[1024];
	int fd, err = 0;
	ssize_t n = 0;

	if (o->sock < 0 && now_ns >= o->retry_ns)
		offer(o, now_ns);
	while (o->sock >= 0 && !err) {
		n = tipme_message_receive(o->sock, buf, sizeof(buf), &fd, MSG_DONTWAIT);
		if (fd >= 0)
			close(fd);
		if (n <= 0 && n != -EMSGSIZE)
			break;
		err = n > 0 ? take_answer(o, buf, (size_t)n, why, why_len) : 0;
	}
	if (o->sock >= 0 && n != -EAGAIN && (n <= 0 && n != -EMSGSIZE))
		observer_offer_close(o);
	return err;
}

int observer_offer_timeout_ms(const struct tipme_observer *o, uint64_t now_ns)
{
	if (o->sock >= 0)
		return -1;
	return now_ns >= o->retry_ns ? 0 : (int)((o->retry_ns - now_ns) / 1000000) + 1;
}

void observer_offer_close(struct tipme_observer *o)
{
	if (o->sock >= 0)
		close(o->sock);
	o->sock = -1;
}
