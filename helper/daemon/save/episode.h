/* SPDX-License-Identifier: GPL-2.0-only */
/* The folder of an episode: written beside, synced, renamed; never half. */
#ifndef TIPMED_EPISODE_H
#define TIPMED_EPISODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tipme_records.h"

struct tipmed_episode {
	int library_fd, dir_fd; /* -1: not open */
	char id[24], tmp[32];
};

/* A record file while it is written; small pieces are gathered. */
struct tipmed_record_file {
	int fd, error;
	uint64_t body_len;
	struct tipme_file_header head;
	size_t filled;
	char buf[1 << 16];
};

/* All return 0 or -errno. */
int tipmed_episode_begin(struct tipmed_episode *episode, int library_fd, const char *id);
int tipmed_episode_text(struct tipmed_episode *episode, const char *name, const char *text,
			size_t len);
int tipmed_episode_commit(struct tipmed_episode *episode);
void tipmed_episode_abandon(struct tipmed_episode *episode);

int tipmed_record_file_begin(struct tipmed_episode *episode, struct tipmed_record_file *file,
			     const char *name, const struct tipme_file_header *head);
void tipmed_record_file_add(struct tipmed_record_file *file, const void *data, size_t len);
/* Writes again what stands at `at` of the body: a section whose length was not known. */
void tipmed_record_file_patch(struct tipmed_record_file *file, uint64_t at, const void *data,
			      size_t len);
int tipmed_record_file_end(struct tipmed_record_file *file);

/*
 * Puts the user's words into a saved episode, in place of those that are there: beside, synced,
 * renamed. No words: those that are there are removed. -ENOENT: there is no such episode. The id
 * must have been checked.
 */
int tipmed_episode_note(int library_fd, const char *id, const char *words);

/*
 * Whether this has the form of an id: 20261120-150301-3f2a. What has not is never used as a name of
 * a folder.
 */
bool tipmed_episode_is_id(const char *id, size_t len);

/*
 * Takes an episode away: renamed first, so that a crash leaves what the next start sweeps. Returns
 * 0 or -errno.
 */
int tipmed_episode_remove(int library_fd, const char *id);

/* Removes what an earlier crash left half-written. */
void tipmed_episodes_sweep(int library_fd);

#endif
