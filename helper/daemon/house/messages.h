/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel reports (/dev/kmsg), as far as a table of ours knows it: kind, device, number.
 * No text of a message is kept, and nothing of one that the table does not know.
 */
#ifndef TIPMED_MESSAGES_H
#define TIPMED_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

struct tipme_kernel_message;

struct tipmed_messages {
	int fd; /* -1: the kernel's messages may not be read */
	void *table; /* compiled */
	uint64_t looked_ns; /* 0: never */
};

/*
 * Opens the log at its end, so only while that is still permitted (CAP_SYSLOG). Returns 0 or
 * -errno; then *m does nothing.
 */
int tipmed_messages_open(struct tipmed_messages *m);

/* Only the table, for tipmed_message_known(). Returns 0 or -errno. */
int tipmed_messages_table(struct tipmed_messages *m);
void tipmed_messages_close(struct tipmed_messages *m);

/* Emits a record for each message since the last look that the table knows. Never waits. */
void tipmed_messages_look(struct tipmed_messages *m, uint64_t now_ns,
			  void (*emit)(void *arg, const void *rec, size_t len), void *arg);

/*
 * One line as /dev/kmsg gives it ("6,339,5140900,-;text"). Returns 1 and fills the record if it is
 * the kernel's own and the table knows it, else 0.
 */
int tipmed_message_known(const struct tipmed_messages *m, const char *line,
			 struct tipme_kernel_message *rec);

#endif
