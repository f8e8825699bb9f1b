/* SPDX-License-Identifier: GPL-2.0-only */
/* As much TAP as the unit tests of the daemon need. */
#ifndef TIPME_DAEMON_TAP_H
#define TIPME_DAEMON_TAP_H

#include <stdbool.h>
#include <stdio.h>

static int tap_done, tap_failed;

#define ok(condition, ...) tap_ok((condition), __LINE__, __VA_ARGS__)

__attribute__((format(printf, 3, 4))) static inline bool tap_ok(bool good, int line,
								const char *format, ...)
{
	char text[200];
	__builtin_va_list args;

	__builtin_va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	__builtin_va_end(args);
	printf("%sok %d - %s\n", good ? "" : "not ", ++tap_done, text);
	if (!good) {
		printf("# failed at line %d\n", line);
		tap_failed++;
	}
	fflush(stdout);
	return good;
}

static inline int tap_end(void)
{
	printf("1..%d\n", tap_done);
	return tap_failed ? 1 : 0;
}

#endif
