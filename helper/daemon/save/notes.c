// SPDX-License-Identifier: GPL-2.0-only
/* The user's words about an episode that is saved already. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "episode.h"
#include "notes.h"
#include "text.h"

int tipmed_note_parse(struct tipmed_note *note, const char *text, size_t len)
{
	const char *end = memchr(text, '\n', len);
	size_t id_len = end ? (size_t)(end - text) : len;

	if (!tipmed_episode_is_id(text, id_len))
		return -EINVAL;
	memcpy(note->id, text, id_len);
	note->id[id_len] = '\0';
	size_t words = end ? len - id_len - 1 : 0;

	tipme_text_clean(note->words, sizeof(note->words), end ? end + 1 : text, words);
	return 0;
}

struct tipmed_note *tipmed_notes_free_one(struct tipmed_notes *notes)
{
	for (int i = 0; i < TIPMED_NOTES_MAX; i++)
		if (atomic_load_explicit(&notes->note[i].state, memory_order_acquire) ==
		    TIPMED_NOTE_FREE)
			return &notes->note[i];
	return NULL;
}

unsigned int tipmed_notes_save(struct tipmed_notes *notes, int library_fd)
{
	unsigned int saved = 0;

	for (int i = 0; i < TIPMED_NOTES_MAX; i++) {
		struct tipmed_note *note = &notes->note[i];

		/*
		 * Acquire: pairs with the trigger thread's store of ASKED, after which the words
		 * are ours.
		 */
		if (atomic_load_explicit(&note->state, memory_order_acquire) != TIPMED_NOTE_ASKED)
			continue;
		note->error = tipmed_episode_note(library_fd, note->id, note->words);
		atomic_store_explicit(&note->state, TIPMED_NOTE_DONE, memory_order_release);
		saved++;
	}
	return saved;
}
