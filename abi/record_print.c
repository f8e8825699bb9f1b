/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints any record from the generated tables: the same text that the Perl reader prints. */
#include "record_names.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "tipme_records.h"

static uint64_t field_value(const unsigned char *p, unsigned int size)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < size; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static void field_print(FILE *out, const unsigned char *rec, size_t len,
			const struct tipme_field_name *f)
{
	/*
	 * The record may be shorter (an older minor) than the field's end: such fields read as 0.
	 */
	if (f->is_text) {
		size_t room = f->offset >= len ? 0 : len - f->offset;
		size_t max = f->size && f->size < room ? f->size : room;

		fprintf(out, " %s=%.*s", f->name, (int)strnlen((const char *)rec + f->offset, max),
			(const char *)rec + f->offset);
		return;
	}
	uint64_t v = f->offset + f->size <= len ? field_value(rec + f->offset, f->size) : 0;

	for (const struct tipme_enum_name *e = f->values; e && e->name; e++) {
		if (e->value == v) {
			fprintf(out, " %s=%s", f->name, e->name);
			return;
		}
	}
	fprintf(out, " %s=%" PRIu64, f->name, v);
}

size_t tipme_record_print(FILE *out, const void *rec, size_t left)
{
	const unsigned char *p = rec;
	struct tipme_head head;

	if (left < sizeof(head)) {
		fprintf(out, "cut: %zu bytes left, %zu wanted\n", left, sizeof(head));
		return 0;
	}
	memcpy(&head, p, sizeof(head));
	size_t len = head.len8 * (size_t)8;

	if (len < sizeof(head)) {
		fprintf(out, "impossible: length %zu\n", len);
		return 0;
	}
	if (left < len) {
		fprintf(out, "cut: %zu bytes left, %zu wanted\n", left, len);
		return 0;
	}
	const struct tipme_record_name *r = &tipme_record_names[head.type];

	if (!r->name) {
		fprintf(out, "unknown type %u of %zu bytes skipped\n", head.type, len);
		return len;
	}
	fputs(r->name, out);
	for (const struct tipme_field_name *f = r->fields; f->name; f++) {
		if (f->offset == offsetof(struct tipme_head, type) ||
		    f->offset == offsetof(struct tipme_head, len8) ||
		    f->offset == offsetof(struct tipme_head, gen))
			continue;
		field_print(out, p, len, f);
	}
	fputc('\n', out);
	return len;
}
