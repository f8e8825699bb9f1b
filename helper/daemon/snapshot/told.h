/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records that came with a trigger: who measures beside the kernel source brings what it has seen
 * (tipme latency).
 */
#ifndef TIPMED_TOLD_H
#define TIPMED_TOLD_H

#include <stddef.h>
#include <stdint.h>

#define TIPMED_TOLD_BYTES_MAX (1U << 20)

/*
 * A copy of the descriptor if it is a memory file, which nobody can make us wait for; -1: none
 * came, or it is something else.
 */
int tipmed_told_keep(int fd);

/*
 * Reads the file once, into memory that the caller frees, and checks that copy: NULL if nothing in
 * it is valid. `len` is cut before the first record that is none, or of a kind that nobody may
 * tell: samples, latencies, and stacks whose numbers no kernel source gives.
 */
void *tipmed_told_read(int fd, size_t *len, uint64_t *count);

#endif
