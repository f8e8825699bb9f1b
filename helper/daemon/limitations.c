// SPDX-License-Identifier: GPL-2.0-only
/* What the recorder cannot do here, in sentences. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "limitations.h"

void tipmed_limit_add(struct tipmed_limits *limits, const char *format, ...)
{
	unsigned int n = limits->count;
	va_list args;

	if (n == TIPMED_LIMITS_MAX)
		return;
	va_start(args, format);
	vsnprintf(limits->text[n], sizeof(limits->text[0]), format, args);
	va_end(args);
	limits->count = n + 1; /* last: who reads meanwhile sees whole sentences */
}
