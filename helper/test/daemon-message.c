// SPDX-License-Identifier: GPL-2.0-only
/* Messages and strangers' text: what is not well-formed is refused or made harmless. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon-tap.h"
#include "message.h"
#include "paths.h"
#include "text.h"

static void test_parse(void)
{
	struct {
		struct tipme_message head;
		char text[4];
	} m = { { TIPME_MESSAGE_MAGIC, 1, TIPME_VERB_TRIGGER, 2, 4 }, "word" };
	struct tipme_incoming in;

	ok(!tipme_message_parse(&m, 20, &in) && in.verb == TIPME_VERB_TRIGGER && in.arg == 2 &&
		   in.text_len == 4,
	   "a message is read");
	ok(tipme_message_parse(&m, 19, &in) == -EBADMSG, "cut");
	ok(tipme_message_parse(&m, 15, &in) == -EBADMSG &&
		   tipme_message_parse(&m, 0, &in) == -EBADMSG,
	   "shorter than its head");
	m.head.text_len = 65001;
	ok(tipme_message_parse(&m, 16 + 65001, &in) == -EBADMSG, "longer than permitted");
	m.head.text_len = UINT32_MAX;
	ok(tipme_message_parse(&m, 15, &in) == -EBADMSG &&
		   tipme_message_parse(&m, 20, &in) == -EBADMSG,
	   "a length that would wrap");
	m.head.text_len = 4;
	m.head.version = 2;
	ok(tipme_message_parse(&m, 20, &in) == -EPROTONOSUPPORT, "another version");
	m.head.magic = 0;
	ok(tipme_message_parse(&m, 20, &in) == -EBADMSG, "another magic");
}

/* Many descriptors in one message are a way to use up ours. */
static void test_descriptors(void)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(3 * sizeof(int))];
	} control = { .head = { CMSG_LEN(3 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	char byte = 1, buf[64];
	struct iovec part = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &part,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	int pair[2], fds[3] = { 0, 0, 0 }, passed;

	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	ok(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), "a pair of sockets");
	int before = dup(0);

	close(before);
	ok(sendmsg(pair[0], &msg, 0) == 1 &&
		   tipme_message_receive(pair[1], buf, sizeof(buf), &passed, 0) == -EMSGSIZE &&
		   passed == -1,
	   "three descriptors in one message are refused");
	int after = dup(0);

	ok(before == after, "and all closed");
	close(after);
	ok(!tipme_message_send(pair[0], TIPME_VERB_STATUS, 0, NULL, 0, 0) &&
		   tipme_message_receive(pair[1], buf, 8, &passed, 0) == -EMSGSIZE,
	   "a message longer than the buffer is refused");
	close(pair[0]);
	ok(tipme_message_receive(pair[1], buf, sizeof(buf), &passed, 0) == 0, "the end is told");
	close(pair[1]);
}

static void test_text(void)
{
	char to[16], buf[40];
	struct tipme_text text;

	tipme_text_clean(to, sizeof(to), "a\033[2Jb\nc\xff\xc3\xa4", 11);
	ok(!strcmp(to, "a?[2Jb\nc?\xc3\xa4"),
	   "escapes and broken UTF-8 become '?', the rest stays");
	tipme_text_clean(to, sizeof(to), "a\tb", 3);
	ok(!strcmp(to, "a b"), "a tab is a space");
	tipme_text_clean(to, 4, "ab\xc3\xa4", 4);
	ok(!strcmp(to, "ab"), "no character is cut in half");
	tipme_text_clean(to, sizeof(to), "\xed\xa0\x80\xc0\x80\xc2\x9b", 7);
	ok(!strpbrk(to, "\xed\xc0\xc2"), "surrogates, overlong forms, C1 controls");
	tipme_text_init(&text, buf, sizeof(buf));
	tipme_text_add_json(&text, "q\"\\\n");
	ok(!strcmp(buf, "\"q\\\"\\\\\\u000a\""), "JSON is quoted");
	tipme_text_add(&text, "%050d", 1);
	ok(text.cut && strlen(buf) == text.len, "what does not fit is left out and told");
}

static void test_address(void)
{
	struct sockaddr_un addr;
	char dir[200];

	memset(dir, 'd', sizeof(dir));
	dir[0] = '/';
	dir[sizeof(dir) - 1] = '\0';
	ok(tipme_socket_address(dir, &addr) == -ENAMETOOLONG,
	   "a folder whose name is too long for a socket");
	ok(!tipme_socket_address("/run/x", &addr) && !strcmp(addr.sun_path, "/run/x/tipmed.sock"),
	   "the usual one");
}

int main(void)
{
	test_parse();
	test_descriptors();
	test_text();
	test_address();
	return tap_end();
}
