/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that records name and no picture has shown. A kernel may keep some from the iterator that
 * pictures are made with (those of the first process, on some hosts of virtual machines): /proc
 * tells who they are.
 */
#ifndef TIPMED_UNSEEN_H
#define TIPMED_UNSEEN_H

#include <stddef.h>
#include <stdint.h>

#include "kernel_source.h"

struct tipmed_unseen;

/* NULL: no memory. Free takes NULL. */
struct tipmed_unseen *tipmed_unseen_new(void);
void tipmed_unseen_free(struct tipmed_unseen *unseen);

/*
 * These records, of pictures or of the kernel, tell who a thread is, or that it was born while we
 * recorded.
 */
void tipmed_unseen_known(struct tipmed_unseen *unseen, const void *recs, size_t len);

/*
 * Fills in those that run in the records and are not known, at most `max`, if they began before
 * `from_ns` (another that has the number by now is not meant). Their state is that of now. Returns
 * how many.
 */
unsigned int tipmed_unseen_look(struct tipmed_unseen *unseen, const void *recs, size_t len,
				uint64_t from_ns, struct tipme_thread *found, unsigned int max);

#endif
