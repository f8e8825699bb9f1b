/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Text built in a buffer that is there already: the paths that answer while the machine is in
 * trouble do not allocate.
 */
#ifndef TIPME_TEXT_H
#define TIPME_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct tipme_text {
	char *buf;
	size_t len, cap;
	bool cut; /* something did not fit; what fitted is NUL-terminated all the same */
};

void tipme_text_init(struct tipme_text *text, char *buf, size_t cap);
void tipme_text_add(struct tipme_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds `string` as a JSON string, quotes included; 0 becomes null. */
void tipme_text_add_json(struct tipme_text *text, const char *string);

/*
 * Copies what a stranger wrote into `to`: a tab becomes a space; bytes that are no UTF-8, control
 * characters other than a line end, and marks that turn the direction of a line, become '?'. `to`
 * may be `from`, or lie before it. Cuts at a whole character; the result is NUL-terminated. Returns
 * its length.
 */
size_t tipme_text_clean(char *to, size_t cap, const char *from, size_t len);

#endif
