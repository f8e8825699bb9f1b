/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reader of the ring that an X server shares with us. Whatever stands in that memory is hostile:
 * the number of slots comes from the size of the memory, the head is only a counter, and a record
 * that cannot be is dropped and counted.
 */
#ifndef TIPME_X_RING_H
#define TIPME_X_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tipme_records.h"

#define TIPME_X_SLOT_BYTES 32
#define TIPME_X_SLOTS_MIN (1U << 10)
#define TIPME_X_SLOTS_MAX (1U << 20)

/* The most that a copy counts as lost: that or more. Readers of manifests take up to 18 digits. */
#define TIPME_X_LOST_MAX 999999999999999999ULL

struct tipme_x_ring {
	const struct tipme_x_ring_header *head; /* mapped read-only */
	const unsigned char *slots;
	size_t bytes;
	uint32_t slot_count;
	uint32_t source; /* x_hooks, or x_client: an observer wrote it; or kernel_bpf */
	/* the server that an observer says it observes; 0: the writer is the server */
	pid_t observed_pid;
};

/* When the user wants no input recorded: half-open, the last one may be open (to is UINT64_MAX). */
#define TIPME_X_QUIET_MAX 16

struct tipme_x_quiet {
	unsigned int count;
	struct {
		uint64_t from, to;
	} part[TIPME_X_QUIET_MAX];
};

/*
 * Begins or ends to be quiet; nothing if it is so already. When there is no more room, two parts
 * become one: rather too much is left out.
 */
void tipme_x_quiet_set(struct tipme_x_quiet *quiet, bool on, uint64_t now_ns);

/* Whether it is quiet from now on. */
bool tipme_x_quiet_now(const struct tipme_x_quiet *quiet);

struct tipme_x_copy {
	unsigned char *buf; /* a section, then records of 32 bytes; the caller's, `cap` bytes */
	size_t cap, len;
	uint64_t next; /* the first slot number that was not yet looked at */
	/*
	 * at the end, first_ns is the time from which on nothing is missing but what is counted
	 * here
	 */
	uint64_t first_ns, last_ns, records;
	uint64_t lost_ring; /* the writer was faster than we, or said itself that it lost them */
	uint64_t torn; /* slots that were not whole */
	const struct tipme_x_quiet *quiet; /* the caller's; NULL: input is copied, too */
	uint64_t withheld; /* input records that were therefore not copied */
	uint64_t impossible; /* whole slots whose contents cannot be */
	uint64_t lost_before; /* the writer's own count at the first copy */
	uint32_t server_tid;
	bool lapped; /* older records were overwritten */
};

/*
 * Maps the ring behind `fd`, which stays the caller's. Returns 0, or -errno and a reason: the
 * memory must be a sealed memfd that cannot shrink under the reader.
 */
int tipme_x_ring_open(int fd, struct tipme_x_ring *ring, const char **why);
void tipme_x_ring_close(struct tipme_x_ring *ring);

/*
 * The same for the ring of Wayland records, which tracing programs write: a table of the kernel's,
 * of 2^log2 slots. To be followed, not copied.
 */
int tipme_x_ring_open_table(int fd, unsigned int log2, struct tipme_x_ring *ring, const char **why);

/*
 * How large the buffer of a copy must be, so that it holds all slots twice: those at the trigger
 * and those after it.
 */
size_t tipme_x_ring_copy_bytes(const struct tipme_x_ring *ring);

/* At the trigger: everything that is in the ring. No allocation, no system call. */
void tipme_x_ring_copy(const struct tipme_x_ring *ring, struct tipme_x_copy *copy, uint64_t now_ns);

/*
 * Later, once: what is new since, the request that is still being executed, the grab that still
 * holds; then the section is complete.
 */
void tipme_x_ring_copy_more(const struct tipme_x_ring *ring, struct tipme_x_copy *copy,
			    uint64_t now_ns);

/*
 * Calls fn for each whole record that came since the last call, at most `most` of them (older ones
 * are passed over). One that is still being written is waited for, till the next call. *next is the
 * caller's place in the ring; UINT64_MAX: begin with what comes from now on. The contents are the
 * writer's word and no more.
 */
void tipme_x_ring_follow(const struct tipme_x_ring *ring, uint64_t *next, uint32_t most,
			 uint64_t now_ns, void (*fn)(void *arg, const struct tipme_head *rec),
			 void *arg);

#endif
