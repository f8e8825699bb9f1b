// SPDX-License-Identifier: GPL-2.0-only
/* What the recorder cannot do here, in sentences. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "limitations.h"

int tipmed_limit_add(struct tipmed_limits *limits, const char *format, ...)
{
	unsigned int n = limits->count;
	char text[sizeof(limits->text[0])];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (unsigned int i = 0; i < n; i++) {
		if (!limits->over[i] || strcmp(limits->text[i], text))
			continue;
		limits->over[i] = false;
		return (int)i;
	}
	if (n == TIPMED_LIMITS_MAX)
		return -1;
	memcpy(limits->text[n], text, sizeof(text));
	/* last: who reads meanwhile sees whole sentences, which never change */
	limits->count = n + 1;
	return (int)n;
}

void tipmed_limit_end(struct tipmed_limits *limits, int number)
{
	if (number >= 0)
		limits->over[number] = true;
}

const char *tipmed_limit_text(const struct tipmed_limits *limits, unsigned int number)
{
	return limits->over[number] ? NULL : limits->text[number];
}
