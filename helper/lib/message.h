/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages on the socket of tipmed: read from strangers, written to anybody. */
#ifndef TIPME_MESSAGE_H
#define TIPME_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tipme_records.h"

#define TIPME_MESSAGE_MAGIC 0x4d504954U
#define TIPME_MESSAGE_VERSION 1
#define TIPME_MESSAGE_TEXT_MAX 65000
#define TIPME_MESSAGE_MAX (sizeof(struct tipme_message) + TIPME_MESSAGE_TEXT_MAX)

struct tipme_incoming {
	uint16_t verb;
	uint32_t arg;
	const char *text; /* inside the buffer that was parsed; not NUL-terminated, not trusted */
	uint32_t text_len;
};

/* Returns 0; -EBADMSG if this is no message, -EPROTONOSUPPORT if it is one of another version. */
int tipme_message_parse(const void *buf, size_t len, struct tipme_incoming *in);

/*
 * Sends one message. Returns 0 or -errno; -EAGAIN if `flags` has MSG_DONTWAIT and the peer does not
 * read.
 */
int tipme_message_send(int fd, uint16_t verb, uint32_t arg, const char *text, size_t text_len,
		       int flags);

/* The same, with a file descriptor that the receiver gets a copy of. */
int tipme_message_send_fd(int sock, uint16_t verb, uint32_t arg, const char *text, size_t text_len,
			  int fd, int flags);

/*
 * Receives one message into `buf` and the one file descriptor that came with it into *passed_fd
 * (-1: none; the caller owns it). Returns its length, 0 at the end, -EMSGSIZE if it was longer than
 * `cap` or brought more than one descriptor (all are closed), or -errno.
 */
ssize_t tipme_message_receive(int fd, void *buf, size_t cap, int *passed_fd, int flags);

/*
 * The same for who may not wait: descriptors that were not asked for go to `drop`. Closing one may
 * take as long as the sender likes.
 */
ssize_t tipme_message_receive_dropping(int fd, void *buf, size_t cap, int *passed_fd, int flags,
				       void (*drop)(void *arg, int fd), void *arg);

/*
 * Connects to the daemon whose socket is in `rundir`. Returns the descriptor or -errno; -EPERM,
 * before a byte is sent, if `rundir` is a link or may be written or replaced by anybody, or if who
 * listens is neither root nor the owner of `rundir`.
 */
int tipme_message_connect(const char *rundir);

#endif
