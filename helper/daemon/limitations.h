/* SPDX-License-Identifier: GPL-2.0-only */
/* What the recorder cannot do here, in sentences: shown at the start and by status, never kept silent. */
#ifndef TIPMED_LIMITATIONS_H
#define TIPMED_LIMITATIONS_H

#define TIPMED_LIMITS_MAX 16

struct tipmed_limits {
	_Atomic unsigned int count; /* only grows */
	char text[TIPMED_LIMITS_MAX][240];
};

/* By the thread that starts all and then keeps house; any thread may read meanwhile. */
void tipmed_limit_add(struct tipmed_limits *limits, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
