// SPDX-License-Identifier: GPL-2.0-only
/* The backend of stock kernels: tracing programs, and the tables that they write. */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "clock.h"
#include "kernel_bpf.h"

#define BESIDE_RATE                                                                   \
	300 /* records a second of a source that stands beside another, samples apart \
	     */

/* What libbpf says goes to stderr only for those who ask. */
static int libbpf_say(enum libbpf_print_level level, const char *format, va_list args)
{
	va_list again;

	if (level == LIBBPF_WARN) {
		va_copy(again, args);
		tipme_bpf_refusal_note(format, again);
		va_end(again);
	}
	return getenv("TIPME_LIBBPF_DEBUG") ? vfprintf(stderr, format, args) : 0;
}

static int attach(struct bpf_source *src, char *why, size_t why_len)
{
	int err = tipme_bpf_map_all(src);

	if (err)
		return tipme_bpf_refused(err, "share memory with", why, why_len);
	tipme_bpf_pool_init(src);
	tipme_bpf_growth_init(src);
	tipme_bpf_wayland_freeze(src);
	err = kernel_source_bpf__attach(src->skel);
	if (err)
		return tipme_bpf_refused(err, "attach", why, why_len);
	src->base.view.start_ns = tipme_clock_ns();
	src->skel->bss->tipme_start_ns = src->base.view.start_ns;
	tipme_bpf_classes_look(src);
	tipme_bpf_lives_open(src);
	return 0;
}

/*
 * Programs go first: once they are detached, and the kernel has waited for those that run, nobody
 * writes.
 */
static void bpf_close(struct tipme_kernel_source *base)
{
	struct bpf_source *src = bpf_of(base);

	for (unsigned int i = 0; i < TIPME_CLASSES; i++)
		tipme_bpf_class_detach(src, i, false);
	tipme_bpf_measure_end(src);
	tipme_bpf_lives_close(src);
	kernel_source_bpf__destroy(src->skel);
	tipme_bpf_unmap_all(src);
	free(src);
}

static int open_for(struct tipme_kernel_source **out, const struct tipme_kernel_options *opt,
		    uint32_t beside, char *why, size_t why_len)
{
	int err, cpus;
	struct bpf_source *src;

	libbpf_set_print(libbpf_say);
	cpus = libbpf_num_possible_cpus();
	src = calloc(1, sizeof(*src));
	if (!src || cpus < 1) {
		free(src);
		return tipme_bpf_refused(cpus < 1 ? cpus : -ENOMEM, "count CPUs for", why, why_len);
	}
	src->opt = *opt;
	src->beside = beside;
	src->measure_fd = -1;
	src->segment_fd = -1;
	src->lives.epoll_fd = -1;
	tipme_kernel_sizes(&src->base.view, &src->opt, cpus, 1);
	src->user_entries =
		opt->stack_entries ? opt->stack_entries : tipme_bpf_user_entries(&src->opt);
	err = tipme_bpf_load(src, why, why_len);
	err = err ? err : attach(src, why, why_len);
	if (!err)
		tipme_bpf_measure_begin(src);
	if (err) {
		bpf_close(&src->base);
		return err;
	}
	*out = &src->base;
	return 0;
}

static int bpf_open(struct tipme_kernel_source **out, const struct tipme_kernel_options *opt,
		    char *why, size_t why_len)
{
	return open_for(out, opt, 0, why, why_len);
}

/* What it may record is set when it is open: no class is on yet. */
static int bpf_open_beside(struct tipme_kernel_source **out, const struct tipme_kernel_options *opt,
			   uint32_t classes, char *why, size_t why_len)
{
	struct tipme_kernel_options small = *opt;

	small.rate = BESIDE_RATE + (TIPME_SAMPLES_PER_S + 1) * libbpf_num_possible_cpus();
	small.pool_bytes = 0;
	small.subbuf_bytes = 0;
	if (!small.stack_entries || small.stack_entries > TIPME_STACKS_BESIDE_MAX)
		small.stack_entries = small.stack_entries ? TIPME_STACKS_BESIDE_MAX : 0;
	return open_for(out, &small, classes, why, why_len);
}

static void add_missed(struct tipme_kernel_stats *stats, const char *program, uint64_t calls)
{
	stats->lost.missed += calls;
	if (calls && stats->missed_count < TIPME_KERNEL_MISSED)
		stats->missed[stats->missed_count++] =
			(struct tipme_kernel_missed){ program, calls };
}

/*
 * All calls that were left out, but for those that would have made no record. A call is counted
 * before a program can tell that of it: so their number is read last. Until it is told, which takes
 * the rest of an interrupt, the call counts as lost.
 */
static void count_missed(const struct bpf_source *src, struct tipme_kernel_stats *stats)
{
	const volatile __u64 *needless = &src->skel->bss->tipme_spins_unseen;
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, src->skel->obj)
	{
		struct bpf_prog_info info = {};
		uint32_t len = sizeof(info);
		int fd = bpf_program__fd(prog);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len))
			add_missed(stats, bpf_program__name(prog), info.recursion_misses);
	}
	uint64_t none = *needless;

	stats->lost.missed -= none < stats->lost.missed ? none : stats->lost.missed;
}

static int bpf_stats(struct tipme_kernel_source *base, struct tipme_kernel_stats *stats)
{
	struct bpf_source *src = bpf_of(base);
	const struct tipme_kernel_tables tables = tipme_bpf_tables_of(src);
	const struct tipme_pool_view *v = &src->base.view;
	uint64_t pool_bytes = (uint64_t)tipme_pool_subs(v) * v->subbuf_bytes;

	*stats = (struct tipme_kernel_stats){
		.start_ns = v->start_ns,
		.pool_bytes = pool_bytes,
		.map_bytes = pool_bytes + 2 * src->cells.bytes + src->cpus.bytes +
			     sizeof(*src->skel->bss) + src->stacks.bytes + src->user_stacks.bytes,
		.cpus = v->cpus,
		.subbufs = tipme_pool_subs(v),
		.subbuf_bytes = v->subbuf_bytes,
		.programs = src->programs + src->link_count,
	};
	count_missed(src, stats);
	tipme_bpf_measure_look(src);
	stats->measured_ns = src->measured_ns;
	stats->measuring = src->measure_fd >= 0;
	memcpy(stats->cost, src->cost, sizeof(stats->cost));
	tipme_kernel_tables_count(&tables, stats);
	return 0;
}

const struct tipme_kernel_backend tipme_kernel_bpf = {
	.source = TIPME_SOURCE_KERNEL_BPF,
	.name = "kernel_bpf",
	.open = bpf_open,
	.open_beside = bpf_open_beside,
	.close = bpf_close,
	.stats = bpf_stats,
	.adapt = tipme_bpf_adapt,
	.hold = tipme_bpf_hold,
	.image = tipme_bpf_image,
	.picture = tipme_bpf_picture,
	.stacks = tipme_bpf_stacks,
	.class_set = tipme_bpf_class_set,
	.cpus_look = tipme_bpf_cpus_look,
	.wayland_look = tipme_bpf_wayland_look,
	.wayland_fd = tipme_bpf_wayland_fd,
	.suspended = tipme_bpf_suspended,
	.user_stacks = tipme_bpf_user_stacks,
	.stacks_old = tipme_bpf_stacks_old,
	.mappings = tipme_bpf_mappings,
	.lives_fd = tipme_bpf_lives_fd,
	.lives_take = tipme_bpf_lives_take,
};
