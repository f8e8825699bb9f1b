// SPDX-License-Identifier: GPL-2.0-only
/* The folder of the owner's episodes, and the folder of the socket. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "library.h"
#include "paths.h"

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

int tipmed_library_open(const char *path, uid_t owner, gid_t group, char *why, size_t why_len)
{
	bool made;
	struct stat st;
	int fd = folder_open(path, 0700, &made);

	if (fd < 0)
		return refuse(fd, fd, why, why_len, path, strerror(-fd));
	/* By descriptor: a folder above it may belong to somebody who would like us to give away another file. */
	if (made && fchown(fd, owner, group)) {
		int err = -errno;

		return refuse(fd, err, why, why_len, path, strerror(-err));
	}
	if (fstat(fd, &st))
		return refuse(fd, -EIO, why, why_len, path, "cannot be looked at");
	if (st.st_uid != owner)
		return refuse(fd, -EPERM, why, why_len, path, "the library belongs to somebody else: name its owner with --owner, or another folder with --library");
	if (st.st_mode & 077)
		return refuse(fd, -EPERM, why, why_len, path, "others may read the library, and episodes are private: chmod 700 it");
	return fd;
}

#define MODE_OF_GROUP 0775

/*
 * The folder stays root's, which is what those trust who offer their rings; but whom root becomes can take the socket away at the end. Where that is not to be
 * had, a socket is left that nobody listens on; clients know what that means. The next start, which has the lock, takes it back.
 */
static void folder_of_group(int fd, gid_t group)
{
	if (group != (gid_t)-1 && !fchown(fd, (uid_t)-1, group))
		fchmod(fd, MODE_OF_GROUP);
}

int tipmed_rundir_open(const char *path, gid_t group, char *why, size_t why_len)
{
	bool made;
	int fd = folder_open(path, 0755, &made);

	if (fd < 0)
		return refuse(fd, fd, why, why_len, path, fd == -EACCES ? "may not be made: run it with sudo" : strerror(-fd));
	struct stat st;

	/* In a folder of somebody else, or open to all, anybody could put another socket in place of ours; but see folder_of_group(). */
	if (fstat(fd, &st) || (st.st_uid != geteuid() && st.st_uid) || ((st.st_mode & 022) && (st.st_mode & 07777) != MODE_OF_GROUP))
		return refuse(fd, -EPERM, why, why_len, path, "the folder of the socket is not ours alone: name another with --rundir");
	if (flock(fd, LOCK_EX | LOCK_NB))
		return refuse(fd, -EEXIST, why, why_len, "a recorder runs already", "see tipme status, or end it with tipme stop");
	if ((st.st_mode & 020) && fchmod(fd, 0755))
		return refuse(fd, -EPERM, why, why_len, path, "a group may write into the folder of the socket: name another with --rundir");
	if (made || !strcmp(path, TIPME_RUNDIR_DEFAULT) || (st.st_mode & 020))
		folder_of_group(fd, group);
	return fd;
}
