/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory for the most that there may be, of which only as much is taken as is used; locked as it is
 * used. Who may not wait for memory has it made ready beforehand by somebody who may.
 */
#ifndef TIPMED_RESERVE_H
#define TIPMED_RESERVE_H

#include <stddef.h>

/* Zeroed; NULL if there is no address space. Free takes NULL. */
void *tipmed_reserve_new(size_t bytes);
void tipmed_reserve_free(void *p, size_t bytes);

/*
 * Locking all memory has taken all of it. Gives back what nobody has written to yet: nothing may
 * have been.
 */
void tipmed_reserve_give_back(void *p, size_t bytes);

/* Makes the first `bytes` ready, whatever is in there. */
void tipmed_reserve_ready(void *p, size_t bytes);

#endif
