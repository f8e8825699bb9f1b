/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The thread that saves episodes, as the owner of the library: beside, synced, renamed. The only one that
 * may wait for a disk.
 */
#ifndef TIPMED_WRITER_H
#define TIPMED_WRITER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/types.h>

#include "limitations.h"
#include "options.h"
#include "pictures.h"
#include "snapshot.h"
#include "watch.h"

struct tipmed_writer {
	const struct tipmed_options *opt;
	const struct tipmed_limits *limits;
	struct tipmed_pictures *pictures;
	struct tipmed_watch *watch;
	uint64_t start_ns;
	uid_t owner;
	gid_t group;
	int library_fd;
	int done_fd; /* event: the snapshot is the trigger thread's again */
	int start_error;
	bool quit;
	sem_t work, ready;
	struct tipmed_snapshot *snap;
	char *pictures_buf;
	pthread_t thread;
};

/* Starts the thread while we still have all privileges: it takes the owner's, then drops the rest. Returns 0 or -errno. */
int tipmed_writer_start(struct tipmed_writer *writer);

/* Hands a snapshot over; done_fd becomes readable when it is saved or has failed. */
void tipmed_writer_save(struct tipmed_writer *writer, struct tipmed_snapshot *snap);

void tipmed_writer_stop(struct tipmed_writer *writer);

#endif
