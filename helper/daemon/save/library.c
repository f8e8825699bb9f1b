// SPDX-License-Identifier: GPL-2.0-only
/* The folder of the owner's episodes, and the folder of the socket. */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "library.h"
#include "message.h"
#include "paths.h"
#include "small_file.h"

/* How long the folder's lock is waited for where nobody answers, and how often it is looked at. */
#define ENDING_MS 15000
#define ENDING_STEP_MS 50

/* Makes the folders above `path`. */
static int parents_make(const char *path)
{
	char part[PATH_MAX];

	if (strlen(path) >= sizeof(part))
		return -ENAMETOOLONG;
	strcpy(part, path);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0755) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

/* Returns a descriptor; *made tells whether the folder is new. The umask has no say in its mode. */
static int folder_open(const char *path, mode_t mode, bool *made)
{
	int err = parents_make(path);

	if (err)
		return err;
	*made = !mkdir(path, mode);
	if (!*made && errno != EEXIST)
		return -errno;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (*made && fchmod(fd, mode)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int refuse(int fd, int err, char *why, size_t why_len, const char *path, const char *text)
{
	if (fd >= 0)
		close(fd);
	snprintf(why, why_len, "%s: %s", path, text);
	return err;
}

/* A link is no folder for us: whoever may change it could lead us anywhere. */
static int refuse_folder(int err, char *why, size_t why_len, const char *path)
{
	struct stat st;

	if (err == -ENOTDIR && !lstat(path, &st) && S_ISLNK(st.st_mode))
		return refuse(
			-1, err, why, why_len, path,
			"is a symbolic link, which is not followed: name the folder that it leads to");
	if (err == -ENOTDIR)
		return refuse(-1, err, why, why_len, path,
			      "is no folder, or lies below a file: name another");
	if (err == -EACCES || err == -EPERM || err == -EROFS)
		return refuse(-1, err, why, why_len, path,
			      "may not be written: name another folder, or run it with sudo");
	return refuse(-1, err, why, why_len, path, strerror(-err));
}

static const char *library_unfit(int fd, uid_t owner)
{
	struct stat st;

	if (fstat(fd, &st))
		return "cannot be looked at";
	if (st.st_uid != owner)
		return "the library belongs to somebody else: name its owner with --owner, or another folder with --library";
	if (st.st_mode & 077)
		return "others may read the library, and episodes are private: chmod 700 it";
	return NULL;
}

int tipmed_library_open(const char *path, uid_t owner, gid_t group, char *why, size_t why_len)
{
	bool made = false;
	int fd = folder_open(path, 0700, &made);

	if (fd < 0)
		return refuse_folder(fd, why, why_len, path);
	/*
	 * By descriptor: a folder above it may belong to somebody who would like us to give away
	 * another file.
	 */
	if (made && fchown(fd, owner, group)) {
		int err = -errno;

		return refuse(fd, err, why, why_len, path, strerror(-err));
	}
	const char *unfit = library_unfit(fd, owner);

	return unfit ? refuse(fd, -EPERM, why, why_len, path, unfit) : fd;
}

/*
 * Whether the name leads to what we have open. Where it cannot be told, as it is for who may not go
 * there by name, what is open counts.
 */
static int library_leads_there(const char *path, int fd)
{
	struct stat held, named;

	if (lstat(path, &named))
		return errno == ENOENT || errno == ENOTDIR ? -errno : 1;
	return fstat(fd, &held) || (held.st_dev == named.st_dev && held.st_ino == named.st_ino);
}

int tipmed_library_follow(const char *path, uid_t owner, int *fd, char *why, size_t why_len)
{
	int there = library_leads_there(path, *fd);

	if (there > 0)
		return 0;
	if (there < 0 && mkdir(path, 0700))
		return refuse(
			-1, there, why, why_len, path,
			"the library is no longer there: recording goes on; make it again (mkdir -m 700), then ask again");
	int new = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (new < 0)
		return refuse_folder(-errno, why, why_len, path);
	const char *unfit = library_unfit(new, owner);

	if (unfit)
		return refuse(new, -EPERM, why, why_len, path, unfit);
	close(*fd);
	*fd = new;
	return 0;
}

#define MODE_OF_GROUP 0775

/*
 * The folder stays root's, which is what those trust who offer their rings; but whom root becomes
 * can take the socket away at the end. Where that is not to be had, a socket is left that nobody
 * listens on; clients know what that means. The next start, which has the lock, takes it back.
 */
static void folder_of_group(int fd, gid_t group)
{
	if (group != (gid_t)-1 && !fchown(fd, (uid_t)-1, group))
		fchmod(fd, MODE_OF_GROUP);
}

/*
 * Whether a recorder is there that could answer: who has died keeps his socket as long as one of
 * his threads is on the way out.
 */
static bool is_served(const char *rundir)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	char path[64], stat[512], state = 'X';
	int fd = tipme_message_connect(rundir);

	if (fd < 0)
		return fd == -EACCES;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		peer.pid = 0;
	close(fd);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)peer.pid);
	if (tipme_file_line(path, stat, sizeof(stat)) &&
	    sscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	return state != 'Z' && state != 'X';
}

/*
 * The kernel gives back what a killed recorder held with its last thread, which has tracing
 * programs to let go of: that may take a second, and more.
 */
static int lock_take(int fd, const char *rundir)
{
	for (int ms = 0; flock(fd, LOCK_EX | LOCK_NB); ms += ENDING_STEP_MS) {
		if (errno != EWOULDBLOCK || ms >= ENDING_MS || is_served(rundir))
			return -EEXIST;
		usleep(ENDING_STEP_MS * 1000);
	}
	return 0;
}

int tipmed_rundir_open(const char *path, gid_t group, char *why, size_t why_len)
{
	bool made = false;
	int fd = folder_open(path, 0755, &made);

	if (fd < 0)
		return fd == -EACCES ? refuse(fd, fd, why, why_len, path,
					      "may not be made: run it with sudo")
				     : refuse_folder(fd, why, why_len, path);
	struct stat st;

	/*
	 * In a folder of somebody else, or open to all, anybody could put another socket in place
	 * of ours; but see folder_of_group().
	 */
	if (fstat(fd, &st) || (st.st_uid != geteuid() && st.st_uid) ||
	    ((st.st_mode & 022) && (st.st_mode & 07777) != MODE_OF_GROUP))
		return refuse(
			fd, -EPERM, why, why_len, path,
			"the folder of the socket is not ours alone: name another with --rundir");
	if (lock_take(fd, path))
		return refuse(fd, -EEXIST, why, why_len, "a recorder runs already",
			      "see tipme status, or end it with tipme stop");
	if ((st.st_mode & 020) && fchmod(fd, 0755))
		return refuse(
			fd, -EPERM, why, why_len, path,
			"a group may write into the folder of the socket: name another with --rundir");
	if (made || !strcmp(path, TIPME_RUNDIR_DEFAULT) || (st.st_mode & 020))
		folder_of_group(fd, group);
	return fd;
}
