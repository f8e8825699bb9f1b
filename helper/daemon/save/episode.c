// SPDX-License-Identifier: GPL-2.0-only
/* The folder of an episode: written beside, synced, renamed; never half. */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "episode.h"

#define NOTE_TMP ".note.txt.tmp"
#define TMP_PATTERN ".[0-9]*-[0-9]*-*.tmp"

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int write_at(int fd, const void *data, size_t len, uint64_t at)
{
	ssize_t n = pwrite(fd, data, len, (off_t)at);

	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EIO;
}

static int sync_and_close(int fd, int err)
{
	if (!err && fsync(fd))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

int tipmed_episode_begin(struct tipmed_episode *episode, int library_fd, const char *id)
{
	*episode = (struct tipmed_episode){ .library_fd = library_fd, .dir_fd = -1 };
	snprintf(episode->id, sizeof(episode->id), "%s", id);
	snprintf(episode->tmp, sizeof(episode->tmp), ".%s.tmp", id);
	if (mkdirat(library_fd, episode->tmp, 0700))
		return -errno;
	episode->dir_fd =
		openat(library_fd, episode->tmp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return episode->dir_fd < 0 ? -errno : 0;
}

static int file_create(struct tipmed_episode *episode, const char *name)
{
	int fd = openat(episode->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);

	return fd < 0 ? -errno : fd;
}

int tipmed_episode_text(struct tipmed_episode *episode, const char *name, const char *text,
			size_t len)
{
	int fd = file_create(episode, name);

	return fd < 0 ? fd : sync_and_close(fd, write_all(fd, text, len));
}

/*
 * The folder before its name, the name before the answer: after `saved` no loss of power takes the
 * episode away.
 */
int tipmed_episode_commit(struct tipmed_episode *episode)
{
	if (fsync(episode->dir_fd))
		return -errno;
	if (renameat2(episode->library_fd, episode->tmp, episode->library_fd, episode->id,
		      RENAME_NOREPLACE))
		return -errno;
	close(episode->dir_fd);
	episode->dir_fd = -1;
	return fsync(episode->library_fd) ? -errno : 0;
}

bool tipmed_episode_is_id(const char *id, size_t len)
{
	static const char form[] = "dddddddd-dddddd-xxxx";

	if (len != sizeof(form) - 1)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)id[i];

		if (form[i] == '-'   ? c != '-'
		    : form[i] == 'd' ? !isdigit(c)
				     : !isxdigit(c) || isupper(c))
			return false;
	}
	return true;
}

int tipmed_episode_note(int library_fd, const char *id, const char *words)
{
	struct tipmed_episode episode = { .library_fd = library_fd };

	episode.dir_fd = openat(library_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (episode.dir_fd < 0)
		return -errno;
	/* Left by a crash, if it is there. */
	unlinkat(episode.dir_fd, NOTE_TMP, 0);
	int err = *words ? tipmed_episode_text(&episode, NOTE_TMP, words, strlen(words)) : 0;

	/* Words that are taken back leave nothing. */
	if (!*words && unlinkat(episode.dir_fd, "note.txt", 0) && errno != ENOENT)
		err = -errno;
	if (*words && !err && renameat(episode.dir_fd, NOTE_TMP, episode.dir_fd, "note.txt"))
		err = -errno;
	if (!err && fsync(episode.dir_fd))
		err = -errno;
	if (err)
		unlinkat(episode.dir_fd, NOTE_TMP, 0);
	close(episode.dir_fd);
	return err;
}

/* Folders of episodes have files, and a folder of caches that has files. */
static void folder_remove(int library_fd, const char *name, int depth)
{
	int fd = openat(library_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (unlinkat(dirfd(dir), e->d_name, 0) && errno == EISDIR && depth)
			folder_remove(dirfd(dir), e->d_name, depth - 1);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	unlinkat(library_fd, name, AT_REMOVEDIR);
}

void tipmed_episode_abandon(struct tipmed_episode *episode)
{
	if (episode->dir_fd < 0)
		return;
	close(episode->dir_fd);
	episode->dir_fd = -1;
	folder_remove(episode->library_fd, episode->tmp, 1);
}

int tipmed_episode_remove(int library_fd, const char *id)
{
	char tmp[32];

	snprintf(tmp, sizeof(tmp), ".%.23s.tmp", id);
	if (renameat(library_fd, id, library_fd, tmp))
		return -errno;
	folder_remove(library_fd, tmp, 1);
	return 0;
}

void tipmed_episodes_sweep(int library_fd)
{
	int fd = openat(library_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(dir));)
		if (!fnmatch(TMP_PATTERN, e->d_name, FNM_PERIOD))
			folder_remove(library_fd, e->d_name, 1);
	closedir(dir);
}

int tipmed_record_file_begin(struct tipmed_episode *episode, struct tipmed_record_file *file,
			     const char *name, const struct tipme_file_header *head)
{
	int fd = file_create(episode, name);

	file->fd = fd;
	file->error = fd < 0 ? fd : 0;
	file->body_len = file->filled = 0;
	file->head = *head;
	/* The length is not known yet: zero, so that a file cut here reads as cut. */
	file->head.body_len = 0;
	if (!file->error)
		file->error = write_all(fd, (const char *)&file->head, sizeof(file->head));
	return file->error;
}

static void flush(struct tipmed_record_file *file)
{
	if (!file->error)
		file->error = write_all(file->fd, file->buf, file->filled);
	file->filled = 0;
}

void tipmed_record_file_add(struct tipmed_record_file *file, const void *data, size_t len)
{
	file->body_len += len;
	if (len > sizeof(file->buf) - file->filled)
		flush(file);
	if (len > sizeof(file->buf)) {
		if (!file->error)
			file->error = write_all(file->fd, data, len);
		return;
	}
	memcpy(file->buf + file->filled, data, len);
	file->filled += len;
}

void tipmed_record_file_patch(struct tipmed_record_file *file, uint64_t at, const void *data,
			      size_t len)
{
	flush(file);
	if (!file->error)
		file->error = write_at(file->fd, data, len, sizeof(file->head) + at);
}

int tipmed_record_file_end(struct tipmed_record_file *file)
{
	if (file->fd < 0)
		return file->error;
	flush(file);
	file->head.body_len = file->body_len;
	if (!file->error)
		file->error = write_at(file->fd, &file->head, sizeof(file->head), 0);
	return sync_and_close(file->fd, file->error);
}
