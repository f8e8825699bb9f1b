/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One snapshot at a time: trigger -> everything is copied -> recording goes on for some seconds ->
 * what is new is copied -> the writer saves it. One more trigger is remembered meanwhile. The
 * trigger thread owns it, but for the phase SAVING, when the writer does; a semaphore and an event
 * descriptor hand it over and back.
 */
#ifndef TIPMED_SNAPSHOT_H
#define TIPMED_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "agents.h"
#include "kernel_source.h"
#include "desktop.h"
#include "x_servers.h"

#define TIPMED_ID_BYTES 24
#define TIPMED_WORDS_BYTES 2048

enum tipmed_phase { TIPMED_IDLE, TIPMED_POST, TIPMED_SAVING };

enum tipmed_trigger_kind {
	TIPMED_TRIGGER_COMMAND,
	TIPMED_TRIGGER_HOTKEY,
	TIPMED_TRIGGER_AUTO,
	TIPMED_TRIGGER_KERNEL
};

extern const char *const tipmed_trigger_kinds[]; /* their names in manifests and messages */

struct tipmed_trigger {
	char id[TIPMED_ID_BYTES];
	uint64_t episode_id;
	uint64_t ns; /* when it came */
	time_t wall_s;
	enum tipmed_trigger_kind kind;
	unsigned int measured_ms; /* what the threshold saw; 0: no threshold */
	char words[TIPMED_WORDS_BYTES]; /* the user's, cleaned */
	char seen[256]; /* what it was that triggered, if nobody's words did */
	int told_fd; /* records that came with it: ours to close when they are saved; 0: none */
	bool unasked; /* a threshold's, not a person's */
	bool of_friend; /* neither root nor the owner asked for it: */
	uid_t by; /* but he */
	uint64_t requester; /* connection that waits for `saved`; 0: nobody does */
};

struct tipmed_snapshot {
	_Atomic enum tipmed_phase phase; /* any thread may look */
	struct tipmed_trigger trigger;
	/* when somebody asked for the last episode before, which was saved; 0: nobody did */
	uint64_t before_ns;
	bool copying; /* the first copy is not complete: tipmed_snapshot_part() goes on with it */
	uint64_t copied_ns; /* when the first copy was complete, or its last part was */
	/*
	 * what the first copy was: its parts, bytes, the longest time without a look at others, and
	 * the time that it had a CPU, which has no stolen time in it
	 */
	unsigned int parts;
	size_t copied_bytes;
	uint64_t longest_ns, cpu_ns;
	uint64_t end_ns; /* up to when recording is in it */
	struct tipme_kernel_source *source;
	struct tipme_kernel_copy kernel;
	/* of all threads, after the first copy; changed = how many follow */
	struct tipme_picture picture;
	struct tipme_kernel_thread *threads;
	/* memory is there for so many; only the thread that keeps house looks at it */
	unsigned int threads_ready;
	struct tipmed_x_servers x;
	pid_t agents[TIPMED_AGENTS_MAX]; /* who talked with the user for us in these seconds */
	unsigned int agent_count;
	char session[TIPMED_SESSION_BYTES]; /* what the owner's agent has told of it */
	/* what came of the last one: the writer's answer */
	int saved_error;
	char saved_text[4096 + 256]; /* path, or what went wrong */
};

/* Allocates all that a snapshot needs. Returns 0 or -errno. */
int tipmed_snapshot_init(struct tipmed_snapshot *snap, struct tipme_kernel_source *source);
void tipmed_snapshot_free(struct tipmed_snapshot *snap);

/*
 * After all memory was locked: keeps what a usual snapshot needs; expect() adds what more threads
 * need, before there are so many.
 */
void tipmed_snapshot_give_back(struct tipmed_snapshot *snap);
void tipmed_snapshot_expect(struct tipmed_snapshot *snap, unsigned int threads);

/* Makes the id, without allocation. */
void tipmed_trigger_stamp(struct tipmed_trigger *trigger);

/*
 * The first copy, at the trigger: X rings, the first part of the kernel's pool, the picture of the
 * threads. The kernel makes memory for what it has not copied before; it may make it slowly, and
 * recording goes on meanwhile. Returns with snap->copying set while there is more of it to copy.
 */
void tipmed_snapshot_begin(struct tipmed_snapshot *snap, const struct tipmed_trigger *trigger);

/* Goes on with it, the oldest first. Returns whether there is more. */
bool tipmed_snapshot_part(struct tipmed_snapshot *snap);

/* Then, now and again: what is new from the kernel source, which writes fastest. */
void tipmed_snapshot_more(struct tipmed_snapshot *snap);

/* The last of that. */
void tipmed_snapshot_end(struct tipmed_snapshot *snap);

#endif
