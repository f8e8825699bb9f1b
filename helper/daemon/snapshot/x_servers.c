// SPDX-License-Identifier: GPL-2.0-only
/* The X servers that share a ring with us. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "text.h"
#include "x_servers.h"

static void server_free(struct tipmed_x_server *s)
{
	if (s->copy.buf)
		munmap(s->copy.buf, s->copy.cap);
	if (s->used && s->reader_fd >= 0)
		close(s->reader_fd);
	tipme_x_ring_close(&s->ring);
	*s = (struct tipmed_x_server){ 0 };
}

/* The place of this very memory. */
static int find_ring(const struct tipmed_x_servers *servers, const struct tipmed_x_server *new)
{
	for (int i = 0; i < TIPMED_X_SERVERS_MAX; i++) {
		const struct tipmed_x_server *s = &servers->server[i];

		if (s->used && s->pid == new->pid && s->dev == new->dev && s->ino == new->ino)
			return i;
	}
	return -1;
}

/*
 * Where a further ring of a process goes: in the place of one that it has given up, or that it has
 * too many of; -1: in a place of its own. The process may be another by now, with the same number.
 */
static int find_older(const struct tipmed_x_servers *servers, const struct tipmed_x_server *new)
{
	int rings = 0, last = -1;

	for (int i = 0; i < TIPMED_X_SERVERS_MAX; i++) {
		if (!servers->server[i].used || servers->server[i].pid != new->pid ||
		    servers->server[i].uid != new->uid)
			continue;
		if (!servers->server[i].connected)
			return i;
		rings++;
		last = i;
	}
	return rings < TIPMED_X_RINGS_PER_PROCESS ? -1 : last;
}

bool tipmed_x_servers_is_further(const struct tipmed_x_servers *servers, int index)
{
	for (int i = 0; i < index; i++)
		if (servers->server[i].used && servers->server[i].pid == servers->server[index].pid)
			return true;
	return false;
}

/* What the server's user holds who offers it, or all users of his kind. */
static int friends_rings(const struct tipmed_x_servers *servers, const struct tipmed_x_server *new,
			 bool all)
{
	int n = 0;

	for (int i = 0; i < TIPMED_X_SERVERS_MAX; i++) {
		const struct tipmed_x_server *s = &servers->server[i];

		n += s->used && s->of_friend && (all || s->uid == new->uid);
	}
	return n;
}

/*
 * Whether a ring whose server is gone may make room for a new one: a permitted user's for any, but
 * if he has enough only his own; the owner's for the owner's.
 */
static bool may_replace(const struct tipmed_x_server *s, const struct tipmed_x_server *new,
			bool enough)
{
	return !new->of_friend || (s->of_friend && (!enough || s->uid == new->uid));
}

/* A free place, or that of the server that has been gone for longest. */
static int find_place(const struct tipmed_x_servers *servers, const struct tipmed_x_server *new,
		      bool busy)
{
	bool enough = friends_rings(servers, new, false) >= TIPMED_X_RINGS_FRIEND,
	     full = friends_rings(servers, new, true) >= TIPMED_X_RINGS_FRIENDS;
	int best = -1;

	enough = enough && new->of_friend;
	full = enough || (full && new->of_friend);
	for (int i = 0; i < TIPMED_X_SERVERS_MAX; i++) {
		const struct tipmed_x_server *s = &servers->server[i];

		if (!s->used && !full)
			return i;
		if (s->used && !s->connected && !busy && may_replace(s, new, enough) &&
		    (best < 0 || s->gone_ns < servers->server[best].gone_ns))
			best = i;
	}
	return best;
}

static size_t copies_bytes(const struct tipmed_x_servers *servers, bool of_friends)
{
	size_t sum = 0;

	for (int i = 0; i < TIPMED_X_SERVERS_MAX; i++)
		sum += !of_friends || servers->server[i].of_friend ? servers->server[i].copy.cap
								   : 0;
	return sum;
}

