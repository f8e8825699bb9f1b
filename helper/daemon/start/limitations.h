/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the recorder cannot do here, in sentences: shown at the start and by status, never kept
 * silent.
 */
#ifndef TIPMED_LIMITATIONS_H
#define TIPMED_LIMITATIONS_H

#include <stdbool.h>

#define TIPMED_LIMITS_MAX 24

struct tipmed_limits {
	_Atomic unsigned int count; /* only grows; those that are over stay, marked */
	_Atomic bool over[TIPMED_LIMITS_MAX];
	char text[TIPMED_LIMITS_MAX][240];
};

/*
 * By the thread that starts all and then keeps house; any thread may read meanwhile. Returns the
 * number of the sentence, for end(), or -1. A sentence that was over and is true again has its old
 * place.
 */
int tipmed_limit_add(struct tipmed_limits *limits, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* It is so no more; -1: nothing. */
void tipmed_limit_end(struct tipmed_limits *limits, int number);

/* Any thread: a sentence by its number, counted from 0; NULL where it is over. */
const char *tipmed_limit_text(const struct tipmed_limits *limits, unsigned int number);

#endif
