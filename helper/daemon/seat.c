// SPDX-License-Identifier: GPL-2.0-only
/* Who sits at the screen, and how the service manager hears of us. */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "seat.h"

/* As logind writes it; without logind there is no such file, and nobody is known to sit there. */
#define SEAT_FILE "/run/systemd/seats/seat0"
#define SESSIONS "/run/systemd/sessions"

/* Below are the system's own users, among them those of login screens. */
#define USERS_FROM 1000U
#define NOBODY 65534U

/* Puts what follows NAME= in one of logind's files into value. */
static bool logind_read(const char *path, const char *name, char *value, size_t len)
{
	FILE *file = fopen(path, "re");
	size_t n = strlen(name);
	char line[256];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		found = !strncmp(line, name, n) && line[n] == '=';
		if (found)
			snprintf(value, len, "%.*s", (int)strcspn(line + n + 1, "\n"), line + n + 1);
	}
	if (file)
		fclose(file);
	return found;
}

static bool seat_read(const char *name, char *value, size_t len)
{
	return logind_read(SEAT_FILE, name, value, len);
}

bool tipmed_seat_user(uid_t *uid)
{
	char text[32];
	unsigned int value;

	if (!seat_read("ACTIVE_UID", text, sizeof(text)) || sscanf(text, "%u", &value) != 1 || (value && value < USERS_FROM) || value == NOBODY)
		return false;
	*uid = value;
	return true;
}

static bool session_of(const char *session, uid_t uid)
{
	char path[256], text[32];
	unsigned int value;

	if (strchr(session, '/') || snprintf(path, sizeof(path), SESSIONS "/%s", session) >= (int)sizeof(path))
		return false;
	return logind_read(path, "UID", text, sizeof(text)) && sscanf(text, "%u", &value) == 1 && value == uid;
}

/*
 * One of those who are logged in at the seat, shown or not. By their sessions: when the last session ends, logind does not write the seat's
 * file anew, so that its UIDS names who has gone.
 */
static bool seat_has(uid_t uid)
{
	char text[256], *at = NULL;

	if (!seat_read("SESSIONS", text, sizeof(text)))
		return false;
	for (char *word = strtok_r(text, " ", &at); word; word = strtok_r(NULL, " ", &at))
		if (session_of(word, uid))
			return true;
	return false;
}

bool tipmed_seat_left(uid_t owner)
{
	char text[32];
	uid_t now;

	if (tipmed_seat_user(&now))
		return now != owner;
	/* A text console that asks who logs in: nobody has come, and whose session waits behind it comes back, or presses the hot-key there. */
	return seat_read("ACTIVE_UID", text, sizeof(text)) || !seat_has(owner);
}

void tipmed_service_tell(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;

	if (!len || len >= sizeof(addr.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(addr.sun_path, path, len);
	if (*path == '@')
		addr.sun_path[0] = '\0';
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	/* Without it we run as well; the service manager then says what it misses. */
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&addr, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		perror("tipme: start: the service manager");
	close(fd);
}
