// SPDX-License-Identifier: GPL-2.0-only
/* Texts that many have alike, by a hash. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "shared_text.h"

struct tipmed_shared_text {
	struct tipmed_shared_text *next; /* in the bucket */
	uint32_t hash, holders;
	size_t bytes;
	char text[];
};

/* FNV-1a. */
static uint32_t hash_of(const char *text)
{
	uint32_t hash = 2166136261U;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619U;
	return hash;
}

const char *tipmed_text_hold(struct tipmed_texts *texts, const char *text)
{
	uint32_t hash = hash_of(text);
	struct tipmed_shared_text **first = &texts->bucket[hash % TIPMED_TEXT_BUCKETS], *t = *first;

	while (t && (t->hash != hash || strcmp(t->text, text)))
		t = t->next;
	if (t) {
		t->holders++;
		return t->text;
	}
	size_t len = strlen(text) + 1;

	t = malloc(sizeof(*t) + len);
	if (!t)
		return NULL;
	*t = (struct tipmed_shared_text){
		.next = *first, .hash = hash, .holders = 1, .bytes = sizeof(*t) + len
	};
	memcpy(t->text, text, len);
	*first = t;
	texts->bytes += t->bytes;
	return t->text;
}

void tipmed_text_leave(struct tipmed_texts *texts, const char *held)
{
	struct tipmed_shared_text *t = (void *)(held - offsetof(struct tipmed_shared_text, text)),
				  **at = &texts->bucket[t->hash % TIPMED_TEXT_BUCKETS];

	if (--t->holders)
		return;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	texts->bytes -= t->bytes;
	free(t);
}
