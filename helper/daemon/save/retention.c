// SPDX-License-Identifier: GPL-2.0-only
/* What goes from the library to make room. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "boots.h"
#include "clock.h"
#include "episode.h"
#include "retention.h"

#define MANIFEST_MAX (4 << 20)

/* Of what the owner keeps, so much of what others ask for. */
#define FRIENDS_SHARE 4

/*
 * A folder's time changes when a file in it is made, renamed or removed: while these are equal, the
 * episode is as it was.
 */
struct look {
	ino_t inode;
	struct timespec folder, cache;
};

struct tipmed_kept {
	char id[24];
	bool pinned, automatic;
	bool of_friend; /* somebody asked for it who is neither root nor the owner: */
	uint32_t by;
	uint64_t bytes;
	time_t saved;
	int measured_ms;
	char boot_id[TIPMED_BOOT_ID_CHARS + 1];
	unsigned int boot; /* 0: before all that the library knows */
	uint64_t ns; /* of the trigger, in that boot */
	struct look look;
};

/* Blocks, not lengths: what a disk is full of. */
static uint64_t folder_bytes(int fd, int depth)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	uint64_t sum = 0;
	struct stat st;

	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		sum += (uint64_t)st.st_blocks * 512;
		if (!S_ISDIR(st.st_mode) || !depth)
			continue;
		int below = openat(dirfd(dir), e->d_name,
				   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

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

	if (file >= 0 && !fstat(file, &st) && S_ISREG(st.st_mode) && st.st_size < MANIFEST_MAX &&
	    (text = calloc(1, (size_t)st.st_size + 1)) &&
	    read(file, text, (size_t)st.st_size) != st.st_size)
		text[0] = '\0';
	if (file >= 0)
		close(file);
	return text;
}

static void trigger_read(int fd, struct tipmed_kept *k)
{
	char *text = manifest_read(fd);
	struct json_object *top = text ? json_tokener_parse(text) : NULL, *trigger, *value;

	if (json_object_object_get_ex(top, "trigger", &trigger)) {
		k->automatic = json_object_object_get_ex(trigger, "kind", &value) &&
			       json_object_is_type(value, json_type_string) &&
			       !strcmp(json_object_get_string(value), "auto");
		k->measured_ms = json_object_object_get_ex(trigger, "measured_ms", &value)
					 ? json_object_get_int(value)
					 : 0;
		k->ns = json_object_object_get_ex(trigger, "ns", &value)
				? json_object_get_uint64(value)
				: 0;
		k->of_friend = json_object_object_get_ex(trigger, "by", &value);
		k->by = k->of_friend ? (uint32_t)json_object_get_int64(value) : 0;
	}
	if (json_object_object_get_ex(top, "boot_id", &value) &&
	    json_object_is_type(value, json_type_string))
		snprintf(k->boot_id, sizeof(k->boot_id), "%s", json_object_get_string(value));
	json_object_put(top);
	free(text);
}

/* Returns false if there is no such folder, or a link in its place. */
static bool look_at(int library_fd, const char *id, struct look *look)
{
	char cache[40];
	struct stat st;

	if (fstatat(library_fd, id, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode))
		return false;
	*look = (struct look){ .inode = st.st_ino, .folder = st.st_mtim };
	snprintf(cache, sizeof(cache), "%s/cache", id);
	if (!fstatat(library_fd, cache, &st, AT_SYMLINK_NOFOLLOW))
		look->cache = st.st_mtim;
	return true;
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same_look(const struct look *a, const struct look *b)
{
	return a->inode == b->inode && same_time(a->folder, b->folder) &&
	       same_time(a->cache, b->cache);
}

/* Returns 0, or -errno if the episode cannot be opened. */
static int kept_read(struct tipmed_kept *k, int library_fd)
{
	struct stat st;
	int fd = openat(library_fd, k->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	k->pinned = !fstatat(fd, "pinned", &st, AT_SYMLINK_NOFOLLOW);
	k->saved = fstatat(fd, "manifest.json", &st, AT_SYMLINK_NOFOLLOW) ? 0 : st.st_mtime;
	k->bytes = folder_bytes(fd, 1);
	trigger_read(fd, k);
	close(fd);
	return 0;
}

static void shelf_count(struct tipmed_shelf *s, const struct tipmed_kept *k, int more)
{
	*(k->of_friend ? &s->friends : &s->own) += (unsigned int)more;
	*(k->of_friend ? &s->friends_bytes : &s->bytes) += more > 0 ? k->bytes : -k->bytes;
}

static int shelf_push(struct tipmed_shelf *s, const struct tipmed_kept *k)
{
	if (s->count == s->room) {
		struct tipmed_kept *more = realloc(s->kept, (s->room + 64) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->kept = more;
		s->room += 64;
	}
	shelf_count(s, k, 1);
	s->kept[s->count++] = *k;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct tipmed_kept *)a)->id, ((const struct tipmed_kept *)b)->id);
}

