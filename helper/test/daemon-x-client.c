// SPDX-License-Identifier: GPL-2.0-only
/*
 * Offers a ring to tipmed as an X server does, honest or not, prints the answer, and stays until
 * its input ends: daemon-x-client good | random | scribble | unsealed | hugehead | nofd [SLOTS]
 */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "message.h"
#include "paths.h"
#include "xring_reader.h"

#define SLOTS_LEAST 1024U /* as many records as an honest one has, and more */

static unsigned int slots = 4096;

static size_t ring_bytes(void)
{
	return sizeof(struct tipme_x_ring_header) + slots * TIPME_X_SLOT_BYTES;
}

static struct tipme_x_ring_header *ring_new(int *fd)
{
	*fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0 || ftruncate(*fd, (off_t)ring_bytes()))
		exit(99);
	struct tipme_x_ring_header *head =
		mmap(NULL, ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);

	if (head == MAP_FAILED)
		exit(99);
	memcpy(head->magic, TIPME_X_RING_MAGIC, 8);
	head->byte_order = TIPME_BYTE_ORDER;
	head->major = TIPME_FORMAT_MAJOR;
	head->server_pid = head->server_tid = (unsigned int)getpid();
	return head;
}

/* A thousand requests of a millisecond ago and less, and one that is still being executed. */
static void fill_good(struct tipme_x_ring_header *head)
{
	struct tipme_x_request *first = (void *)(head + 1);
	unsigned long now_ns = tipme_clock_ns();

	for (unsigned int i = 0; i < 1000; i++)
		first[i] = (struct tipme_x_request){
			.ts_ns = now_ns - 1000000 + i * 1000,
			.type = TIPME_X_REQUEST,
			.len8 = 4,
			.gen = 1,
			.tid = head->server_tid,
			.pid = 4711,
			.duration_ns = 500,
			.count = 1,
		};
	head->head = 1000;
	head->cur_start_ns = now_ns;
	head->cur_pid = 4712;
}

static void fill_random(struct tipme_x_ring_header *head)
{
	unsigned char *bytes = (unsigned char *)head;

	srandom((unsigned int)getpid());
	for (size_t i = 12 + 4; i < ring_bytes(); i++)
		bytes[i] = (unsigned char)random();
	head->major = TIPME_FORMAT_MAJOR;
}

/* Goes on changing all of it, also where a true server never would. */
static void *scribble(void *arg)
{
	unsigned char *bytes = arg;
	unsigned long x = 88172645463325252UL;

	for (;;) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		unsigned char *word = bytes + 16 + x % ((ring_bytes() - 24) / 8) * 8;

		__atomic_store_n((unsigned long *)word, x >> x % 64, __ATOMIC_RELAXED);
		/* Now and then what looks as if it were right. */
		if (!(x & 7)) {
			unsigned char *slot = bytes + sizeof(struct tipme_x_ring_header) +
					      x % slots * TIPME_X_SLOT_BYTES;
			struct tipme_head rec = { .ts_ns = tipme_clock_ns(),
						  .type = (unsigned char)(60 + x / 8 % 16),
						  .len8 = 4,
						  .gen = 1 };

			memcpy(slot, &rec, sizeof(rec));
			__atomic_store_n(&((struct tipme_x_ring_header *)bytes)->head,
					 x / 64 % (2 * slots), __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

static int hello(int sock, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	char name[] = "Xtest \033[31m";
	struct tipme_message head = { TIPME_MESSAGE_MAGIC, TIPME_MESSAGE_VERSION,
				      TIPME_VERB_X_HELLO, 77, sizeof(name) - 1 };
	struct iovec parts[2] = { { &head, sizeof(head) }, { name, sizeof(name) - 1 } };
	struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 2 };

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	return sendmsg(sock, &msg, 0) < 0;
}

static void print_answer(int sock)
{
	static char buf[TIPME_MESSAGE_MAX];
	struct tipme_incoming in;
	int passed;
	ssize_t n = tipme_message_receive(sock, buf, sizeof(buf), &passed, 0);

	if (n > 0 && !tipme_message_parse(buf, (size_t)n, &in))
		printf("%u %.*s\n", in.arg, (int)in.text_len, in.text);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "good";

	slots = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : slots;
	slots = slots < SLOTS_LEAST ? SLOTS_LEAST : slots;
	int fd, sock = tipme_message_connect(tipme_rundir());
	struct tipme_x_ring_header *head = ring_new(&fd);
	char c;

	if (sock < 0)
		return 1;
	fill_good(head);
	if (!strcmp(mode, "random"))
		fill_random(head);
	pthread_t thread;

	if (!strcmp(mode, "scribble") && pthread_create(&thread, NULL, scribble, head))
		return 99;
	if (!strcmp(mode, "hugehead"))
		head->head = ~0ULL - 5;
	if (strcmp(mode, "unsealed") &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return 99;
	if (hello(sock, strcmp(mode, "nofd") ? fd : -1))
		return 1;
	print_answer(sock);
	/* A server that goes away does not say so. */
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
