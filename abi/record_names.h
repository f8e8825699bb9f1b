/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of record, field and value names, and the printer that works from them. */
#ifndef TIPME_RECORD_NAMES_H
#define TIPME_RECORD_NAMES_H

#include <stddef.h>
#include <stdio.h>

struct tipme_enum_name {
	unsigned int value;
	const char *name; /* 0 ends the table */
};

struct tipme_field_name {
	const char *name; /* 0 ends the table */
	unsigned short offset;
	unsigned short size; /* 0: text up to the end of the record */
	unsigned char is_text;
	const struct tipme_enum_name *values; /* 0: a plain number */
};

struct tipme_record_name {
	const char *name; /* 0: no such record */
	unsigned int size; /* of the fixed part */
	const struct tipme_field_name *fields;
};

extern const struct tipme_record_name tipme_record_names[256];

/*
 * Prints the record at `rec`, of which `left` bytes are there, as one line of name=value pairs.
 * Returns its length in bytes, so that the next one begins there; 0 if it is cut or impossible
 * (which is printed, too).
 */
size_t tipme_record_print(FILE *out, const void *rec, size_t left);

#endif
