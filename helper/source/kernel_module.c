// SPDX-License-Identifier: GPL-2.0-only
/*
 * The backend of machines that have tipme.ko: its ring is mapped from /dev/tipme, and it triggers
 * by itself.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kallsyms.h"
#include "kernel_backend.h"
#include "kernel_tables.h"
#include "small_file.h"
#include "tipme_uapi.h"

#define DEVICE "/dev/tipme"

struct module_source {
	struct tipme_kernel_source base; /* first: it is what others hold */
	int fd;
	void *map;
	size_t map_bytes;
	struct tipme_kernel_tables tables;
};

_Static_assert(sizeof(struct tipme_kernel_thread) == sizeof(struct tipme_picture_entry),
	       "pictures are read into place");

static struct module_source *module_of(struct tipme_kernel_source *base)
{
	return (struct module_source *)base;
}

/* --- opening --- */

static int device_open(char *why, size_t why_len)
{
	struct tipme_info info;
	int fd = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC), err;

	if (fd < 0) {
		err = -errno;
		snprintf(why, why_len, DEVICE ": %s: run as root", strerror(-err));
		return err == -ENXIO || err == -ENODEV ? -ENOENT : err;
	}
	if (!ioctl(fd, TIPME_IOC_INFO, &info) && info.version == TIPME_INTERFACE)
		return fd;
	close(fd);
	snprintf(why, why_len,
		 DEVICE
		 " belongs to another version of tipme.ko: build and load that of this version");
	return -EPROTO;
}

/*
 * Where the scheduler's functions lie, which the module cannot learn: without it they only lengthen
 * the stacks.
 */
static void sched_text(struct tipme_start *start)
{
	static const char *const names[] = { "__sched_text_start", "__sched_text_end" };
	uint64_t addrs[2] = { 0 };
	bool found[2];

	tipme_kallsyms_find(names, 2, found, addrs, NULL);
	start->sched_text_start = addrs[0];
	start->sched_text_end = addrs[1];
}

static unsigned int possible_cpus(void)
{
	unsigned int last = 0, first;
	char list[256];

	if (tipme_file_line("/sys/devices/system/cpu/possible", list, sizeof(list))) {
		const char *p = strrchr(list, ',');

		p = p ? p + 1 : list;
		if (sscanf(p, "%u-%u", &first, &last) == 1)
			last = first;
	}
	return last + 1;
}

static int refused(int err, char *why, size_t why_len)
{
	if (err == -EPERM)
		snprintf(why, why_len, "tipme.ko records only for CAP_PERFMON: run as root");
	else if (err == -EBUSY)
		snprintf(why, why_len,
			 "tipme.ko records for another program already: stop that one first");
	else if (err == -ENOMEM)
		snprintf(
			why, why_len,
			"not enough memory for the recorder's pool: choose a shorter window or a smaller pool");
	else
		snprintf(why, why_len,
			 "tipme.ko refused to record (%s): the kernel's log may say why",
			 strerror(-err));
	return err;
}

static int ring_start(struct module_source *src, struct tipme_kernel_options *opt)
{
	struct tipme_start start = { 0 };

	tipme_kernel_sizes(&src->base.view, opt, possible_cpus(), 0);
	start.subs = src->base.view.subs;
	start.subbuf_bytes = src->base.view.subbuf_bytes;
	start.stack_entries = opt->stack_entries;
	start.stack_min_us = opt->stack_min_us;
	start.window_s = opt->window_s;
	sched_text(&start);
	if (ioctl(src->fd, TIPME_IOC_START, &start))
		return -errno;
	src->map_bytes = start.map_bytes;
	src->map = mmap(NULL, src->map_bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, src->fd, 0);
	if (src->map == MAP_FAILED) {
		src->map = NULL;
		return -errno;
	}
	return 0;
}

/*
 * Believes the header no further than the module's own version goes: sizes that differ are of
 * another version.
 */
static int ring_look(struct module_source *src)
{
	const struct tipme_map_header *h = src->map;

	if (!h || memcmp(h->magic, TIPME_MAP_MAGIC, sizeof(h->magic)) ||
	    h->byte_order != TIPME_BYTE_ORDER || h->major != TIPME_FORMAT_MAJOR ||
	    h->cpu_bytes != sizeof(struct tipme_kernel_cpu) ||
	    h->stack_bytes != sizeof(struct tipme_stack_entry) || h->map_bytes > src->map_bytes)
		return -EPROTO;
	src->base.view.base = (const char *)src->map + h->pool_offset;
	src->base.view.cpus = h->cpus;
	src->base.view.subs = h->subs;
	src->base.view.subbuf_bytes = h->subbuf_bytes;
	src->base.view.start_ns = h->start_ns;
	src->tables = (struct tipme_kernel_tables){
		.cpus = (const void *)((const char *)src->map + h->cpus_offset),
		.cpu_count = h->cpus,
		.slots = (h->subbuf_bytes - sizeof(struct tipme_pool_header)) /
			 TIPME_POOL_SLOT_BYTES,
		.stacks = (const void *)((const char *)src->map + h->stacks_offset),
		.stack_entries = h->stack_entries,
	};
	return 0;
}

static void module_close(struct tipme_kernel_source *base)
{
	struct module_source *src = module_of(base);

	if (src->map)
		munmap(src->map, src->map_bytes);
	close(src->fd); /* the last that holds the file: recording ends here */
	free(src);
}

