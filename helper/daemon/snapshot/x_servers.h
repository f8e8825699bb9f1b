/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The X servers that share a ring with us. Only the trigger thread touches them; the writer reads
 * copies that are handed to it.
 */
#ifndef TIPMED_X_SERVERS_H
#define TIPMED_X_SERVERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "message.h"
#include "xring_reader.h"

/* Rings: a server has one for each of its threads that writes. */
#define TIPMED_X_SERVERS_MAX 16
/* In the list of rings: that of Wayland records. */
#define TIPMED_WAYLAND_PLACE TIPMED_X_SERVERS_MAX
#define TIPMED_X_RINGS_PER_PROCESS 4

/*
 * What one user may hold of these who is neither root nor the owner: as many as one server has; and
 * all such users together: so that the servers of root and the owner get in.
 */
#define TIPMED_X_RINGS_FRIEND 4
#define TIPMED_X_RINGS_FRIENDS 8

/* All copies together; a ring that would need more is refused. */
#define TIPMED_X_COPY_BYTES_MAX (128UL << 20)
#define TIPMED_X_COPY_BYTES_FRIENDS (64UL << 20)

/* Who writes a ring. */
struct tipmed_x_writer {
	pid_t pid; /* as the kernel told it */
	uid_t uid;
	bool of_friend; /* neither root nor the owner */
};

struct tipmed_x_server {
	bool used;
	bool connected;
	pid_t pid; /* of the writer, not the server */
	uid_t uid; /* its user */
	bool of_friend;
	unsigned int display;
	char name[32];
	dev_t dev;
	ino_t ino;
	uint64_t gone_ns;
	/*
	 * the ring's memory, open for reading alone, for others; -1: its writer lets nobody open it
	 */
	int reader_fd;
	struct tipme_x_ring ring;
	struct tipme_x_copy copy;
};

/* What a snapshot has of one server. The writer reads it while servers come and go. */
struct tipmed_x_part {
	pid_t pid;
	pid_t server_pid; /* the same, but where the writer is an observer of a server */
	uint32_t source;
	unsigned int display;
	char name[32];
	/* in the episode: x-<pid>.rec; a further ring of that process x-<pid>-<tid>.rec */
	char file[40];
	const struct tipmed_x_server *server; /* only for the trigger thread */
	struct tipme_x_copy *copy;
};

struct tipmed_x_servers {
	struct tipmed_x_server server[TIPMED_X_SERVERS_MAX];
	struct tipmed_x_part part[TIPMED_X_SERVERS_MAX];
	int parts;
	struct tipme_x_quiet quiet;
	uint64_t keep_ns; /* how long the ring of a server that is gone is kept */
};

/*
 * Takes the ring that `writer` offers by `fd` (the caller's). Returns the index, or -errno and a
 * reason. A server that connects again with the same memory goes on where it was. While `busy`,
 * nothing that a snapshot may be using is given up.
 */
int tipmed_x_servers_add(struct tipmed_x_servers *servers, const struct tipme_incoming *in,
			 const struct tipmed_x_writer *writer, int fd, bool busy, const char **why);

/* The server that a ring is about: its writer, or the one that an observer names. */
pid_t tipmed_x_server_pid(const struct tipmed_x_server *s);

/* Whether an older ring of the same process is known: one X server, not two. */
bool tipmed_x_servers_is_further(const struct tipmed_x_servers *servers, int index);

/* The connection is closed; a server that crashed can still be read for a while. */
void tipmed_x_servers_gone(struct tipmed_x_servers *servers, int index, uint64_t now_ns);

/* Gives up rings whose time is over. Not while a snapshot is under way. */
void tipmed_x_servers_expire(struct tipmed_x_servers *servers, uint64_t now_ns);

void tipmed_x_servers_copy(struct tipmed_x_servers *servers);
void tipmed_x_servers_copy_more(struct tipmed_x_servers *servers);
void tipmed_x_servers_free(struct tipmed_x_servers *servers);

#endif
