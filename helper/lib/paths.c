// SPDX-License-Identifier: GPL-2.0-only
/* Where the daemon's socket and the library of episodes are. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "paths.h"

const char *tipme_rundir(void)
{
	const char *dir = getenv("TIPME_RUNDIR");

	return dir && *dir ? dir : TIPME_RUNDIR_DEFAULT;
}

int tipme_library(uid_t uid, char *buf, size_t cap)
{
	const char *dir = getenv("TIPME_LIBRARY");
	int n = dir && *dir ? snprintf(buf, cap, "%s", dir) : snprintf(buf, cap, "/var/lib/tipme/%u", (unsigned int)uid);

	return n < 0 || (size_t)n >= cap ? -ENAMETOOLONG : 0;
}

int tipme_socket_address(const char *rundir, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	int n = snprintf(addr->sun_path, sizeof(addr->sun_path), "%s/" TIPME_SOCKET_NAME, rundir);

	return n < 0 || (size_t)n >= sizeof(addr->sun_path) ? -ENAMETOOLONG : 0;
}