/* Whoever gets it can read the ring and nothing else. */
static int open_for_reading(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* The buffer of the copy is made now, so that the trigger needs no memory. */
static int server_open(struct tipmed_x_server *s, const struct tipmed_x_servers *servers, int fd,
		       const char **why)
{
	int err = tipme_x_ring_open(fd, &s->ring, why);

	if (err)
		return err;
	s->copy.cap = tipme_x_ring_copy_bytes(&s->ring);
	*why = "the rings of all X servers together are too large: take a smaller RingKB";
	if (copies_bytes(servers, false) + s->copy.cap > TIPMED_X_COPY_BYTES_MAX ||
	    (s->of_friend &&
	     copies_bytes(servers, true) + s->copy.cap > TIPMED_X_COPY_BYTES_FRIENDS))
		return -ENOMEM;
	*why = "no memory for a copy of the ring";
	void *buf = mmap(NULL, s->copy.cap, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (buf == MAP_FAILED)
		return -errno;
	s->copy.buf = buf;
	s->copy.quiet = &servers->quiet;
	s->reader_fd = open_for_reading(fd);
	return 0;
}

pid_t tipmed_x_server_pid(const struct tipmed_x_server *s)
{
	return s->ring.observed_pid > 0 ? s->ring.observed_pid : s->pid;
}

/* What the server itself tells is exact: an observer beside it would only cost. */
static bool has_hooks(const struct tipmed_x_servers *servers, pid_t pid)
{
	for (int i = 0; i < TIPMED_X_SERVERS_MAX; i++) {
		const struct tipmed_x_server *s = &servers->server[i];

		if (s->used && s->connected && s->pid == pid &&
		    s->ring.source == TIPME_SOURCE_X_HOOKS)
			return true;
	}
	return false;
}

static int check_observer(const struct tipmed_x_server *new, const struct tipmed_x_servers *servers,
			  const char **why)
{
	if (new->ring.source != TIPME_SOURCE_X_CLIENT)
		return 0;
	*why = "the observer does not say which X server it observes";
	if (new->ring.observed_pid <= 0 || new->ring.observed_pid == new->pid)
		return -EINVAL;
	*why = "this X server has hooks: it needs no observer";
	return has_hooks(servers, new->ring.observed_pid) ? -EEXIST : 0;
}

static int server_new(struct tipmed_x_servers *servers, struct tipmed_x_server new, int fd,
		      int place, const char **why)
{
	int err = server_open(&new, servers, fd, why);

	if (!err)
		err = check_observer(&new, servers, why);
	if (err) {
		server_free(&new);
		return err;
	}
	server_free(&servers->server[place]);
	servers->server[place] = new;
	return place;
}

static void server_name(struct tipmed_x_server *s, const struct tipme_incoming *in)
{
	tipme_text_clean(s->name, sizeof(s->name), in->text, in->text_len);
	for (char *c = s->name; *c; c++)
		if (*c == '\n')
			*c = '?';
	s->display = in->arg;
}

int tipmed_x_servers_add(struct tipmed_x_servers *servers, const struct tipme_incoming *in,
			 const struct tipmed_x_writer *writer, int fd, bool busy, const char **why)
{
	struct tipmed_x_server new = { .used = true,
				       .connected = true,
				       .reader_fd = -1,
				       .pid = writer->pid,
				       .uid = writer->uid,
				       .of_friend = writer->of_friend };
	struct stat st;
	int place;

	*why = "the server's process id is not visible here, or no memory came with the message";
	if (new.pid <= 0 || fd < 0)
		return -EINVAL;
	/*
	 * Asked first: of a file that somebody serves, even its size may take as long as he likes.
	 */
	*why = "the ring is no memfd";
	if (fcntl(fd, F_GET_SEALS) < 0 || fstat(fd, &st))
		return -EBADF;
	new.dev = st.st_dev;
	new.ino = st.st_ino;
	server_name(&new, in);
	place = find_ring(servers, &new);
	if (place >= 0) {
		servers->server[place].connected = true;
		server_name(&servers->server[place], in);
		return place;
	}
	place = find_older(servers, &new);
	*why = "an episode is being saved that needs the older ring of this process: offer it again in a second";
	if (place >= 0 && busy)
		return -EAGAIN;
	if (place < 0)
		place = find_place(servers, &new, busy);
	*why = new.of_friend
		       ? "this user, or all who are neither root nor the owner, share as many rings as they may"
		       : "16 X servers or threads of them share their rings already";
	return place < 0 ? -EMFILE : server_new(servers, new, fd, place, why);
}

void tipmed_x_servers_gone(struct tipmed_x_servers *servers, int index, uint64_t now_ns)
{
	servers->server[index].connected = false;
	servers->server[index].gone_ns = now_ns;
}

void tipmed_x_servers_expire(struct tipmed_x_servers *servers, uint64_t now_ns)
{
	for (int i = 0; i < TIPMED_X_SERVERS_MAX; i++) {
		struct tipmed_x_server *s = &servers->server[i];

		if (s->used && !s->connected && now_ns - s->gone_ns > servers->keep_ns)
			server_free(s);
	}
}

static bool file_taken(const struct tipmed_x_servers *servers, const char *file)
{
	for (int i = 0; i < servers->parts; i++)
		if (!strcmp(servers->part[i].file, file))
			return true;
	return false;
}

/*
 * The second ring of a process is that of another thread; what it says of itself is believed as far
 * as the name is new.
 */
static void part_file(const struct tipmed_x_servers *servers, struct tipmed_x_part *part)
{
	snprintf(part->file, sizeof(part->file), "x-%d.rec", (int)part->pid);
	if (file_taken(servers, part->file))
		snprintf(part->file, sizeof(part->file), "x-%d-%u.rec", (int)part->pid,
			 part->copy->server_tid);
	for (int n = 0; file_taken(servers, part->file); n++)
		snprintf(part->file, sizeof(part->file), "x-%d-%u-%d.rec", (int)part->pid,
			 part->copy->server_tid, n);
}

void tipmed_x_servers_copy(struct tipmed_x_servers *servers)
{
	servers->parts = 0;
	for (int i = 0; i < TIPMED_X_SERVERS_MAX; i++) {
		struct tipmed_x_server *s = &servers->server[i];
		struct tipmed_x_part *part = &servers->part[servers->parts];

		if (!s->used)
			continue;
		*part = (struct tipmed_x_part){ .pid = s->pid,
						.server_pid = tipmed_x_server_pid(s),
						.source = s->ring.source,
						.display = s->display,
						.server = s,
						.copy = &s->copy };
		memcpy(part->name, s->name, sizeof(part->name));
		tipme_x_ring_copy(&s->ring, &s->copy, tipme_clock_ns());
		part_file(servers, part);
		servers->parts++;
	}
}

/* A server that came after the trigger has no part in this episode. */
void tipmed_x_servers_copy_more(struct tipmed_x_servers *servers)
{
	for (int i = 0; i < servers->parts; i++)
		tipme_x_ring_copy_more(&servers->part[i].server->ring, servers->part[i].copy,
				       tipme_clock_ns());
}

void tipmed_x_servers_free(struct tipmed_x_servers *servers)
{
	for (int i = 0; i < TIPMED_X_SERVERS_MAX; i++)
		if (servers->server[i].used)
			server_free(&servers->server[i]);
}
