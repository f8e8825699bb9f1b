// SPDX-License-Identifier: GPL-2.0-only
/* All cgroups by number, and the throttling of those with a CPU quota. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroups.h"
#include "clock.h"
#include "tipme_records.h"

#define CGROUPS_MAX 4096
#define DEPTH_MAX 16
/* A look at all folders may take this part of the time. */
#define SCAN_SHARE 200
#define WEIGHT_USUAL 1000U

struct cgroup {
	uint64_t id;
	char *path; /* below the root of its hierarchy */
	uint32_t quota_us, period_us; /* quota 0: none */
	uint32_t weight; /* WEIGHT_USUAL: what all have at first */
	uint64_t throttled_us; /* up to the last look */
	unsigned int hierarchy;
	unsigned int scan; /* when it was last there */
	bool counted; /* throttled_us is known */
};

struct hierarchy {
	char root[PATH_MAX];
	bool unified;
};

struct tipmed_cgroups {
	pthread_mutex_t lock; /* guards the table: one thread writes, another reads */
	struct cgroup *table;
	unsigned int count, scans;
	struct hierarchy hierarchy[2];
	unsigned int hierarchies;
	uint64_t next_scan_ns;
};

/*
 * The hierarchy of the CPU controller (version 1), and the unified one: each thread is in one group
 * of both.
 */
static void hierarchies_find(struct tipmed_cgroups *c)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	char text[3 * PATH_MAX];
	struct mntent mount;

	while (f && c->hierarchies < 2 && getmntent_r(f, &mount, text, sizeof(text))) {
		bool unified = !strcmp(mount.mnt_type, "cgroup2");

		if (!unified && (strcmp(mount.mnt_type, "cgroup") || !hasmntopt(&mount, "cpu")))
			continue;
		struct hierarchy *h = &c->hierarchy[c->hierarchies++];

		snprintf(h->root, sizeof(h->root), "%s", mount.mnt_dir);
		h->unified = unified;
	}
	if (f)
		endmntent(f);
}

int tipmed_cgroups_new(struct tipmed_cgroups **cgroups)
{
	struct tipmed_cgroups *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->table = calloc(CGROUPS_MAX, sizeof(*c->table));
	if (!c->table) {
		free(c);
		return -ENOMEM;
	}
	pthread_mutex_init(&c->lock, NULL);
	hierarchies_find(c);
	*cgroups = c;
	return 0;
}

void tipmed_cgroups_free(struct tipmed_cgroups *c)
{
	if (!c)
		return;
	for (unsigned int i = 0; i < c->count; i++)
		free(c->table[i].path);
	free(c->table);
	free(c);
}

int tipmed_cgroups_any(const struct tipmed_cgroups *c)
{
	return c->hierarchies > 0;
}

static ssize_t file_read(int dir, const char *name, char *buf, size_t len)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, len - 1);

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n;
}

/* A quota of "max" or -1 is none. */
static void quota_read(int dir, bool unified, uint32_t *quota_us, uint32_t *period_us)
{
	char text[64];
	long quota = 0, period = 0;

	if (unified) {
		file_read(dir, "cpu.max", text, sizeof(text));
		if (sscanf(text, "%ld %ld", &quota, &period) != 2)
			quota = 0;
	} else {
		file_read(dir, "cpu.cfs_quota_us", text, sizeof(text));
		quota = atol(text);
		file_read(dir, "cpu.cfs_period_us", text, sizeof(text));
		period = atol(text);
	}
	*quota_us = quota > 0 && period > 0 ? (uint32_t)quota : 0;
	*period_us = *quota_us ? (uint32_t)period : 0;
}

/*
 * At first 100 (unified) or 1024; 0: it has none, so its threads stand beside those of the group
 * above.
 */
static uint32_t weight_read(int dir, bool unified)
{
	unsigned long first = unified ? 100 : 1024;
	char text[64];
	ssize_t n = file_read(dir, unified ? "cpu.weight" : "cpu.shares", text, sizeof(text));
	unsigned long value = strtoul(text, NULL, 10);

	if (n <= 0 || !value || value > 262144)
		return 0;
	uint32_t weight = (uint32_t)(value * WEIGHT_USUAL / first);

	return weight ? weight : 1;
}

/* In microseconds (unified) or nanoseconds. */
static int throttled_read(int dir, bool unified, uint64_t *us)
{
	const char *key = unified ? "throttled_usec " : "throttled_time ";
	char text[1024];

	file_read(dir, "cpu.stat", text, sizeof(text));
	const char *at = strstr(text, key);

	if (!at)
		return -ENOENT;
	*us = strtoull(at + strlen(key), NULL, 10) / (unified ? 1 : 1000);
	return 0;
}

/* When the table is full, the one that is gone for longest makes room. */
static struct cgroup *place_new(struct tipmed_cgroups *c)
{
	struct cgroup *oldest = NULL;

	if (c->count < CGROUPS_MAX)
		return &c->table[c->count++];
	for (unsigned int i = 0; i < c->count; i++)
		if (c->table[i].scan != c->scans && (!oldest || c->table[i].scan < oldest->scan))
			oldest = &c->table[i];
	if (oldest)
		free(oldest->path);
	return oldest;
}

static struct cgroup *cgroup_find(struct tipmed_cgroups *c, uint64_t id, unsigned int hierarchy)
{
	for (unsigned int i = 0; i < c->count; i++)
		if (c->table[i].id == id && c->table[i].hierarchy == hierarchy)
			return &c->table[i];
	return NULL;
}

