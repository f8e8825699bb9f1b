/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which system calls the kernel takes from us, however we were started: a list of those that are
 * needed, and no others.
 */
#ifndef TIPMED_FILTER_H
#define TIPMED_FILTER_H

/*
 * For this process, all its threads, and what it forks, for ever. Takes PR_SET_NO_NEW_PRIVS, which
 * it sets. What is not on the list fails with ENOSYS: a C library of a later version then takes the
 * older call. Returns 0; -ENOSYS: built without libseccomp; -EOPNOTSUPP: the kernel cannot, or the
 * filter of whoever started us forbids seccomp(2); or another -errno.
 */

/*
 * When all is open and the privileges are dropped: no program is called, no module loaded, nothing
 * mounted, traced, or sent over a network.
 */
int tipmed_filter_recorder(void);

/*
 * For who parses strangers' files: reads what it opens, writes to what it has, takes memory that is
 * not executed.
 */
int tipmed_filter_reader(void);

/*
 * For who loads a library and looks how it calls itself: as above, but code of files may be mapped.
 * A pair of sockets is the only connection.
 */
int tipmed_filter_calibrator(void);

#endif
