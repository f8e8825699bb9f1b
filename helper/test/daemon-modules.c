// SPDX-License-Identifier: GPL-2.0-only
/* The table of mapped files: weeks of upgrades and compilations do not fill it for good. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "daemon-tap.h"
#include "modules.h"

static struct tipmed_modules modules;
static bool keep[TIPMED_MODULES_MAX];

static uint32_t number_of(const char *folder, unsigned int i)
{
	char path[64];

	snprintf(path, sizeof(path), "/%s/%u", folder, i);
	return tipmed_modules_number(&modules, path, 1000, 1);
}

int main(void)
{
	unsigned int numbered = 0, same = 0;

	for (unsigned int i = 0; i < 10; i++)
		keep[number_of("kept", i) - 1] = true;
	ok(tipmed_modules_number(&modules, "/kept/3", 1000, 2) == 4,
	   "the same file has the same number");
	ok(tipmed_modules_number(&modules, "/kept/3", 1001, 2) == 11,
	   "another size is another file");
	for (unsigned int i = 0; i < 20000; i++) {
		char folder[16];

		snprintf(folder, sizeof(folder), "day%u", i / 100);
		numbered += number_of(folder, i) != 0;
		if (tipmed_modules_crowded(&modules))
			tipmed_modules_forget(&modules, keep);
	}
	ok(numbered == 20000 && !modules.refused,
	   "20000 files one after another: each has a number");
	for (unsigned int i = 0; i < 10; i++)
		same += number_of("kept", i) == i + 1;
	ok(same == 10, "who was referred to all the time has the same one still");
	for (unsigned int i = 0; i < 2 * TIPMED_MODULES_MAX; i++)
		number_of("full", i);
	ok(modules.count == TIPMED_MODULES_MAX && modules.refused,
	   "all in use at one time: %llu are refused, and counted",
	   (unsigned long long)modules.refused);
	tipmed_modules_clear(&modules);
	ok(modules.count == 0 && number_of("new", 1) == 1, "cleared it begins anew");
	tipmed_modules_clear(&modules);
	return tap_end();
}
