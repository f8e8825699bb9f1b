// SPDX-License-Identifier: GPL-2.0-only
/* Text built in a buffer that is there already, and strangers' text made harmless. */
#include "config.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

void tipme_text_init(struct tipme_text *text, char *buf, size_t cap)
{
	*text = (struct tipme_text){ .buf = buf, .cap = cap };
	buf[0] = '\0';
}

void tipme_text_add(struct tipme_text *text, const char *format, ...)
{
	size_t left = text->cap - text->len;
	va_list args;

	va_start(args, format);
	int n = vsnprintf(text->buf + text->len, left, format, args);

	va_end(args);
	if (n < 0 || (size_t)n >= left) {
		text->buf[text->len] = '\0';
		text->cut = true;
		return;
	}
	text->len += (size_t)n;
}

static void add_json_char(struct tipme_text *text, unsigned char c)
{
	if (c == '"' || c == '\\')
		tipme_text_add(text, "\\%c", c);
	else if (c < 0x20)
		tipme_text_add(text, "\\u%04x", c);
	else
		tipme_text_add(text, "%c", c);
}

void tipme_text_add_json(struct tipme_text *text, const char *string)
{
	if (!string) {
		tipme_text_add(text, "null");
		return;
	}
	tipme_text_add(text, "\"");
	for (; *string; string++)
		add_json_char(text, (unsigned char)*string);
	tipme_text_add(text, "\"");
}

/*
 * Length of the UTF-8 sequence at `s`; 0 if it is none (cut, overlong, a surrogate, above
 * U+10FFFF).
 */
static size_t utf8_len(const unsigned char *s, size_t left)
{
	static const struct {
		uint8_t mask, lead;
		uint32_t least;
	} forms[] = {
		{ 0x80, 0x00, 0 },
		{ 0xe0, 0xc0, 0x80 },
		{ 0xf0, 0xe0, 0x800 },
		{ 0xf8, 0xf0, 0x10000 },
	};

	for (size_t n = 0; n < 4; n++) {
		if ((s[0] & forms[n].mask) != forms[n].lead)
			continue;
		uint32_t code = s[0] & (uint8_t)~forms[n].mask;

		if (n >= left)
			return 0;
		for (size_t i = 1; i <= n; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (s[i] & 0x3f);
		}
		return code < forms[n].least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)
			       ? 0
			       : n + 1;
	}
	return 0;
}

/*
 * Marks that turn the direction of a line, and those that end it: U+200B to U+200F, U+2028 to
 * U+202E, U+2060 to U+206F, U+FEFF.
 */
static bool is_mark(const unsigned char *s)
{
	return (s[0] == 0xe2 && ((s[1] == 0x80 && ((s[2] >= 0x8b && s[2] <= 0x8f) ||
						   (s[2] >= 0xa8 && s[2] <= 0xae))) ||
				 (s[1] == 0x81 && s[2] >= 0xa0 && s[2] <= 0xaf))) ||
	       (s[0] == 0xef && s[1] == 0xbb && s[2] == 0xbf);
}

static bool is_control(const unsigned char *s, size_t n)
{
	return n == 1	? (s[0] < 0x20 && s[0] != '\n') || s[0] == 0x7f
	       : n == 2 ? s[0] == 0xc2 && s[1] < 0xa0
			: n == 3 && is_mark(s);
}

size_t tipme_text_clean(char *to, size_t cap, const char *from, size_t len)
{
	const unsigned char *s = (const unsigned char *)from;
	size_t out = 0;

	for (size_t at = 0; at < len;) {
		size_t n = utf8_len(s + at, len - at);
		bool bad = !n || is_control(s + at, n);

		if (out + (bad ? 1 : n) >= cap)
			break;
		memmove(to + out, from[at] == '\t' ? " " : bad ? "?" : from + at, bad ? 1 : n);
		out += bad ? 1 : n;
		at += n ? n : 1;
	}
	to[out] = '\0';
	return out;
}
