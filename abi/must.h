/* SPDX-License-Identifier: GPL-2.0-only */
/* What holds whatever a fuzzer brings: where it does not, the program ends there, and says so. */
#ifndef TIPME_MUST_H
#define TIPME_MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(what)                                                \
	do {                                                      \
		if (!(what)) {                                    \
			fprintf(stderr, "violated: %s\n", #what); \
			abort();                                  \
		}                                                 \
	} while (0)

#endif
