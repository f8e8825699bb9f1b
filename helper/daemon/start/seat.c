// SPDX-License-Identifier: GPL-2.0-only
/* Who sits at the screen, and how the service manager hears of us. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-login.h>

#include "seat.h"

/*
 * The seat of the machine's own screen; without logind there is none, and nobody is known to sit
 * there.
 */
#define SEAT "seat0"

/* Below are the system's own users, among them those of login screens. */
#define USERS_FROM 1000U
#define NOBODY 65534U

bool tipmed_seat_user(uid_t *uid)
{
	uid_t value;

	if (sd_seat_get_active(SEAT, NULL, &value) < 0 || (value && value < USERS_FROM) ||
	    value == NOBODY)
		return false;
	*uid = value;
	return true;
}

/*
 * One of those who are logged in at the seat, shown or not. By their sessions: when the last
 * session ends, what logind says of the seat's users is not said anew, so that it names who has
 * gone.
 */
static bool seat_has(uid_t uid)
{
	char **sessions = NULL;
	int n = sd_seat_get_sessions(SEAT, &sessions, NULL, NULL);
	bool found = false;

	for (int i = 0; i < n; i++) {
		uid_t of;

		found = found || (!sd_session_get_uid(sessions[i], &of) && of == uid);
		free(sessions[i]);
	}
	free(sessions);
	return found;
}

bool tipmed_seat_left(uid_t owner)
{
	uid_t now;

	if (tipmed_seat_user(&now))
		return now != owner;
	/*
	 * A text console that asks who logs in: nobody has come, and whose session waits behind it
	 * comes back, or presses the hot-key there.
	 */
	return !sd_seat_get_active(SEAT, NULL, &now) || !seat_has(owner);
}

void tipmed_service_tell(const char *state)
{
	int err = sd_notify(0, state);

	/* Without it we run as well; the service manager then says what it misses. */
	if (err < 0)
		fprintf(stderr, "tipme: start: the service manager: %s\n", strerror(-err));
}
