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

/* Below are the system's own users, among them those of login screens. */
#define USERS_FROM 1000U
#define NOBODY 65534U

bool tipmed_seat_user(uid_t *uid)
{
	FILE *file = fopen(SEAT_FILE, "re");
	char line[256];
	unsigned int value;
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "ACTIVE_UID=%u", &value) == 1;
	if (file)
		fclose(file);
	if (!found || (value && value < USERS_FROM) || value == NOBODY)
		return false;
	*uid = value;
	return true;
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
