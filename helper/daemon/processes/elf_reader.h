/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Strangers' programs and libraries are parsed by a process of their own: with the user id of the
 * library's owner, no capability, a filter of system calls, and limits of memory and CPU time. What
 * it finds is not trusted, and nobody waits for it longer than he says: a file may be served by
 * somebody who never answers.
 *
 * A process that is forked at the start, before there is anything to inherit, forks a reader when
 * one is wanted; a reader that does not answer is killed, and left where it is if it cannot be.
 * Start and stop: the main thread; the rest: the writer alone.
 */
#ifndef TIPMED_ELF_READER_H
#define TIPMED_ELF_READER_H

#include <stdint.h>

#include "elf_symbols.h"
#include "privileges.h"

struct tipmed_elf_answer {
	uint64_t bytes; /* as tipme_elf_bytes() */
	int64_t changed_ns; /* as tipme_elf_changed_ns() */
	char build_id[TIPME_BUILD_ID_CHARS + 1];
	/*
	 * the caller's to free: as many names, each as tipme_elf_name() writes it, as offsets were
	 * asked for; ends are NUL, other control characters ?
	 */
	char *text;
	const char **name;
};

/* Before there are threads. Returns 0 or -errno: then no file is read at all. */
int tipmed_elf_reader_start(const struct tipmed_file_owner *owner);

/*
 * What lies at these offsets of the file. Returns 0; -ETIMEDOUT: no answer until `deadline_ns`
 * (CLOCK_MONOTONIC); or another -errno. After an error the answer is empty.
 */
int tipmed_elf_reader_ask(const char *path, const uint64_t *offsets, uint32_t count,
			  uint64_t deadline_ns, struct tipmed_elf_answer *answer);
void tipmed_elf_answer_free(struct tipmed_elf_answer *answer);

/* Nothing more is to be read for now: the reader ends. */
void tipmed_elf_reader_rest(void);

#endif
