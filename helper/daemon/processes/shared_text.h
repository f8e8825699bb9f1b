/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Texts that many have alike, each in memory once. For one thread at a time.
 */
#ifndef TIPMED_SHARED_TEXT_H
#define TIPMED_SHARED_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define TIPMED_TEXT_BUCKETS 1024U

/* All zero: none yet. */
struct tipmed_texts {
	struct tipmed_shared_text *bucket[TIPMED_TEXT_BUCKETS];
	size_t bytes; /* of memory, all together */
};

/* Returns the text, which stays until it was left as often as it was held, or NULL: no memory. */
const char *tipmed_text_hold(struct tipmed_texts *texts, const char *text);
void tipmed_text_leave(struct tipmed_texts *texts, const char *held);

#endif
