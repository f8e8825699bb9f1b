/* SPDX-License-Identifier: GPL-2.0-only */
/* Fields of a JSON object that may lack them, or have them with another type. */
#ifndef TIPME_GUI_JSON_H
#define TIPME_GUI_JSON_H

#include <glib.h>
#include <json-c/json.h>

/* A field, or NULL: not there, null, or `object` is no object. */
static inline struct json_object *tipme_json_get(struct json_object *object, const char *name)
{
	struct json_object *value = NULL;

	if (!json_object_is_type(object, json_type_object))
		return NULL;
	json_object_object_get_ex(object, name, &value);
	return value;
}

/* A text, or "" (never NULL); it belongs to the object. */
static inline const char *tipme_json_text(struct json_object *object, const char *name)
{
	struct json_object *value = tipme_json_get(object, name);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

/* A number, or `without`. */
static inline gint64 tipme_json_number(struct json_object *object, const char *name, gint64 without)
{
	struct json_object *value = tipme_json_get(object, name);

	if (!json_object_is_type(value, json_type_int) &&
	    !json_object_is_type(value, json_type_double))
		return without;
	return json_object_get_int64(value);
}

/* Length of a list, 0 without. */
static inline guint tipme_json_length(struct json_object *list)
{
	return json_object_is_type(list, json_type_array) ? (guint)json_object_array_length(list)
							  : 0;
}

/*
 * `tipme latency report --json` has a list of results, of which we show the first; others are one.
 */
static inline struct json_object *tipme_json_measurement(struct json_object *object)
{
	struct json_object *results = tipme_json_get(object, "results");

	return tipme_json_length(results) ? json_object_array_get_idx(results, 0) : object;
}

#endif
