/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A libwayland-server, made ready to be watched: opened, trusted or not, calibrated by a process
 * without rights, and probed by events of the kernel. The file that was looked at is the file that
 * is probed, whatever happens to its path meanwhile.
 */
#ifndef TIPMED_WAYLAND_LIBRARY_H
#define TIPMED_WAYLAND_LIBRARY_H

#include "kernel_source.h"

/* A few milliseconds; in an emulated machine, or where nobody gives it a CPU, seconds. */
#define TIPMED_WAYLAND_PATIENCE_S 10

/*
 * Only files that root owns and nobody else can write, on a file system whose owners the kernel
 * believes (no nosuid). Returns 0 or -errno, and then a sentence in lib->why: -ENOENT, there is no
 * such file, which is no news; -EPERM, it is not trusted; as tipmed_calibrate(); -EACCES, the
 * kernel lets us set no probes; -ETIMEDOUT, nobody has given it a CPU. The caller closes
 * lib->probe[].fd. Takes milliseconds, at most TIPMED_WAYLAND_PATIENCE_S.
 */
int tipmed_wayland_library_open(const char *path, struct tipme_wayland_library *lib);

#endif
