/* SPDX-License-Identifier: GPL-2.0-only */
/* Who sits at the screen, and how the service manager hears of us. */
#ifndef TIPMED_SEAT_H
#define TIPMED_SEAT_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * How tipmed ends when somebody else sits at the screen now; the service manager then starts it
 * anew.
 */
#define TIPMED_EXIT_SEAT 75

/* The user who is active at the first seat; false: nobody is, or only a login screen. */
bool tipmed_seat_user(uid_t *uid);

/*
 * Whoever was active has logged out, or gives way to another. A text console on which nobody is
 * logged in is no other.
 */
bool tipmed_seat_left(uid_t owner);

/* Tells the service manager, if one has started us: see sd_notify(3). */
void tipmed_service_tell(const char *state);

#endif
