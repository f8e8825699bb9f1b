// SPDX-License-Identifier: GPL-2.0-only
/* What the owner's agent tells of his session: checked line by line. */
#include "config.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "desktop.h"

#define NAME_MAX_LEN 100

/* Where a line of each key goes; the letters that its value may have. */
static const struct key {
	const char *name, *field, *letters;
	enum { WORD, LIST, NUMBER } form;
} keys[] = {
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
	{ "desktop", "desktop", LETTERS DIGITS "._+:-", WORD },
	{ "type", "type", LETTERS DIGITS, WORD },
	{ "extension", "extensions", LETTERS DIGITS "._+@-", LIST },
	{ "script", "scripts", LETTERS DIGITS "._+@-", LIST },
	{ "own", "own", DIGITS, NUMBER },
};

/* The key of a line and, after its space, the value; NULL: it is none of ours. */
static const struct key *key_of(const char *line, size_t len, const char **value)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		size_t n = strlen(keys[i].name), most = keys[i].form == NUMBER ? 4 : NAME_MAX_LEN;

		if (len <= n + 1 || len - n - 1 > most || memcmp(line, keys[i].name, n) ||
		    line[n] != ' ')
			continue;
		*value = line + n + 1;
		for (size_t k = n + 1; k < len; k++)
			if (!line[k] || !strchr(keys[i].letters, line[k]))
				return NULL;
		return &keys[i];
	}
	return NULL;
}

void tipmed_session_take(char to[TIPMED_SESSION_BYTES], const char *text, size_t len)
{
	const char *end = text + len, *value;
	size_t at = 0;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((stop ? stop : end) - text);

		if (key_of(text, n, &value) && at + n + 2 <= TIPMED_SESSION_BYTES) {
			memcpy(to + at, text, n);
			at += n;
			to[at++] = '\n';
		}
		text += n + 1;
	}
	to[at] = '\0';
}

static void add(struct json_object *to, const struct key *key, const char *value, size_t len)
{
	struct json_object *list, *word = key->form == NUMBER
						  ? json_object_new_int(atoi(value))
						  : json_object_new_string_len(value, (int)len);

	if (key->form != LIST) {
		json_object_object_add(to, key->field, word);
		return;
	}
	if (!json_object_object_get_ex(to, key->field, &list)) {
		list = json_object_new_array();
		json_object_object_add(to, key->field, list);
	}
	json_object_array_add(list, word);
}

struct json_object *tipmed_session_json(const char *kept)
{
	struct json_object *session = *kept ? json_object_new_object() : NULL;
	const char *value;

	while (*kept) {
		size_t n = strcspn(kept, "\n");
		const struct key *key = key_of(kept, n, &value);

		if (key)
			add(session, key, value, (size_t)(kept + n - value));
		kept += n + (kept[n] == '\n');
	}
	return session;
}
