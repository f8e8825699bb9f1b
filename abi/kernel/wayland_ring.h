/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring of Wayland records: how large tracing programs make it, and readers map it. */
#ifndef TIPME_WAYLAND_RING_H
#define TIPME_WAYLAND_RING_H

/* Of its slots: some seconds of 1,000 motions each. */
#define TIPME_WAYLAND_RING_LOG2 13

#endif
