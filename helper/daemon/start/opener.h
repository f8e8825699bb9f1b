/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Some events take CAP_SYS_ADMIN, which the recorder gives up when all is open: those of a CPU,
 * where perf_event_paranoid is above 2, as on Debian; probes in programs, since Linux 6.16. A
 * process of its own keeps it, and does nothing else: it opens events of the two kinds that classes
 * have, for a CPU that it is told, or makes a library of Wayland compositors ready (see
 * wayland_library.h), and passes the events on.
 */
#ifndef TIPMED_OPENER_H
#define TIPMED_OPENER_H

#include "kernel_source.h"
#include "privileges.h"

/*
 * Starts it, as `user`, if we have the capability; before there are threads. It ends with us.
 * Returns 0 (also where there is none), or -errno.
 */
int tipmed_opener_start(const struct tipmed_user *user);

/* The same without asking whether it is needed. Returns its pid, or -errno. */
pid_t tipmed_opener_fork(const struct tipmed_user *user);

/*
 * An event of a class (TIPME_CLASS_SAMPLE or TIPME_CLASS_MEMORY) on a CPU: its descriptor, or
 * -errno; -EACCES: there is no opener. Any thread.
 */
int tipmed_opener_open(unsigned int which, int cpu);

/*
 * As tipmed_wayland_library_open(), by the opener where there is one, else by ourselves. The house
 * thread, or before there are others.
 */
int tipmed_opener_wayland(const char *path, struct tipme_wayland_library *lib);

#endif
