// SPDX-License-Identifier: GPL-2.0-only
/*
 * For the tests, linked into a copy of the hooks so that it stands between them and the server: a
 * server that is not as they know it. TIPME_TEST_MISFIT says how.
 */
#include "config.h"

#include "server.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is(const char *what)
{
	const char *misfit = getenv("TIPME_TEST_MISFIT");

	return misfit && !strcmp(misfit, what);
}

/* Where the first keyboard should be, something else is. */
InputInfo inputInfo;

static void fill(void *server)
{
	static DeviceIntRec other;
	const InputInfo *real = dlsym(server, "inputInfo");

	if (real)
		inputInfo = *real;
	memset(&other, 0x2a, sizeof(other));
	if (is("devices"))
		inputInfo.keyboard = &other;
}

/*
 * Only Xorg has one of its own; the number of its next great change. This is what the hooks look at
 * first.
 */
int LoaderGetABIVersion(const char *class)
{
	void *server = dlopen(NULL, RTLD_LAZY);
	int (*real)(const char *) = (int (*)(const char *))dlsym(server, "LoaderGetABIVersion");
	int abi = real && real != LoaderGetABIVersion ? real(class) : (int)ABI_EXTENSION_VERSION;

	fill(server);
	dlclose(server);
	return is("number") ? (int)SET_ABI_VERSION(GET_ABI_MAJOR(abi) + 1, 0) : abi;
}
