/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that processes had mapped, by number: path and size, since an upgrade puts another file at
 * the same path. The table is full some time; then the numbers of those that nobody refers to any
 * more are used again.
 */
#ifndef TIPMED_MODULES_H
#define TIPMED_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#define TIPMED_MODULES_MAX 4096U

struct tipmed_module {
	char *path; /* NULL: the number is free */
	uint64_t bytes; /* of the file, when it was mapped */
	uint32_t pid; /* somebody who had it mapped */
	bool hangs; /* its file was asked for, and nothing came: it is asked for no more */
};

struct tipmed_modules {
	struct tipmed_module at[TIPMED_MODULES_MAX]; /* number - 1 */
	uint32_t used; /* beyond it none is used */
	uint32_t count; /* of those that are used */
	uint64_t refused; /* asked for while all were used */
};

/* The number, which stays the same until it is forgotten; 0: no room, and one more is refused. */
uint32_t tipmed_modules_number(struct tipmed_modules *m, const char *path, uint64_t bytes,
			       uint32_t pid);

/* Whether it is time to forget some: an eighth is left. */
bool tipmed_modules_crowded(const struct tipmed_modules *m);

/*
 * Frees all numbers but those kept: keep[number - 1]. Only while nobody holds a number that is not.
 */
void tipmed_modules_forget(struct tipmed_modules *m, const bool *keep);

void tipmed_modules_clear(struct tipmed_modules *m);

#endif
