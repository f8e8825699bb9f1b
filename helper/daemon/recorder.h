/* SPDX-License-Identifier: GPL-2.0-only */
/* All that tipmed has while it records, and the order in which that starts and ends. */
#ifndef TIPMED_RECORDER_H
#define TIPMED_RECORDER_H

#include "cgroups.h"
#include "classes.h"
#include "code.h"
#include "cpu_speed.h"
#include "evdev_hotkey.h"
#include "identity.h"
#include "memory_state.h"
#include "messages.h"
#include "options.h"
#include "pictures.h"
#include "server.h"
#include "steal.h"

/*
 * Of the main thread, but for what its parts say of themselves. The trigger thread's part is large,
 * and must be there before it is locked: so there is one, and it is static.
 */
struct tipmed_recorder {
	struct tipmed_server server;
	struct tipmed_writer writer;
	struct tipmed_options opt;
	struct tipmed_limits limits;
	struct tipmed_user user;
	struct tipmed_suspends suspends;
	struct tipme_kernel_source *kernel;
	struct tipmed_pictures *pictures;
	struct tipmed_watch *watch;
	struct tipmed_evdev *evdev;
	struct tipmed_classes classes;
	struct tipmed_cgroups *cgroups;
	struct tipmed_steal steal;
	struct tipmed_memory memory;
	struct tipmed_speed speed;
	struct tipmed_messages messages; /* its fd is -1 before the start */
	struct tipmed_identity *identity;
	struct tipmed_code *code;
	struct tipmed_pictured {
		unsigned int threads;
		uint64_t took_ns; /* of CPU time */
	} pictured; /* the last picture */
	int rundir_fd;
};

/* Says on standard error why the recorder does not start. Returns `err`. */
int tipmed_start_refused(const char *why, int err);

/* The same, of a call that failed with -errno. */
int tipmed_start_fails(const char *what, int err);

/* Starts what records, saves and answers, as `opt` says. Returns 0 or -errno: then it was said why.
 */
int tipmed_recorder_start(struct tipmed_recorder *r);

/* Says on standard output what is recorded, and what it goes without. */
void tipmed_recorder_tell(const struct tipmed_recorder *r);

/* Ends all that was started. */
void tipmed_recorder_stop(struct tipmed_recorder *r);

#endif
