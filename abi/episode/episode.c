// SPDX-License-Identifier: GPL-2.0-only
/* An episode as an object: opened once, read as far as it goes. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "episode/private.h"

static int open_folder(struct tipme_episode *ep, const char *dir)
{
	size_t len = strlen(dir);

	while (len > 1 && dir[len - 1] == '/')
		len--;
	ep->dir = strndup(dir, len);
	if (!ep->dir)
		return -ENOMEM;
	ep->dir_fd = open(ep->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ep->dir_fd < 0 && errno == ENOTDIR)
		return tipme_refuse(
			ep, -EPROTO,
			"%s: not an episode (not a folder): `tipme list` shows the episodes",
			ep->dir);
	if (ep->dir_fd < 0)
		return tipme_refuse(ep, -errno, "%s: %s: `tipme list` shows the episodes", ep->dir,
				    strerror(errno));
	if (faccessat(ep->dir_fd, "manifest.json", F_OK, AT_SYMLINK_NOFOLLOW))
		return tipme_refuse(
			ep, -EPROTO,
			"%s: not an episode (no manifest.json): `tipme list` shows the episodes",
			ep->dir);
	return 0;
}

int tipme_episode_open(struct tipme_episode **to, const char *dir, char *why, size_t size)
{
	struct tipme_episode *ep = calloc(1, sizeof(*ep));

	if (!ep)
		return -ENOMEM;
	if (size)
		why[0] = 0;
	ep->dir_fd = -1;
	ep->why = why;
	ep->why_size = size;
	int err = open_folder(ep, dir);

	if (!err)
		err = tipme_manifest_read(ep);
	if (!err)
		err = tipme_files_open(ep);
	if (err && size && !why[0])
		snprintf(why, size, "%s: %s", dir, strerror(-err));
	ep->why = NULL;
	if (err) {
		tipme_episode_close(ep);
		return err;
	}
	*to = ep;
	return 0;
}

void tipme_episode_close(struct tipme_episode *ep)
{
	if (!ep)
		return;
	for (uint32_t i = 0; i < ep->file_count; i++)
		close(ep->files[i].fd);
	if (ep->dir_fd >= 0)
		close(ep->dir_fd);
	for (size_t i = 0; i < ep->damage_count; i++)
		free(ep->damage[i]);
	free(ep->damage);
	free(ep->sections);
	free((void *)ep->facts.sources);
	free((void *)ep->facts.coverage);
	free((void *)ep->facts.suspends);
	free((void *)ep->facts.agents);
	free(ep->dir);
	free(ep);
}

const struct tipme_episode_facts *tipme_episode_facts(const struct tipme_episode *ep)
{
	return &ep->facts;
}

static bool is_kernel(const struct tipme_coverage *coverage)
{
	return coverage->records && coverage->source >= TIPME_SOURCE_KERNEL_BPF &&
	       coverage->source <= TIPME_SOURCE_PROC_SAMPLED;
}

static bool is_display(const struct tipme_coverage *coverage)
{
	return coverage->records && !is_kernel(coverage) && coverage->source != TIPME_SOURCE_TIPMED;
}

struct tipme_episode_span tipme_episode_span(const struct tipme_episode *ep, uint64_t about_ns)
{
	const struct tipme_episode_facts *facts = &ep->facts;
	struct tipme_episode_span span = { .records_ns = facts->trigger_ns,
					   .to_ns = facts->end_ns > facts->trigger_ns
							    ? facts->end_ns
							    : facts->trigger_ns };
	bool kernel = false;

	for (size_t i = 0; i < facts->coverage_count; i++)
		kernel |= is_kernel(&facts->coverage[i]);
	for (size_t i = 0; i < facts->coverage_count; i++) {
		const struct tipme_coverage *c = &facts->coverage[i];

		if ((kernel ? is_kernel(c) : is_display(c)) && c->first_ns < span.records_ns)
			span.records_ns = c->first_ns;
	}
	span.from_ns = about_ns && about_ns < span.records_ns ? about_ns : span.records_ns;
	return span;
}

const struct tipme_episode_section *tipme_episode_sections(const struct tipme_episode *ep,
							   size_t *count)
{
	*count = ep->section_count;
	return ep->sections;
}

const char *tipme_episode_file(const struct tipme_episode *ep, uint32_t file)
{
	return file < ep->file_count ? ep->files[file].name : NULL;
}

size_t tipme_episode_damage_count(const struct tipme_episode *ep)
{
	return ep->damage_count;
}

const char *tipme_episode_damage(const struct tipme_episode *ep, size_t i)
{
	return i < ep->damage_count ? ep->damage[i] : NULL;
}

uint64_t tipme_episode_unknown(const struct tipme_episode *ep)
{
	return ep->unknown;
}

int tipme_episode_note(const struct tipme_episode *ep, char *to, size_t size)
{
	struct stat st;
	int fd = openat(ep->dir_fd, "note.txt", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (!size)
		return -EINVAL;
	to[0] = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	bool plain =
		!fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= TIPME_NOTE_MOST;
	ssize_t got = plain ? tipme_read_at(fd, (uint8_t *)to, size - 1, 0) : -EPROTO;

	close(fd);
	if (got >= 0)
		to[got] = 0;
	return (int)got;
}
