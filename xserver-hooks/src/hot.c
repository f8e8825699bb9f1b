// SPDX-License-Identifier: GPL-2.0-only
/*
 * In which order what is hot lies in memory: see hot.h. The linker takes sections in the order in
 * which it meets them first, and this is the first file; each row begins a page. What is touched
 * together lies in as few pages as may be: a server that has slept pays for each page that it
 * touches first, in a virtual machine most of all.
 */
#include "config.h"

#define SECTION(name, flags, align)                                                \
	__asm__(".pushsection " name ",\"" flags "\",@progbits\n\t.balign " #align \
		"\n\t.popsection")

SECTION("tipme_code_wake", "ax", 4096);
SECTION("tipme_code_input", "ax", 1);
SECTION("tipme_code_key", "ax", 1);
SECTION("tipme_code_request", "ax", 1);
SECTION("tipme_code", "ax", 1);

SECTION("tipme_hot_tables", "aw", 4096);
SECTION("tipme_hot", "aw", 64);
SECTION("tipme_state", "aw", 64);

SECTION("tipme_clients", "aw", 4096);
