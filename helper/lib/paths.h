/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the daemon's socket and the library of episodes are. */
#ifndef TIPME_PATHS_H
#define TIPME_PATHS_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

#define TIPME_RUNDIR_DEFAULT "/run/tipme"
#define TIPME_SOCKET_NAME "tipmed.sock"
#define TIPME_SOCKET_NAME_OF "tipmed-%u.sock"

/* The system user that tipmed becomes; sysusers.d makes it. */
#define TIPME_SYSTEM_USER "tipmed"

/*
 * The folder of the socket to connect to: TIPME_RUNDIR if that is set, else the machine's. For an
 * ordinary user whom no recorder of the machine listens to: tipme in XDG_RUNTIME_DIR, else
 * .local/state/tipme at home. A socket that a killed recorder left behind counts as none; the
 * machine's recorder of another user counts where the user has none of their own. It tries to
 * connect, and never waits. The text is valid until the next call.
 */
const char *tipme_rundir(void);

/*
 * The folder for a recorder to be started: the same, but beside another user's recorder of the
 * machine it is the own one.
 */
const char *tipme_rundir_to_start(void);

/*
 * The library of `uid`: TIPME_LIBRARY if that is set, else below /var/lib/tipme; else, for an
 * ordinary user who has none there, at home. Returns 0 or -ENAMETOOLONG.
 */
int tipme_library(uid_t uid, char *buf, size_t cap);

/*
 * Fills in the address of the socket in `rundir`. Returns 0, or -ENAMETOOLONG: socket paths hold
 * about 100 bytes.
 */
int tipme_socket_address(const char *rundir, struct sockaddr_un *addr);

/* The same for the socket that is for `uid` alone, who is neither root nor the owner. */
int tipme_socket_address_of(const char *rundir, uid_t uid, struct sockaddr_un *addr);

#endif
