/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Record classes, switched while recording. The trigger thread takes the wish of a peer and leaves
 * it here; the thread that keeps house, which may wait for the kernel, does it, and tells when it
 * is done.
 */
#ifndef TIPMED_CLASSES_H
#define TIPMED_CLASSES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernel_source.h"

#define TIPMED_CLASSES_TEXT_MAX 2048

struct tipmed_classes {
	struct tipme_kernel_source *source;
	/* the switch of triggers without a human is one of the wishes; any thread may call it */
	void (*auto_set)(void *arg, unsigned int threshold_ms);
	void *auto_arg;
	int done_fd; /* event: the wish was done, or not */
	pthread_mutex_t lock; /* guards what follows; held for moments only */
	uint32_t on, able;
	uint32_t own; /* able without the kernel source: found by looking each second */
	bool busy; /* a wish waits or is being done */
	uint64_t peer; /* whose it is */
	int error; /* of the last one */
	char text[TIPMED_CLASSES_TEXT_MAX]; /* the wish; later, when it failed, why */
};

/* `wanted` as given at the start. Returns 0 or -errno. */
int tipmed_classes_init(struct tipmed_classes *classes, struct tipme_kernel_source *source,
			uint32_t wanted, uint32_t own);

/*
 * Trigger thread: leaves a wish, as JSON. Returns 0, -EBUSY (another one is being done), -EMSGSIZE.
 */
int tipmed_classes_ask(struct tipmed_classes *classes, const char *json, size_t len, uint64_t peer);

/* The thread that keeps house: does what was asked for, if anything was. */
void tipmed_classes_do(struct tipmed_classes *classes);

/*
 * Trigger thread, when done_fd tells: whose wish it was, and how it went: 0, or -errno and a
 * sentence.
 */
uint64_t tipmed_classes_done(struct tipmed_classes *classes, int *error, char *why, size_t len);

/* Any thread. */
bool tipmed_classes_has(struct tipmed_classes *classes, enum tipme_class_number which);
uint32_t tipmed_classes_get(struct tipmed_classes *classes, uint32_t *able);

#endif
