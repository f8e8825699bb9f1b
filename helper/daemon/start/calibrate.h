/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where in a build of libwayland-server the functions lie through which all events and requests go.
 * They are not exported, and distributions ship no symbols. So a process loads the library, sends
 * itself a few messages over a socket pair and looks who called (.eh_frame is always there). What
 * it finds it then tries, by breakpoints in its own copy: a place is taken only if it shows
 * resource, opcode and arguments of messages that are known. What cannot be shown is refused.
 */
#ifndef TIPMED_CALIBRATE_H
#define TIPMED_CALIBRATE_H

#include <stddef.h>
#include <stdint.h>

#define TIPMED_WAYLAND_PROBES 3

/*
 * A function's arguments by number: 0 is the first. A compiler that sees the whole library may have
 * left some out.
 */
struct tipmed_wayland_probe {
	uint64_t offset; /* in the file; 0: none */
	/*
	 * which argument is the resource, which its opcode, which leads to the message's arguments
	 */
	uint8_t object, opcode, args;
	/* 1: the kernel emulates the instruction there; else it is a second trap */
	uint8_t emulated;
	uint16_t args_at; /* from there on */
};

struct tipmed_wayland_place {
	struct tipmed_wayland_probe event; /* is called for each event, however it is sent */
	/* for each request; the second, of dispatchers, may be missing */
	struct tipmed_wayland_probe request[2];
	uint16_t client_at; /* in a resource: its client */
	uint16_t pid_at; /* in a client: process, user and group that connected it */
};

/*
 * Runs in a process of its own, which it leaves unfit for anything else: loads the library that is
 * open as `fd`; `memory` is /proc/self/mem, open for writing. Returns 0, or -errno and a sentence
 * without the library's name: -ENOEXEC, it cannot be loaded; -EBADMSG, it is not as we know it;
 * -ENOTSUP, this processor is not known.
 */
int tipmed_calibrate(int fd, int memory, struct tipmed_wayland_place *place, char *why,
		     size_t why_len);

#endif
