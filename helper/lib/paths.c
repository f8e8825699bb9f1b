// SPDX-License-Identifier: GPL-2.0-only
/* Where the daemon's socket and the library of episodes are. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "paths.h"

/* Of a variable that is set and begins with a slash; else NULL. */
static const char *folder_of(const char *variable)
{
	const char *dir = getenv(variable);

	return dir && *dir == '/' ? dir : NULL;
}

/* An ordinary user has a recorder of the machine to talk to, or one of its own. Never in a folder where others may make files, as /tmp. */
static void own_rundir(char *buf, size_t cap)
{
	const char *runtime = folder_of("XDG_RUNTIME_DIR"), *home = folder_of("HOME");

	if (!geteuid() || !access(TIPME_RUNDIR_DEFAULT "/" TIPME_SOCKET_NAME, F_OK))
		snprintf(buf, cap, "%s", TIPME_RUNDIR_DEFAULT);
	else if (runtime)
		snprintf(buf, cap, "%s/tipme", runtime);
	else if (home)
		snprintf(buf, cap, "%s/.local/state/tipme", home);
	else
		snprintf(buf, cap, "%s", TIPME_RUNDIR_DEFAULT);
}

const char *tipme_rundir(void)
{
	static char own[PATH_MAX];
	const char *dir = getenv("TIPME_RUNDIR");

	if (dir && *dir)
		return dir;
	own_rundir(own, sizeof(own));
	return own;
}

int tipme_library(uid_t uid, char *buf, size_t cap)
{
	const char *dir = getenv("TIPME_LIBRARY"), *data = folder_of("XDG_DATA_HOME"), *home = folder_of("HOME");
	int n = dir && *dir ? snprintf(buf, cap, "%s", dir) : snprintf(buf, cap, "/var/lib/tipme/%u", (unsigned int)uid);

	/* Who may not make that folder, and has none there, keeps episodes at home. */
	if (!(dir && *dir) && geteuid() && access(buf, F_OK) && (data || home))
		n = data ? snprintf(buf, cap, "%s/tipme", data) : snprintf(buf, cap, "%s/.local/share/tipme", home);
	return n < 0 || (size_t)n >= cap ? -ENAMETOOLONG : 0;
}

int tipme_socket_address_of(const char *rundir, uid_t uid, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	int n = snprintf(addr->sun_path, sizeof(addr->sun_path), "%s/" TIPME_SOCKET_NAME_OF, rundir, (unsigned int)uid);

	return n < 0 || (size_t)n >= sizeof(addr->sun_path) ? -ENAMETOOLONG : 0;
}

int tipme_socket_address(const char *rundir, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	int n = snprintf(addr->sun_path, sizeof(addr->sun_path), "%s/" TIPME_SOCKET_NAME, rundir);

	return n < 0 || (size_t)n >= sizeof(addr->sun_path) ? -ENAMETOOLONG : 0;
}
