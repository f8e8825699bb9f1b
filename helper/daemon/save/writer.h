/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The thread that saves episodes, as the owner of the library: beside, synced, renamed. The only
 * one that may wait for a disk.
 */
#ifndef TIPMED_WRITER_H
#define TIPMED_WRITER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cgroups.h"
#include "classes.h"
#include "code.h"
#include "identity.h"
#include "limitations.h"
#include "retention.h"
#include "notes.h"
#include "options.h"
#include "pictures.h"
#include "privileges.h"
#include "snapshot.h"
#include "suspends.h"
#include "watch.h"

enum tipmed_save_state { TIPMED_SAVE_IDLE, TIPMED_SAVE_ASKED, TIPMED_SAVE_DONE };

struct tipmed_writer {
	const struct tipmed_options *opt;
	const struct tipmed_limits *limits;
	const struct tipmed_user *user;
	struct tipmed_pictures *pictures;
	struct tipmed_watch *watch;
	struct tipmed_identity *identity;
	struct tipmed_cgroups *cgroups;
	struct tipmed_code *code;
	struct tipmed_classes *classes;
	uint64_t start_ns;
	uid_t owner;
	gid_t group;
	int library_fd;
	struct tipmed_shelf shelf; /* the writer's own: the library as of the last save */
	int done_fd; /* event: the snapshot, or a note, is the trigger thread's again */
	int start_error;
	bool quit;
	sem_t work, ready;
	struct tipmed_snapshot *snap;
	_Atomic int save_state; /* enum tipmed_save_state: hands `snap` over and back */
	struct tipmed_notes notes;
	struct tipmed_suspends *suspends;
	_Atomic unsigned int gone; /* episodes that made room for others */
	char *pictures_buf;
	pthread_t thread;
};

/*
 * Starts the thread while we still have all privileges: it takes the owner's, then drops the rest.
 * Returns 0 or -errno.
 */
int tipmed_writer_start(struct tipmed_writer *writer);

/* Hands a snapshot over; done_fd becomes readable when it is saved or has failed. */
void tipmed_writer_save(struct tipmed_writer *writer, struct tipmed_snapshot *snap);

/* In the trigger thread, once for each snapshot handed over: whether it is ours again. */
bool tipmed_writer_saved(struct tipmed_writer *writer);

/* Has the notes saved that were asked for; done_fd becomes readable. */
void tipmed_writer_notes(struct tipmed_writer *writer);

void tipmed_writer_stop(struct tipmed_writer *writer);

#endif
