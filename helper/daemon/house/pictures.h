/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all threads did, looked at each second. Only what changed is kept, in a ring; a thread that
 * ended is kept once more, so that its name lasts as long as the ring. There is room for the most
 * from the start; memory is taken as threads come.
 */
#ifndef TIPMED_PICTURES_H
#define TIPMED_PICTURES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel_source.h"

#define TIPMED_THREADS_MAX 16384U
#define TIPMED_PICTURE_SLOTS 32768U
#define TIPMED_PICTURE_SLOTS_FIRST 4096U

struct tipmed_pictures;

/* Returns 0 or -errno. Free takes NULL. */
int tipmed_pictures_new(struct tipmed_pictures **pictures);
void tipmed_pictures_free(struct tipmed_pictures *pictures);

/* Before the first picture, after all memory was locked: takes no more than threads need. */
void tipmed_pictures_give_back(struct tipmed_pictures *pictures);

/*
 * Takes one. Only the thread that keeps house calls it. Returns the number of threads seen, or
 * -errno.
 */
int tipmed_pictures_take(struct tipmed_pictures *pictures, struct tipme_kernel_source *source);

/*
 * Whether a thread that may run on other CPUs than in the picture before gets an affinity record;
 * take() asks the source, which may have one of each change itself.
 */
void tipmed_pictures_note_affinity(struct tipmed_pictures *pictures, bool note);

/* The same for threads that somebody else looked at; what take() does after looking. */
void tipmed_pictures_add(struct tipmed_pictures *pictures, const struct tipme_picture *picture,
			 const struct tipme_kernel_thread *threads, unsigned int count);

/* Keeps a record of another kind, of at most 96 bytes, found by the thread that keeps house. */
void tipmed_pictures_keep(struct tipmed_pictures *pictures, const void *rec, size_t len);

/*
 * Nobody will ask for pictures of before `ns`, but for the one that was valid then. While those
 * that are kept go back to it, the ring takes no more memory; until this is said first it grows to
 * all of its slots. Only the thread that keeps house calls it.
 */
void tipmed_pictures_keep_from(struct tipmed_pictures *pictures, uint64_t ns);

/* An upper bound of the bytes that copy() gives. */
size_t tipmed_pictures_bytes(void);

/*
 * Copies the ring into `buf`, from the oldest whole picture on, as records; any thread may call it.
 * Returns the bytes; *count records, *first_ns the time of that picture (0: there is none).
 */
size_t tipmed_pictures_copy(struct tipmed_pictures *pictures, void *buf, uint64_t *count,
			    uint64_t *first_ns);

#endif
