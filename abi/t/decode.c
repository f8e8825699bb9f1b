/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints a file of bare records, one a line: the C half of the comparison with Perl. */
#include <stdio.h>
#include <stdlib.h>

#include "record_names.h"

int main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
	static unsigned char buf[1 << 20];

	if (!f) {
		fprintf(stderr, "usage: decode FILE\n");
		return 64;
	}
	size_t len = fread(buf, 1, sizeof(buf), f), at = 0;

	fclose(f);
	while (at < len) {
		size_t n = tipme_record_print(stdout, buf + at, len - at);

		if (!n)
			break;
		at += n;
	}
	return 0;
}
