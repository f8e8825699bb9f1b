// SPDX-License-Identifier: GPL-2.0-only
/* What the recorder answers, made fit for a terminal: JSON may escape what a terminal obeys. */
#include "config.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "text.h"

static char *clean_text(const char *from, size_t len)
{
	char *to = malloc(len + 1);

	if (to)
		tipme_text_clean(to, len + 1, from, len);
	return to;
}

static struct json_object *clean_string(struct json_object *o)
{
	char *text = clean_text(json_object_get_string(o), (size_t)json_object_get_string_len(o));
	struct json_object *s = text ? json_object_new_string(text) : NULL;

	free(text);
	return s;
}

static struct json_object *clean_copy(struct json_object *o);

static struct json_object *clean_object(struct json_object *o)
{
	struct json_object *copy = json_object_new_object();

	json_object_object_foreach(o, key, value)
	{
		char *name = clean_text(key, strlen(key));

		if (name)
			json_object_object_add(copy, name, clean_copy(value));
		free(name);
	}
	return copy;
}

static struct json_object *clean_list(struct json_object *o)
{
	struct json_object *copy = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(o); i++)
		json_object_array_add(copy, clean_copy(json_object_array_get_idx(o, i)));
	return copy;
}

/* The depth is bounded by the parser's, 32. */
static struct json_object *clean_copy(struct json_object *o)
{
	switch (json_object_get_type(o)) {
	case json_type_string: return clean_string(o);
	case json_type_object: return clean_object(o);
	case json_type_array: return clean_list(o);
	default: return json_object_get(o);
	}
}

struct json_object *cli_answer_parse(const char *text)
{
	struct json_object *raw = json_tokener_parse(text), *clean = clean_copy(raw);

	json_object_put(raw);
	return clean;
}
