// SPDX-License-Identifier: GPL-2.0-only
/* Where the daemon's socket and the library of episodes are. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
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

/*
 * Whether somebody listens in `dir` for us: 0, or -errno: -ECONNREFUSED: a recorder was killed
 * there and left its socket, -EACCES: one of others, of which nobody can tell whether it runs.
 * Never waits: a recorder that takes no more connections is one.
 */
static int probe_address(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err = fd < 0 || connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return err == -EAGAIN ? 0 : err;
}

static int probe(const char *dir)
{
	struct sockaddr_un addr;
	int err = tipme_socket_address(dir, &addr);

	err = err ? err : probe_address(&addr);
	if (err != -EACCES || tipme_socket_address_of(dir, geteuid(), &addr))
		return err;
	return probe_address(&addr) ? -EACCES : 0;
}

/* Of an ordinary user's own recorder. Never in a folder where others may make files, as /tmp. */
static int own_rundir(char *buf, size_t cap)
{
	const char *runtime = folder_of("XDG_RUNTIME_DIR"), *home = folder_of("HOME");

	if (runtime)
		snprintf(buf, cap, "%s/tipme", runtime);
	else if (home)
		snprintf(buf, cap, "%s/.local/state/tipme", home);
	else
		return -ENOENT;
	return 0;
}

/*
 * The recorder of the machine comes first, if it listens for us; where it is of others, their own
 * if that runs or `starting`.
 */
static const char *rundir(bool starting)
{
	static char own[PATH_MAX];
	const char *dir = getenv("TIPME_RUNDIR");

	if (dir && *dir)
		return dir;
	int machine = geteuid() ? probe(TIPME_RUNDIR_DEFAULT) : 0;

	if (!machine || own_rundir(own, sizeof(own)))
		return TIPME_RUNDIR_DEFAULT;
	return machine == -EACCES && !starting && probe(own) ? TIPME_RUNDIR_DEFAULT : own;
}

const char *tipme_rundir(void)
{
	return rundir(false);
}

const char *tipme_rundir_to_start(void)
{
	return rundir(true);
}

int tipme_library(uid_t uid, char *buf, size_t cap)
{
	const char *dir = getenv("TIPME_LIBRARY"), *data = folder_of("XDG_DATA_HOME"),
		   *home = folder_of("HOME");
	int n = dir && *dir ? snprintf(buf, cap, "%s", dir)
			    : snprintf(buf, cap, "/var/lib/tipme/%u", (unsigned int)uid);

	/* Who may not make that folder, and has none there, keeps episodes at home. */
	if (!(dir && *dir) && geteuid() && access(buf, F_OK) && (data || home))
		n = data ? snprintf(buf, cap, "%s/tipme", data)
			 : snprintf(buf, cap, "%s/.local/share/tipme", home);
	return n < 0 || (size_t)n >= cap ? -ENAMETOOLONG : 0;
}

int tipme_socket_address_of(const char *rundir, uid_t uid, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	int n = snprintf(addr->sun_path, sizeof(addr->sun_path), "%s/" TIPME_SOCKET_NAME_OF, rundir,
			 (unsigned int)uid);

	return n < 0 || (size_t)n >= sizeof(addr->sun_path) ? -ENAMETOOLONG : 0;
}

int tipme_socket_address(const char *rundir, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	int n = snprintf(addr->sun_path, sizeof(addr->sun_path), "%s/" TIPME_SOCKET_NAME, rundir);

	return n < 0 || (size_t)n >= sizeof(addr->sun_path) ? -ENAMETOOLONG : 0;
}
