// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded into a server beside the hooks, for the tests: says in each of its generations how many
 * entries of the tables of requests lie in the hooks, when its extensions begin (none should) and
 * when it serves.
 */
#include "config.h"

#include "server.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char path[256];
static unsigned long served_generation;

static unsigned in_hooks(int (**table)(ClientPtr))
{
	unsigned count = 0;
	Dl_info info;

	for (int major = 0; major < 256; major++)
		if (dladdr((void *)(uintptr_t)table[major], &info) && info.dli_fname &&
		    strstr(info.dli_fname, "libtipme.so"))
			count++;
	return count;
}

static void say(const char *when)
{
	FILE *out = fopen(path, "ae");

	if (!out)
		return;
	fprintf(out, "%s %lu %u %u\n", when, serverGeneration, in_hooks(ProcVector),
		in_hooks(SwappedProcVector));
	fclose(out);
}

static void on_block(void *data, void *timeout)
{
}

/* By then all have had their first look. */
static void on_wakeup(void *data, int result)
{
	if (served_generation == serverGeneration)
		return;
	served_generation = serverGeneration;
	say("serves");
}

static void begins(void)
{
	say("begins");
	RegisterBlockAndWakeupHandlers(on_block, on_wakeup, NULL);
}

__attribute__((constructor)) static void preload(void)
{
	static const ExtensionModule extension = { begins, "TIPME-TEST-TABLES", NULL };
	const char *to = getenv("TIPME_TEST_TABLES");

	if (!to || strlen(to) >= sizeof(path) || !LoadExtensionList)
		return;
	strcpy(path, to);
	unsetenv("TIPME_TEST_TABLES");
	LoadExtensionList(&extension, 1, FALSE);
}
