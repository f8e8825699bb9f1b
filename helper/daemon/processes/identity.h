/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who processes are, also those that ended: parent, user, program, arguments, the allowed part of
 * the environment. A process is kept for 10 minutes after its end, in a fixed amount of memory;
 * when that is full, those go first that ended longest ago.
 *
 * A thread of its own empties what the kernel source tells. Arguments are private: they leave here
 * only for root and for the user whom they belong to.
 */
#ifndef TIPMED_IDENTITY_H
#define TIPMED_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel_source.h"

#define TIPMED_IDENTITY_BYTES (16U << 20)
#define TIPMED_IDENTITY_KEEP_S 600U

struct tipmed_identity;

struct tipmed_identity_facts {
	uint64_t processes, bytes, bytes_max;
	uint64_t lost; /* found no room, although all that had ended were gone */
	uint64_t complete_since_ns; /* all processes that ended later are still known */
};

/*
 * `limit` bytes; 0: the default. With all_environment, no variable is left out. Returns 0 or
 * -errno. Free takes NULL.
 */
int tipmed_identity_new(struct tipmed_identity **identity, size_t limit, bool all_environment);
void tipmed_identity_free(struct tipmed_identity *identity);

/* One thing that the source tells. Any thread. */
void tipmed_identity_add(struct tipmed_identity *identity, const struct tipme_life *life);

/* Those who are there already, by a picture and /proc; while we still may read it. */
void tipmed_identity_seed(struct tipmed_identity *identity,
			  const struct tipme_kernel_thread *threads, unsigned int n);

/* Forgets who ended more than 10 minutes ago. */
void tipmed_identity_age(struct tipmed_identity *identity, uint64_t now_ns);

/* A thread that takes what `source` tells, until stop. */
int tipmed_identity_start(struct tipmed_identity *identity, struct tipme_kernel_source *source);
void tipmed_identity_stop(struct tipmed_identity *identity);

void tipmed_identity_facts(struct tipmed_identity *identity, struct tipmed_identity_facts *facts);

/*
 * Emits process, exec_args and exec_environment records of all processes that had not ended before
 * from_ns, and of their parents; texts only of `owner`, of all where that is root. Stops at the
 * first value but 0 and returns it. Emit must not wait for a disk.
 */
int tipmed_identity_emit(struct tipmed_identity *identity, uint64_t from_ns, uid_t owner,
			 int (*emit)(void *arg, const void *rec, size_t len), void *arg);

#endif
