/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user's words about an episode that is saved already: the trigger thread takes them, the
 * writer puts them on disk.
 */
#ifndef TIPMED_NOTES_H
#define TIPMED_NOTES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"

#define TIPMED_NOTES_MAX 4

/* Whose a note is: the state hands it over, and is therefore stored last. */
enum tipmed_note_state { TIPMED_NOTE_FREE, TIPMED_NOTE_ASKED, TIPMED_NOTE_DONE };

struct tipmed_note {
	_Atomic int state; /* ASKED: the writer's; else the trigger thread's */
	char id[TIPMED_ID_BYTES];
	char words[TIPMED_WORDS_BYTES];
	uint64_t requester; /* connection that waits for the answer */
	int error;
};

struct tipmed_notes {
	struct tipmed_note note[TIPMED_NOTES_MAX];
};

/*
 * Reads "ID\nWORDS". Returns 0, or -EINVAL if that is no id of an episode. The words are cleaned.
 */
int tipmed_note_parse(struct tipmed_note *note, const char *text, size_t len);

/* A place for a note; NULL: all are taken. */
struct tipmed_note *tipmed_notes_free_one(struct tipmed_notes *notes);

/* In the writer: saves all that were asked for. Returns how many. */
unsigned int tipmed_notes_save(struct tipmed_notes *notes, int library_fd);

#endif