/*
 * By boot, and in a boot by its own clock: no clock that was wrong makes an episode older than it
 * is. Some boots the library does not know: episodes of an older version, or that were copied here.
 * Of these nothing is known but the ids, which begin with the time of day.
 */
static int by_age(const void *a, const void *b)
{
	const struct tipmed_kept *x = a, *y = b;

	if (x->boot != y->boot)
		return x->boot < y->boot ? -1 : 1;
	if (x->boot && x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return by_id(a, b);
}

static void shelf_sort(struct tipmed_shelf *s, int (*by)(const void *a, const void *b))
{
	if (s->count)
		qsort(s->kept, s->count, sizeof(*s->kept), by);
}

/* Looked at first, read after it: a change in between is seen the next time. */
static void shelf_add(struct tipmed_shelf *s, const struct tipmed_shelf *old, int library_fd,
		      const char *id)
{
	struct tipmed_kept k = { 0 };

	snprintf(k.id, sizeof(k.id), "%s", id);
	if (!look_at(library_fd, id, &k.look))
		return;
	const struct tipmed_kept *before =
		old->count ? bsearch(&k, old->kept, old->count, sizeof(k), by_id) : NULL;

	if (before && same_look(&before->look, &k.look))
		shelf_push(s, before);
	else if (!kept_read(&k, library_fd))
		shelf_push(s, &k);
}

/* The list of boots may have become longer. */
static void shelf_date(struct tipmed_shelf *s, int library_fd)
{
	struct tipmed_boots *boots = malloc(sizeof(*boots));

	if (!boots)
		return;
	tipmed_boots_read(boots, library_fd);
	for (size_t i = 0; i < s->count; i++)
		s->kept[i].boot = tipmed_boots_find(boots, s->kept[i].boot_id);
	s->boot = boots->count;
	free(boots);
}

void tipmed_shelf_read(struct tipmed_shelf *s, int library_fd)
{
	struct tipmed_shelf old = *s;
	int fd = openat(library_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	*s = (struct tipmed_shelf){ 0 };
	shelf_sort(&old, by_id);
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (tipmed_episode_is_id(e->d_name, strlen(e->d_name)))
			shelf_add(s, &old, library_fd, e->d_name);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	tipmed_shelf_free(&old);
	shelf_date(s, library_fd);
	shelf_sort(s, by_age);
}

void tipmed_shelf_free(struct tipmed_shelf *s)
{
	free(s->kept);
	*s = (struct tipmed_shelf){ 0 };
}

bool tipmed_retention_limits(const struct tipmed_retention *keep)
{
	return keep->count || keep->bytes || keep->days || keep->worst;
}

/*
 * Whoever pinned it in the very tick of the clock in which we looked has not changed the folder's
 * time.
 */
static bool pinned_now(struct tipmed_kept *k, int library_fd)
{
	char path[40];
	struct stat st;

	snprintf(path, sizeof(path), "%s/pinned", k->id);
	k->pinned = !fstatat(library_fd, path, &st, AT_SYMLINK_NOFOLLOW);
	return k->pinned;
}

/* Returns whether it went. */
static bool shelf_remove(struct tipmed_shelf *s, size_t i, int library_fd)
{
	if (pinned_now(&s->kept[i], library_fd))
		return false;
	if (tipmed_episode_remove(library_fd, s->kept[i].id))
		return false;
	shelf_count(s, &s->kept[i], -1);
	s->count--;
	memmove(&s->kept[i], &s->kept[i + 1], (s->count - i) * sizeof(*s->kept));
	return true;
}

static bool may_go(const struct tipmed_kept *k, const char *spare)
{
	return !k->pinned && strcmp(k->id, spare) != 0;
}

/* The mildest of those that a threshold took; none: SIZE_MAX. */
static size_t mildest(const struct tipmed_shelf *s, const char *spare, unsigned int *automatic)
{
	size_t best = SIZE_MAX;

	*automatic = 0;
	for (size_t i = 0; i < s->count; i++) {
		if (!s->kept[i].automatic || s->kept[i].pinned)
			continue;
		++*automatic;
		if (may_go(&s->kept[i], spare) &&
		    (best == SIZE_MAX || s->kept[i].measured_ms < s->kept[best].measured_ms))
			best = i;
	}
	return best;
}

static unsigned int worst_keep(struct tipmed_shelf *s, int library_fd,
			       const struct tipmed_retention *keep, const char *spare)
{
	unsigned int gone = 0, automatic;
	size_t i = mildest(s, spare, &automatic);

	while (keep->worst && automatic > keep->worst && i != SIZE_MAX &&
	       shelf_remove(s, i, library_fd)) {
		gone++;
		i = mildest(s, spare, &automatic);
	}
	return gone;
}

/* A quarter of a limit; none stays none, and the least is one. */
static uint64_t share(uint64_t limit)
{
	return limit > FRIENDS_SHARE ? limit / FRIENDS_SHARE : limit > 0;
}

static bool friends_too_much(const struct tipmed_shelf *s, const struct tipmed_retention *keep)
{
	return (keep->count && s->friends > share(keep->count)) ||
	       (keep->bytes && s->friends_bytes > share(keep->bytes));
}

/* How many have been kept for this user. */
static unsigned int count_by(const struct tipmed_shelf *s, uint32_t by)
{
	unsigned int n = 0;

	for (size_t i = 0; i < s->count; i++)
		n += s->kept[i].of_friend && s->kept[i].by == by;
	return n;
}

/* The oldest that may go of the user who has the most; none: SIZE_MAX. */
static size_t friends_oldest(const struct tipmed_shelf *s, const char *spare)
{
	unsigned int most = 0;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < s->count; i++) {
		unsigned int n = s->kept[i].of_friend && may_go(&s->kept[i], spare)
					 ? count_by(s, s->kept[i].by)
					 : 0;

		if (n > most) {
			most = n;
			best = i;
		}
	}
	return best;
}

/*
 * What permitted users have asked for lies on a shelf of its own, so that none of it makes anything
 * of the owner's go.
 */
static unsigned int friends_keep(struct tipmed_shelf *s, int library_fd,
				 const struct tipmed_retention *keep, const char *spare)
{
	unsigned int gone = 0;

	while (friends_too_much(s, keep)) {
		size_t i = friends_oldest(s, spare);

		if (i == SIZE_MAX || !shelf_remove(s, i, library_fd))
			break;
		gone++;
	}
	return gone;
}

/*
 * In seconds. The clock may have been set; in this boot an episode is no older than the time since,
 * with all that the machine slept.
 */
static time_t age_of(const struct tipmed_shelf *s, const struct tipmed_kept *k, time_t now)
{
	time_t age = k->saved ? now - k->saved : 0;
	uint64_t since_boot_ns = tipme_clock_of_ns(CLOCK_BOOTTIME);
	time_t most =
		since_boot_ns > k->ns ? (time_t)((since_boot_ns - k->ns) / TIPME_NS_PER_S) : 0;

	return k->boot && k->boot == s->boot && age > most ? most : age;
}

static bool too_much(const struct tipmed_shelf *s, const struct tipmed_retention *keep,
		     const struct tipmed_kept *oldest, time_t now)
{
	bool own = !oldest->of_friend && ((keep->count && s->own > keep->count) ||
					  (keep->bytes && s->bytes > keep->bytes));

	return own || (keep->days && age_of(s, oldest, now) > (time_t)keep->days * 86400);
}

unsigned int tipmed_retention_keep(struct tipmed_shelf *s, int library_fd,
				   const struct tipmed_retention *keep, const char *spare)
{
	time_t now = time(NULL);

	tipmed_boots_note(library_fd);
	if (!tipmed_retention_limits(keep))
		return 0;
	tipmed_shelf_read(s, library_fd);
	unsigned int gone =
		worst_keep(s, library_fd, keep, spare) + friends_keep(s, library_fd, keep, spare);

	for (size_t i = 0; i < s->count;) {
		if (too_much(s, keep, &s->kept[i], now) && may_go(&s->kept[i], spare) &&
		    shelf_remove(s, i, library_fd))
			gone++;
		else
			i++;
	}
	return gone;
}
