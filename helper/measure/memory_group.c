// SPDX-License-Identifier: GPL-2.0-only
/* Finds the memory controller, version 2 or 1, and makes a group in it. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory_group.h"
#include "small_file.h"

/* What differs between the versions. */
struct hierarchy {
	const char *limit_file;
	char mount[256]; /* its root, as we see it */
	char own[256]; /* our group, below it */
};

static int write_file(const char *folder, const char *name, const char *text)
{
	char path[800];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "we");
	if (!f)
		return -errno;
	int bad = fputs(text, f) < 0;

	return fclose(f) || bad ? -errno : 0;
}

static uint64_t read_number(const char *folder, const char *name)
{
	char path[800];
	int64_t n;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	tipme_file_number(path, &n);
	return (uint64_t)n;
}

static int has_word(const char *list, const char *word, const char *separators)
{
	char copy[1024], *rest = copy, *w;

	snprintf(copy, sizeof(copy), "%s", list);
	while ((w = strsep(&rest, separators)))
		if (!strcmp(w, word))
			return 1;
	return 0;
}

static int v2_has_memory(const char *mount)
{
	char path[300], line[1024];

	snprintf(path, sizeof(path), "%s/cgroup.controllers", mount);
	tipme_file_line(path, line, sizeof(line));
	return has_word(line, "memory", " ");
}

static int find_mount(struct hierarchy *h)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent mount;
	char text[4096];

	h->limit_file = NULL;
	while (f && !h->limit_file && getmntent_r(f, &mount, text, sizeof(text))) {
		if (!strcmp(mount.mnt_type, "cgroup2") && v2_has_memory(mount.mnt_dir))
			h->limit_file = "memory.max";
		else if (!strcmp(mount.mnt_type, "cgroup") && hasmntopt(&mount, "memory"))
			h->limit_file = "memory.limit_in_bytes";
		else
			continue;
		snprintf(h->mount, sizeof(h->mount), "%s", mount.mnt_dir);
	}
	if (f)
		endmntent(f);
	return h->limit_file ? 0 : -ENOENT;
}

/* Lines are NUMBER:CONTROLLERS:PATH; version 2 has no controllers. */
static void find_own(struct hierarchy *h)
{
	int v2 = !strcmp(h->limit_file, "memory.max");
	char line[1024];
	FILE *f = fopen("/proc/self/cgroup", "re");

	strcpy(h->own, "/");
	while (f && fgets(line, sizeof(line), f)) {
		char *rest = line;

		strsep(&rest, ":");
		char *controllers = strsep(&rest, ":");

		if (!rest || (v2 ? controllers[0] != 0 : !has_word(controllers, "memory", ",")))
			continue;
		rest[strcspn(rest, "\n")] = 0;
		snprintf(h->own, sizeof(h->own), "%s", rest);
	}
	if (f)
		fclose(f);
}

static int hierarchy_find(struct hierarchy *h)
{
	int err = find_mount(h);

	if (!err)
		find_own(h);
	return err;
}

static int move_to(const char *folder)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	return write_file(folder, "cgroup.procs", pid);
}

int tipme_memory_group_enter(struct tipme_memory_group *group, uint64_t limit_bytes, char *why,
			     size_t why_len)
{
	struct hierarchy h;
	char text[32];
	int err;

	*group = (struct tipme_memory_group){ 0 };
	if (hierarchy_find(&h)) {
		snprintf(
			why, why_len,
			"no memory controller of cgroups is mounted here: leave out --limit-mib, or mount one");
		return -ENOENT;
	}
	snprintf(group->parent, sizeof(group->parent), "%s%s", h.mount, h.own);
	snprintf(group->path, sizeof(group->path), "%s/tipme-bench-%d", h.mount, (int)getpid());
	snprintf(text, sizeof(text), "%" PRIu64, limit_bytes);
	err = mkdir(group->path, 0755) ? -errno : 0;
	if (err) {
		snprintf(why, why_len, "%s: a memory cgroup cannot be made: %s: run as root",
			 group->path, strerror(-err));
		group->path[0] = 0;
		return err;
	}
	err = write_file(group->path, h.limit_file, text);
	err = err ? err : move_to(group->path);
	if (err) {
		snprintf(why, why_len,
			 "%s/%s: %s: is the memory controller handed down to groups here?",
			 group->path, h.limit_file, strerror(-err));
		rmdir(group->path);
		group->path[0] = 0;
	}
	return err;
}

void tipme_memory_group_leave(struct tipme_memory_group *group)
{
	if (!group->path[0])
		return;
	if (move_to(group->parent))
		fprintf(stderr, "tipme: bench: %s: cannot go back there: %s stays\n", group->parent,
			group->path);
	/* Children that have just ended may be counted for a moment. */
	for (int i = 0; rmdir(group->path) && errno == EBUSY && i < 50; i++)
		usleep(20000);
	group->path[0] = 0;
}

static uint64_t meminfo(const char *key)
{
	char line[128];
	uint64_t kib = 0;
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)) &&
		    sscanf(line + strlen(key), ": %" SCNu64, &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib * 1024;
}

uint64_t tipme_swap_free(void)
{
	return meminfo("SwapFree");
}

uint64_t tipme_memory_available(void)
{
	uint64_t least = meminfo("MemTotal");
	struct hierarchy h;
	char folder[600], *slash;

	if (hierarchy_find(&h))
		return least;
	snprintf(folder, sizeof(folder), "%s%s", h.mount, h.own);
	/* From our own group up to the root: each may hold us back. */
	while (strlen(folder) > strlen(h.mount)) {
		uint64_t limit = read_number(folder, h.limit_file);

		if (limit && limit < least)
			least = limit;
		slash = strrchr(folder, '/');
		*slash = 0;
	}
	return least;
}
