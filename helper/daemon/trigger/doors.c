// SPDX-License-Identifier: GPL-2.0-only
/* The sockets that tipmed listens on. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "doors.h"
#include "paths.h"

#define BACKLOG 64

#define COST_NS (TIPME_NS_PER_S / TIPMED_DOOR_PER_S)

static int address_of(const struct tipmed_door *door, const char *rundir, struct sockaddr_un *addr)
{
	return door->own ? tipme_socket_address(rundir, addr)
			 : tipme_socket_address_of(rundir, door->uid, addr);
}

/* Who may not give files away leaves it open to all; who knocks is looked at in any case. */
static int socket_give(const char *path, uid_t uid)
{
	if (chmod(path, 0600))
		return -errno;
	if (uid == geteuid() || !chown(path, uid, (gid_t)-1))
		return 0;
	return errno != EPERM || chmod(path, 0666) ? -errno : 0;
}

static int door_open(struct tipmed_door *door, const char *path, const struct sockaddr_un *addr)
{
	/* A folder that is locked and has a socket nobody listens on: the one before us crashed. */
	unlink(path);
	door->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (door->fd < 0 || bind(door->fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return -errno;
	struct stat st;

	if (lstat(path, &st))
		return -errno;
	door->dev = st.st_dev;
	door->ino = st.st_ino;
	/* Nobody can connect before listen(). */
	int err = socket_give(path, door->uid);

	return err ? err : listen(door->fd, BACKLOG) ? -errno : 0;
}

static int door_add(struct tipmed_doors *doors, const struct tipmed_options *opt, bool own,
		    uid_t uid, char *why, size_t why_len)
{
	struct tipmed_door *door = &doors->door[doors->count];
	struct sockaddr_un addr;

	*door = (struct tipmed_door){ .fd = -1, .own = own, .uid = uid };
	int err = address_of(door, opt->rundir, &addr);

	if (err) {
		snprintf(why, why_len, "%s: its socket cannot be made there: the path is too long",
			 opt->rundir);
		return err;
	}
	doors->count++;
	err = door_open(door, addr.sun_path, &addr);
	if (err)
		snprintf(why, why_len, "%s: the socket cannot be made: %s", addr.sun_path,
			 strerror(-err));
	return err;
}

static bool has_door(const struct tipmed_doors *doors, uid_t uid)
{
	for (unsigned int i = 0; i < doors->count; i++)
		if (doors->door[i].uid == uid)
			return true;
	return false;
}

int tipmed_doors_open(struct tipmed_doors *doors, const struct tipmed_options *opt, char *why,
		      size_t why_len)
{
	doors->count = 0;
	int err = door_add(doors, opt, true, opt->owner, why, why_len);

	for (unsigned int i = 0; i < opt->allow_count && !err; i++)
		if (opt->allow[i] && !has_door(doors, opt->allow[i]))
			err = door_add(doors, opt, false, opt->allow[i], why, why_len);
	return err;
}

bool tipmed_door_affords(const struct tipmed_door *door, uint64_t now_ns)
{
	return door->own || door->paid_ns < now_ns + (TIPMED_DOOR_BURST - 1) * COST_NS;
}

void tipmed_door_pay(struct tipmed_door *door, uint64_t now_ns)
{
	door->paid_ns = (door->paid_ns > now_ns ? door->paid_ns : now_ns) + COST_NS;
}

/* 1: it is ours, 0: it is not, or is not there, -1: that cannot be told. */
static int door_ours(const struct tipmed_door *door, const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	return st.st_dev == door->dev && st.st_ino == door->ino;
}

bool tipmed_doors_gone(const struct tipmed_doors *doors, const struct tipmed_options *opt)
{
	struct sockaddr_un addr;

	return !address_of(&doors->door[0], opt->rundir, &addr) &&
	       door_ours(&doors->door[0], addr.sun_path) == 0;
}

void tipmed_doors_unlink(const struct tipmed_doors *doors, const struct tipmed_options *opt)
{
	struct sockaddr_un addr;

	for (unsigned int i = 0; i < doors->count; i++)
		if (!address_of(&doors->door[i], opt->rundir, &addr) &&
		    door_ours(&doors->door[i], addr.sun_path) == 1)
			unlink(addr.sun_path);
}

void tipmed_doors_close(struct tipmed_doors *doors)
{
	for (unsigned int i = 0; i < doors->count; i++)
		close(doors->door[i].fd);
	doors->count = 0;
}
