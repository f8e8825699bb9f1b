/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers in place of kernel addresses. The recorder's own memory, which only root may read, names
 * functions, work items, locks and sockets by their addresses, and stacks by places that are a hash
 * of addresses. Before anything of it is saved, each becomes a number of this one episode: 1 for
 * the first that is met in the records, 2 for the next. So a number tells when a thing was first
 * met, which the records tell anyway, and nothing of where it lies.
 */
#ifndef TIPME_KERNEL_NUMBERS_H
#define TIPME_KERNEL_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

enum tipme_numbered {
	TIPME_NUMBERED_FUNCTION,
	TIPME_NUMBERED_WORK,
	TIPME_NUMBERED_LOCK,
	TIPME_NUMBERED_STACK,
	TIPME_NUMBERED_USER_STACK,
	TIPME_NUMBERED_SOCKET,
	TIPME_NUMBERED_KINDS
};

struct tipme_numbers;

/* Returns 0 or -ENOMEM. Free takes NULL. */
int tipme_numbers_new(struct tipme_numbers **numbers);
void tipme_numbers_free(struct tipme_numbers *numbers);

/*
 * Replaces what tells addresses in `len` bytes of records (sections, too), in place; once only.
 * Returns 0, -ENOMEM, or -EINVAL where a record has an impossible length. After an error some of it
 * is not replaced: none of it may be saved.
 */
int tipme_numbers_apply(struct tipme_numbers *numbers, void *recs, size_t len);

/* The number that was given to `what`; 0: it was in no record. */
uint32_t tipme_numbers_find(const struct tipme_numbers *numbers, enum tipme_numbered kind,
			    uint64_t what);
/* How many of a kind there are, and what the one with this number (1 to that) was. */
uint32_t tipme_numbers_count(const struct tipme_numbers *numbers, enum tipme_numbered kind);
uint64_t tipme_numbers_what(const struct tipme_numbers *numbers, enum tipme_numbered kind,
			    uint32_t number);

/*
 * Records that are to be emitted in the order of their numbers: the order in which the recorder's
 * tables give them is that of the hash, and would tell it.
 */
struct tipme_number_sorter {
	void **rec; /* by number - 1; NULL: has none */
	uint32_t count;
};

/* For so many numbers. Returns 0 or -ENOMEM. Free takes one that is zeroed. */
int tipme_number_sorter_new(struct tipme_number_sorter *s, uint32_t count);
void tipme_number_sorter_free(struct tipme_number_sorter *s);
/*
 * Copies a record of len8; of several with one number the last stays. Returns 0, -EINVAL or
 * -ENOMEM.
 */
int tipme_number_sorter_put(struct tipme_number_sorter *s, uint32_t number, const void *rec);
/* Stops at the first value but 0 and returns it. */
int tipme_number_sorter_emit(const struct tipme_number_sorter *s,
			     int (*emit)(void *arg, const void *rec, size_t len), void *arg);

#endif