static int module_open(struct tipme_kernel_source **out, const struct tipme_kernel_options *opt,
		       char *why, size_t why_len)
{
	struct tipme_kernel_options complete = *opt;
	struct tipme_info info;
	struct module_source *src;
	int fd = device_open(why, why_len), err;

	if (fd < 0)
		return fd;
	src = calloc(1, sizeof(*src));
	if (!src) {
		close(fd);
		return -ENOMEM;
	}
	src->fd = fd;
	err = ring_start(src, &complete);
	err = err ? err : ring_look(src);
	if (!err && ioctl(fd, TIPME_IOC_INFO, &info))
		err = -errno;
	if (err) {
		refused(err, why, why_len);
		module_close(&src->base);
		return err;
	}
	src->base.classes_able = info.classes_able;
	*out = &src->base;
	return 0;
}

/* --- while it records --- */

static int module_stats(struct tipme_kernel_source *base, struct tipme_kernel_stats *stats)
{
	const struct module_source *src = module_of(base);
	struct tipme_info info = { 0 };

	if (ioctl(src->fd, TIPME_IOC_INFO, &info))
		return -errno;
	*stats = (struct tipme_kernel_stats){
		.start_ns = src->base.view.start_ns,
		.pool_bytes = (uint64_t)src->base.view.subs * src->base.view.subbuf_bytes,
		.map_bytes = src->map_bytes,
		.cpus = src->base.view.cpus,
		.subbufs = src->base.view.subs,
		.subbuf_bytes = src->base.view.subbuf_bytes,
		.programs = info.probes,
	};
	tipme_kernel_tables_count(&src->tables, stats);
	return 0;
}

static int module_picture(struct tipme_kernel_source *base, struct tipme_picture *picture,
			  struct tipme_kernel_thread *threads, unsigned int max)
{
	struct tipme_picture_request q = { .entries = (uintptr_t)threads, .max = max };

	if (ioctl(module_of(base)->fd, TIPME_IOC_PICTURE, &q))
		return -errno;
	*picture = (struct tipme_picture){
		.ts_ns = q.begin_ns,
		.type = TIPME_PICTURE,
		.len8 = sizeof(*picture) / 8,
		.threads = q.seen,
		.changed = q.filled,
		.end_ns = q.end_ns,
	};
	return q.filled;
}

static int module_stacks(struct tipme_kernel_source *base,
			 int (*fn)(void *arg, uint32_t stack_id, const uint64_t *frames,
				   unsigned int count),
			 void *arg)
{
	return tipme_kernel_tables_stacks(&module_of(base)->tables, fn, arg);
}

/* A module of an older version does not know it: its stacks are kept by time alone. */
static void module_stacks_old(struct tipme_kernel_source *base, uint64_t before_ns)
{
	ioctl(module_of(base)->fd, TIPME_IOC_STACKS_OLD, &before_ns);
}

/* What is on the kernel tells: somebody may have used the sysctls. */
static int module_class_set(struct tipme_kernel_source *base, unsigned int which, int on)
{
	struct module_source *src = module_of(base);
	struct tipme_info info;
	uint32_t mask;

	if (ioctl(src->fd, TIPME_IOC_INFO, &info))
		return -errno;
	mask = on ? info.classes | 1U << which : info.classes & ~(1U << which);
	return ioctl(src->fd, TIPME_IOC_CLASSES, &mask) ? -errno : 0;
}

/* --- triggers --- */

static int module_trigger_fd(struct tipme_kernel_source *base)
{
	return module_of(base)->fd;
}

/* What a trigger was, in words. Returns 0 if it asks for no snapshot. */
static int trigger_words(const struct tipme_trigger_event *e, char *text, size_t len)
{
	switch (e->reason) {
	case TIPME_TRIGGER_KEY:
		snprintf(text, len, "hot-key, taken by the kernel");
		return e->value == TIPME_CHORD_ACTION_SNAPSHOT;
	case TIPME_TRIGGER_SYSCTL:
		snprintf(text, len, "sysctl kernel.tipme.trigger, by user %u", e->value);
		return 1;
	case TIPME_TRIGGER_WAKEUP:
		snprintf(text, len, "thread %u waited %.3f ms for a CPU", e->value,
			 e->measured_ns / 1e6);
		return 1;
	case TIPME_TRIGGER_LATENCY:
		snprintf(text, len, "latency of %.3f ms on CPU %u", e->measured_ns / 1e6, e->value);
		return 1;
	}
	return 0;
}

static int module_trigger_taken(struct tipme_kernel_source *base, uint32_t *by, char *text,
				size_t len)
{
	struct tipme_trigger_event e;
	ssize_t n;

	/*
	 * The module keeps what triggered while nobody listened. What was before the records is no
	 * episode of theirs.
	 */
	while ((n = read(module_of(base)->fd, &e, sizeof(e))) == sizeof(e))
		if (e.ts_ns >= base->view.start_ns && trigger_words(&e, text, len)) {
			if (e.reason == TIPME_TRIGGER_SYSCTL)
				*by = e.value;
			return 0;
		}
	return n < 0 ? -errno : -EAGAIN;
}

const struct tipme_kernel_backend tipme_kernel_module = {
	.source = TIPME_SOURCE_KERNEL_MODULE,
	.name = "kernel_module",
	.wants_beside = 1,
	/* what is lent; what somebody sets has no tracepoint */
	.classes_partly = 1U << TIPME_CLASS_PRIORITY,
	.open = module_open,
	.close = module_close,
	.stats = module_stats,
	.picture = module_picture,
	.stacks = module_stacks,
	.stacks_old = module_stacks_old,
	.class_set = module_class_set,
	.trigger_fd = module_trigger_fd,
	.trigger_taken = module_trigger_taken,
};
