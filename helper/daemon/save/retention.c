// SPDX-License-Identifier: GPL-2.0-only
/* What goes from the library to make room. */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "episode.h"
#include "retention.h"

#define MANIFEST_MAX (4 << 20)

struct kept {
	char id[24];
	bool pinned, automatic;
	uint64_t bytes;
	time_t saved;
	int measured_ms;
};

struct shelf {
	struct kept *kept;
	size_t count, room;
	uint64_t bytes;
};

/* Blocks, not lengths: what a disk is full of. */
static uint64_t folder_bytes(int fd, int depth)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	uint64_t sum = 0;
	struct stat st;

	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		sum += (uint64_t)st.st_blocks * 512;
		if (!S_ISDIR(st.st_mode) || !depth)
			continue;
		int below = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		sum += below < 0 ? 0 : folder_bytes(below, depth - 1);
		if (below >= 0)
			close(below);
	}
	if (dir)
		closedir(dir);
	else if (own >= 0)
		close(own);
	return sum;
}

static char *manifest_read(int fd)
{
	int file = openat(fd, "manifest.json", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	char *text = NULL;

	if (file >= 0 && !fstat(file, &st) && S_ISREG(st.st_mode) && st.st_size < MANIFEST_MAX && (text = calloc(1, (size_t)st.st_size + 1)) &&
	    read(file, text, (size_t)st.st_size) != st.st_size)
		text[0] = '\0';
	if (file >= 0)
		close(file);
	return text;
}

static void trigger_read(int fd, struct kept *k)
{
	char *text = manifest_read(fd);
	struct json_object *top = text ? json_tokener_parse(text) : NULL, *trigger, *value;

	if (json_object_object_get_ex(top, "trigger", &trigger)) {
		k->automatic = json_object_object_get_ex(trigger, "kind", &value) && json_object_is_type(value, json_type_string) &&
			       !strcmp(json_object_get_string(value), "auto");
		k->measured_ms = json_object_object_get_ex(trigger, "measured_ms", &value) ? json_object_get_int(value) : 0;
	}
	json_object_put(top);
	free(text);
}

static void shelf_add(struct shelf *s, int library_fd, const char *id)
{
	struct kept k = { 0 };
	struct stat st;
	int fd = openat(library_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	if (s->count == s->room) {
		struct kept *more = realloc(s->kept, (s->room + 64) * sizeof(*more));

		if (!more) {
			close(fd);
			return;
		}
		s->kept = more;
		s->room += 64;
	}
	snprintf(k.id, sizeof(k.id), "%s", id);
	k.pinned = !fstatat(fd, "pinned", &st, AT_SYMLINK_NOFOLLOW);
	k.saved = fstatat(fd, "manifest.json", &st, AT_SYMLINK_NOFOLLOW) ? 0 : st.st_mtime;
	k.bytes = folder_bytes(fd, 1);
	trigger_read(fd, &k);
	close(fd);
	s->bytes += k.bytes;
	s->kept[s->count++] = k;
}

/* Ids begin with their time: their order is that of age. A clock that was set back makes an episode seem old; it is spared only as the newest. */
static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct kept *)a)->id, ((const struct kept *)b)->id);
}

static void shelf_read(struct shelf *s, int library_fd)
{
	int fd = openat(library_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	for (struct dirent *e; dir && (e = readdir(dir));)
		if (tipmed_episode_is_id(e->d_name, strlen(e->d_name)))
			shelf_add(s, library_fd, e->d_name);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	if (s->count)
		qsort(s->kept, s->count, sizeof(*s->kept), by_id);
}

/* Returns whether it went. */
static bool shelf_remove(struct shelf *s, size_t i, int library_fd)
{
	if (tipmed_episode_remove(library_fd, s->kept[i].id))
		return false;
	s->bytes -= s->kept[i].bytes;
	s->count--;
	memmove(&s->kept[i], &s->kept[i + 1], (s->count - i) * sizeof(*s->kept));
	return true;
}

static bool may_go(const struct kept *k, const char *spare)
{
	return !k->pinned && strcmp(k->id, spare) != 0;
}

/* The mildest of those that a threshold took; none: SIZE_MAX. */
static size_t mildest(const struct shelf *s, const char *spare, unsigned int *automatic)
{
	size_t best = SIZE_MAX;

	*automatic = 0;
	for (size_t i = 0; i < s->count; i++) {
		if (!s->kept[i].automatic || s->kept[i].pinned)
			continue;
		++*automatic;
		if (may_go(&s->kept[i], spare) && (best == SIZE_MAX || s->kept[i].measured_ms < s->kept[best].measured_ms))
			best = i;
	}
	return best;
}

static unsigned int worst_keep(struct shelf *s, int library_fd, const struct tipmed_retention *keep, const char *spare)
{
	unsigned int gone = 0, automatic;
	size_t i = mildest(s, spare, &automatic);

	while (keep->worst && automatic > keep->worst && i != SIZE_MAX && shelf_remove(s, i, library_fd)) {
		gone++;
		i = mildest(s, spare, &automatic);
	}
	return gone;
}

static bool too_much(const struct shelf *s, const struct tipmed_retention *keep, const struct kept *oldest, time_t now)
{
	return (keep->count && s->count > keep->count) || (keep->bytes && s->bytes > keep->bytes) ||
	       (keep->days && oldest->saved && now - oldest->saved > (time_t)keep->days * 86400);
}

unsigned int tipmed_retention_keep(int library_fd, const struct tipmed_retention *keep, const char *spare)
{
	struct shelf s = { 0 };
	time_t now = time(NULL);

	if (!keep->count && !keep->bytes && !keep->days && !keep->worst)
		return 0;
	shelf_read(&s, library_fd);
	unsigned int gone = worst_keep(&s, library_fd, keep, spare);

	for (size_t i = 0; i < s.count && too_much(&s, keep, &s.kept[i], now);) {
		if (may_go(&s.kept[i], spare) && shelf_remove(&s, i, library_fd))
			gone++;
		else
			i++;
	}
	free(s.kept);
	return gone;
}
