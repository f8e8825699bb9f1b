// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who finds the sentence that a text was made of knows what was filled in, and fills the
 * translation with the same.
 */
#include "config.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "retold.h"
#include "words.h"

#define HOLES 6
#define DEEPEST 3 /* a reason within a reason */

static const char *const sentences[] = { TIPME_TOLD_SENTENCES };

/* What stands for a {name}. */
struct filled {
	const char *name;
	size_t name_len;
	const char *text;
	size_t len;
};

struct match {
	struct filled holes[HOLES];
	size_t count;
};

/* One of {n} to {s}: tells Perl's patterns the same. */
static bool is_number(const char *name, size_t len)
{
	return len == 1 && *name >= 'n' && *name <= 's';
}

static bool may_fill(const struct filled *hole)
{
	size_t i = hole->len > 1 && *hole->text == '-';

	if (!is_number(hole->name, hole->name_len))
		return hole->len > 0;
	for (; i < hole->len; i++)
		if (!isdigit((unsigned char)hole->text[i]))
			return false;
	return hole->len > 0;
}

/* Each hole takes as little as it can. */
static bool fits(const char *sentence, const char *text, struct match *match)
{
	const char *open = strchr(sentence, '{'), *close = open ? strchr(open, '}') : NULL;
	size_t before = close ? (size_t)(open - sentence) : strlen(sentence);

	if (strncmp(sentence, text, before))
		return false;
	if (!close)
		return !text[before];
	if (match->count == HOLES)
		return false;
	struct filled *hole = &match->holes[match->count++];

	*hole = (struct filled){ open + 1, (size_t)(close - open - 1), text + before, 0 };
	for (size_t len = 1; hole->text[len - 1]; len++) {
		hole->len = len;
		if (may_fill(hole) && fits(close + 1, hole->text + len, match))
			return true;
	}
	match->count--;
	return false;
}

static const struct filled *named(const struct match *match, const char *name, size_t len)
{
	for (size_t i = 0; i < match->count; i++)
		if (match->holes[i].name_len == len && !memcmp(match->holes[i].name, name, len))
			return &match->holes[i];
	return NULL;
}

static char *told(const char *text, int depth);

static void put_hole(FILE *out, const struct filled *hole, int depth)
{
	bool why = hole->name_len == 3 && !memcmp(hole->name, "why", 3);
	char *text = strndup(hole->text, hole->len);
	char *words = text && why && depth < DEEPEST ? told(text, depth + 1) : NULL;

	fputs(words ? words : text ? text : "", out);
	free(words);
	free(text);
}

static char *filled(const char *sentence, const struct match *match, int depth)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	while (*sentence) {
		const char *close = *sentence == '{' ? strchr(sentence, '}') : NULL;
		const struct filled *hole =
			close ? named(match, sentence + 1, (size_t)(close - sentence - 1)) : NULL;

		if (hole)
			put_hole(out, hole, depth);
		else
			fputc(*sentence, out);
		sentence = hole ? close + 1 : sentence + 1;
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static char *told(const char *text, int depth)
{
	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
		struct match match = { .count = 0 };

		if (fits(sentences[i], text, &match))
			return filled(_(sentences[i]), &match, depth);
	}
	/* A reason may be the system's: its catalogue knows it. */
	return strdup(depth && *text ? dgettext("libc", text) : text);
}

char *tipme_retold(const char *text)
{
	return told(text, 0);
}
