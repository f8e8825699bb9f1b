// SPDX-License-Identifier: GPL-2.0-only
/*
 * Class wayland: which files are probed, and with which programs. All on the thread that keeps
 * house.
 */
#include "config.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel_bpf.h"

/* Where distributions and administrators put libraries. */
#define LIBRARY "libwayland-server.so.0"
static const char *const patterns[] = {
	"/usr/lib/" LIBRARY,	   "/usr/lib64/" LIBRARY,	"/usr/lib/*-linux-*/" LIBRARY,
	"/usr/local/lib/" LIBRARY, "/usr/local/lib64/" LIBRARY, "/usr/local/lib/*-linux-*/" LIBRARY,
};

#define LATE_MAX 4

static void file_detach(struct wayland_file *f)
{
	for (int i = 0; i < TIPME_WAYLAND_PROBES; i++)
		bpf_link__destroy(f->link[i]);
	*f = (struct wayland_file){ 0 };
}

void tipme_bpf_wayland_detach(struct bpf_source *src)
{
	for (int i = 0; i < TIPME_WAYLAND_FILES; i++)
		file_detach(&src->wayland[i]);
	tipme_bpf_screen_detach(src);
}

static struct wayland_file *file_of(struct bpf_source *src, uint64_t dev, uint64_t ino)
{
	for (int i = 0; i < TIPME_WAYLAND_FILES; i++)
		if (src->wayland[i].ino == ino && src->wayland[i].dev == dev)
			return &src->wayland[i];
	return NULL;
}

/*
 * A file that was replaced may be mapped for long by who runs since before: of those the oldest
 * makes room.
 */
static struct wayland_file *file_new(struct bpf_source *src)
{
	struct wayland_file *oldest = &src->wayland[0];

	for (int i = 1; i < TIPME_WAYLAND_FILES && oldest->ino; i++)
		if (!src->wayland[i].ino || src->wayland[i].seen < oldest->seen)
			oldest = &src->wayland[i];
	file_detach(oldest);
	return oldest;
}

/* The link takes the event's descriptor, where it comes to be. */
static int probe_attach(struct bpf_source *src, struct wayland_file *f, unsigned int n,
			struct tipme_wayland_library *lib)
{
	struct tipme_wayland_probe *p = &lib->probe[n];
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = p->cookie);
	struct bpf_link *link =
		bpf_program__attach_perf_event_opts(p->is_event
							    ? src->skel->progs.tipme_wayland_event
							    : src->skel->progs.tipme_wayland_invoke,
						    p->fd, &opts);

	if (!link)
		return -errno;
	f->link[n] = link;
	p->fd = -1;
	return 0;
}

static int probes_attach(struct bpf_source *src, struct wayland_file *f,
			 struct tipme_wayland_library *lib)
{
	int err = 0;

	for (unsigned int i = 0; i < lib->count && !err; i++)
		err = probe_attach(src, f, i, lib);
	if (err) {
		snprintf(lib->why, sizeof(lib->why), "the kernel attaches no program to it (%s)",
			 strerror(-err));
		file_detach(f);
	}
	for (unsigned int i = 0; i < lib->count; i++)
		if (lib->probe[i].fd >= 0)
			close(lib->probe[i].fd);
	lib->count = 0;
	return err;
}

/*
 * Whatever becomes of it, it is not looked at again as long as it is the same file. But on a
 * machine that had no CPU for that, a later look may be luckier.
 */
static int file_add(struct bpf_source *src, const char *path, const struct stat *st)
{
	struct wayland_file *f = file_new(src);
	struct tipme_wayland_library lib;
	int err = src->opt.wayland_open(path, &lib);

	if (!err)
		err = probes_attach(src, f, &lib);
	if (err == -ETIMEDOUT && ++src->wayland_late < LATE_MAX)
		return err;
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->seen = src->wayland_looks;
	if (src->opt.wayland_say)
		src->opt.wayland_say(src->opt.wayland_say_arg, path, err, lib.why);
	return err;
}

/* Returns 0 or -errno: -ENOENT, there is no such file. */
static int path_look(struct bpf_source *src, const char *path)
{
	struct wayland_file *f;
	struct stat st;

	if (stat(path, &st))
		return -errno;
	f = file_of(src, st.st_dev, st.st_ino);
	if (!f)
		return file_add(src, path, &st);
	f->seen = src->wayland_looks;
	return f->link[0] ? 0 : -EACCES;
}

static int pattern_look(struct bpf_source *src, const char *pattern)
{
	int best = -ENOENT, err;
	glob_t found;

	if (glob(pattern, GLOB_NOSORT, NULL, &found))
		return -ENOENT;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		err = path_look(src, found.gl_pathv[i]);
		best = !err || best == -ENOENT ? err : best;
	}
	globfree(&found);
	return best;
}

/* 0 where any is watched. */
static int look(struct bpf_source *src)
{
	int best = -ENOENT, err;

	src->wayland_looks++;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		err = pattern_look(src, patterns[i]);
		best = !err || best == -ENOENT ? err : best;
	}
	if (src->opt.wayland_library) {
		err = path_look(src, src->opt.wayland_library);
		best = !err || best == -ENOENT ? err : best;
	}
	return best;
}

/*
 * A machine without a library that can be watched may get one: then the class is on, and waits for
 * it.
 */
int tipme_bpf_wayland_attach(struct bpf_source *src)
{
	int err = src->opt.wayland_open ? look(src) : -ENOTSUP;

	/* Where the kernel refuses probes, the screen tells what it can. */
	if (tipme_bpf_screen_look(src))
		return 0;
	return err == -EACCES || err == -ENOTSUP ? err : 0;
}

void tipme_bpf_wayland_look(struct tipme_kernel_source *base)
{
	if (!(base->classes & 1U << TIPME_CLASS_WAYLAND))
		return;
	look(bpf_of(base));
	tipme_bpf_screen_look(bpf_of(base));
}

/* Whoever has its descriptor can map it for reading, and do nothing else with it. */
void tipme_bpf_wayland_freeze(struct bpf_source *src)
{
	int fd = bpf_map__fd(src->skel->maps.tipme_wayland_ring);

	src->wayland_ring = !bpf_map_freeze(fd) ? fd : -1;
}

int tipme_bpf_wayland_fd(struct tipme_kernel_source *base)
{
	return base->classes & 1U << TIPME_CLASS_WAYLAND ? bpf_of(base)->wayland_ring : -1;
}
