/* SPDX-License-Identifier: GPL-2.0-only */
/* The folder of the owner's episodes, and the folder of the socket. */
#ifndef TIPMED_LIBRARY_H
#define TIPMED_LIBRARY_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Makes the folder and those above it, if need be, and opens it. Returns a descriptor, or -errno
 * and a sentence.
 */
int tipmed_library_open(const char *path, uid_t owner, gid_t group, char *why, size_t why_len);

/*
 * To be called before something is saved: where the name leads to another folder by now (something
 * was mounted there, or it was moved and made anew), *fd becomes that one; where it leads nowhere
 * the folder is made, if whoever calls may. Returns 0, or -errno and a sentence; then *fd stays.
 */
int tipmed_library_follow(const char *path, uid_t owner, int *fd, char *why, size_t why_len);

/*
 * As the first, for the socket's folder, locked: one recorder each. Keep the descriptor as long as
 * you live. A folder that is made here stays root's, but `group` (-1: none) may take the socket
 * away again.
 */
int tipmed_rundir_open(const char *path, gid_t group, char *why, size_t why_len);

#endif
