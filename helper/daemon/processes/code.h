/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What code the processes had mapped in which samples hit user space, so that their stacks can be
 * named when the process is gone. Each second those are looked at that showed a stack which is
 * newer than what is known of them; when there are too many, who has waited longest comes first.
 */
#ifndef TIPMED_CODE_H
#define TIPMED_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "kernel_source.h"

struct tipmed_code;

/* Returns 0 or -errno. Free takes NULL. */
int tipmed_code_new(struct tipmed_code **code, struct tipme_kernel_source *source);
void tipmed_code_free(struct tipmed_code *code);

/*
 * Looks at the mappings of processes that used stacks since the last look which are new since their
 * own. Any thread.
 */
void tipmed_code_look(struct tipmed_code *code, uint64_t now_ns);

/*
 * Emits user_stack and module records for the stacks that have `numbers`, in their order, and were
 * used since from_ns. Waits some seconds at most for who reads the files (elf_reader.h): what is
 * not known then has its offset. Stops at the first value but 0 and returns it.
 */
int tipmed_code_emit(struct tipmed_code *code, uint64_t from_ns,
		     const struct tipme_numbers *numbers,
		     int (*emit)(void *arg, const void *rec, size_t len), void *arg);

/*
 * How many mappings of files found no number since the start: their functions show as "?". Any
 * thread.
 */
uint64_t tipmed_code_refused(const struct tipmed_code *code);

#endif