static void cgroup_note(struct tipmed_cgroups *c, unsigned int hierarchy, uint64_t id,
			const char *path, int dir)
{
	struct cgroup *g = cgroup_find(c, id, hierarchy);
	uint32_t quota_us, period_us, weight = weight_read(dir, c->hierarchy[hierarchy].unified);

	quota_read(dir, c->hierarchy[hierarchy].unified, &quota_us, &period_us);
	pthread_mutex_lock(&c->lock);
	if (!g && (g = place_new(c))) {
		*g = (struct cgroup){ .id = id, .hierarchy = hierarchy, .path = strdup(path) };
		/* Made since the last look, so all of its throttling is new. */
		g->counted = c->scans > 1;
	}
	if (g) {
		g->scan = c->scans;
		g->quota_us = quota_us;
		g->period_us = period_us;
		g->weight = weight;
	}
	pthread_mutex_unlock(&c->lock);
}

static void scan(struct tipmed_cgroups *c, unsigned int hierarchy, int dir, char *path, size_t len,
		 unsigned int depth)
{
	DIR *d = fdopendir(dir);
	struct dirent *e;
	struct stat st;

	if (!d) {
		close(dir);
		return;
	}
	if (!fstat(dir, &st))
		cgroup_note(c, hierarchy, st.st_ino, len ? path : "/", dir);
	while (depth < DEPTH_MAX && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.' ||
		    len + strlen(e->d_name) + 2 > PATH_MAX)
			continue;
		int sub = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (sub < 0)
			continue;
		int n = snprintf(path + len, PATH_MAX - len, "/%s", e->d_name);

		scan(c, hierarchy, sub, path, len + (size_t)n, depth + 1);
		path[len] = '\0';
	}
	closedir(d);
}

static void scan_all(struct tipmed_cgroups *c, uint64_t now_ns)
{
	char path[PATH_MAX] = "";

	if (now_ns < c->next_scan_ns)
		return;
	c->scans++;
	for (unsigned int i = 0; i < c->hierarchies; i++) {
		int dir = open(c->hierarchy[i].root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		path[0] = '\0';
		if (dir >= 0)
			scan(c, i, dir, path, 0, 0);
	}
	c->next_scan_ns = now_ns + (tipme_clock_ns() - now_ns) * SCAN_SHARE;
}

static void throttled_look(struct tipmed_cgroups *c, struct cgroup *g, uint64_t now_ns,
			   void (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	const struct hierarchy *h = &c->hierarchy[g->hierarchy];
	char path[2 * PATH_MAX];
	uint64_t us = 0, before = g->counted ? g->throttled_us : 0;

	snprintf(path, sizeof(path), "%s%s", h->root, g->path);
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = dir < 0 ? -errno : throttled_read(dir, h->unified, &us);

	if (dir >= 0)
		close(dir);
	if (err)
		return;
	bool more = g->counted && us > before;

	g->throttled_us = us;
	g->counted = true;
	if (!more || !emit)
		return;
	struct tipme_cpu_throttle rec = {
		.ts_ns = now_ns,
		.type = TIPME_CPU_THROTTLE,
		.len8 = sizeof(rec) / 8,
		.cgroup = g->id,
		.throttled_us = us - before < UINT32_MAX ? (uint32_t)(us - before) : UINT32_MAX,
		.cpu = 65535,
		.phase = TIPME_PHASE_SAMPLE,
	};

	emit(arg, &rec, sizeof(rec));
}

void tipmed_cgroups_look(struct tipmed_cgroups *c, uint64_t now_ns,
			 void (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	scan_all(c, now_ns);
	for (unsigned int i = 0; i < c->count; i++)
		if (c->table[i].quota_us && c->table[i].path && c->table[i].scan == c->scans)
			throttled_look(c, &c->table[i], now_ns, emit, arg);
}

static int name_emit(const struct cgroup *g, int (*emit)(void *arg, const void *rec, size_t len),
		     void *arg)
{
	union {
		struct tipme_cgroup_name rec;
		char bytes[2040];
	} u = { .rec = { .type = TIPME_CGROUP_NAME,
			 .cgroup = g->id,
			 .quota_us = g->quota_us,
			 .period_us = g->period_us } };
	size_t fixed = offsetof(struct tipme_cgroup_name, path), room = sizeof(u) - fixed,
	       text = strlen(g->path);
	size_t len = (fixed + (text < room ? text : room - 1) + 1 + 7) / 8 * 8;

	snprintf(u.bytes + fixed, room, "%s", g->path);
	u.rec.len8 = (uint8_t)(len / 8);
	return emit(arg, &u, len);
}

static int weight_emit(const struct cgroup *g, int (*emit)(void *arg, const void *rec, size_t len),
		       void *arg)
{
	struct tipme_cgroup_weight rec = {
		.type = TIPME_CGROUP_WEIGHT,
		.len8 = sizeof(rec) / 8,
		.cgroup = g->id,
		.weight = g->weight,
	};

	/* The root's says that all others have what is usual. */
	if (!strcmp(g->path, "/"))
		rec.weight = WEIGHT_USUAL;
	else if (g->weight == WEIGHT_USUAL)
		return 0;
	return emit(arg, &rec, sizeof(rec));
}

int tipmed_cgroups_names(struct tipmed_cgroups *c,
			 int (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	int ret = 0;

	pthread_mutex_lock(&c->lock);
	for (unsigned int i = 0; i < c->count && !ret; i++)
		if (c->table[i].path)
			ret = name_emit(&c->table[i], emit, arg);
	for (unsigned int i = 0; i < c->count && !ret; i++)
		if (c->table[i].path)
			ret = weight_emit(&c->table[i], emit, arg);
	pthread_mutex_unlock(&c->lock);
	return ret;
}
