// SPDX-License-Identifier: GPL-2.0-only
/* Segments by which the pool of the tracing programs grows: arrays in an array of maps. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "clock.h"
#include "kernel_bpf.h"
#include "small_file.h"

/* Who makes the machine swap would be the lag that it records. */
#define AVAILABLE_TIMES 8

static int memory_spare(size_t bytes)
{
	char text[4096];
	unsigned long long available_kb;
	const char *line;

	if (tipme_file_read("/proc/meminfo", text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, "MemAvailable:");
	return line && sscanf(line, "MemAvailable: %llu", &available_kb) == 1 &&
	       available_kb * 1024 >= (uint64_t)bytes * AVAILABLE_TIMES;
}

/* Address space alone, so that nothing else comes to lie there. */
static int reserve(void *at, size_t bytes)
{
	void *p = mmap(at, bytes, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	munlock(p, bytes);
	return 0;
}

int tipme_bpf_segment_template(const struct tipme_pool_view *v)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "tipme_segment", sizeof(uint32_t),
			      v->subbuf_bytes, v->segment_subs ? v->segment_subs : 1, &opts);
}

/* Our mapping and the programs' table hold it from here on. */
static int segment_add(void *arg, unsigned int segment, void *at, size_t bytes)
{
	struct bpf_source *src = arg;
	int fd, err = 0, outer = bpf_map__fd(src->skel->maps.tipme_segments);

	if (!memory_spare(bytes))
		return -ENOMEM;
	fd = tipme_bpf_segment_template(&src->base.view);
	if (fd < 0)
		return fd;
	if (mmap(at, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE | MAP_FIXED, fd, 0) == MAP_FAILED)
		err = -errno;
	err = err ? err : bpf_map_update_elem(outer, &segment, &fd, BPF_ANY);
	if (err)
		reserve(at, bytes);
	close(fd);
	return err;
}

/* The kernel waits for programs that may have it in hand before this returns. */
static void segment_remove(void *arg, unsigned int segment, void *at, size_t bytes)
{
	struct bpf_source *src = arg;

	bpf_map_delete_elem(bpf_map__fd(src->skel->maps.tipme_segments), &segment);
	reserve(at, bytes);
}

void tipme_bpf_growth_init(struct bpf_source *src)
{
	src->growth = (struct tipme_growth){
		.view = &src->base.view,
		.queue = (void *)&src->skel->bss->tipme_queue,
		.spare = (void *)&src->skel->bss->tipme_spare,
		.cells = src->cells.base,
		.spare_cells = src->spare_cells.base,
		.cell_mask = src->skel->rodata->tipme_cell_mask,
		.window_ns = src->opt.window_s * TIPME_NS_PER_S,
		.add = segment_add,
		.remove = segment_remove,
		.arg = src,
	};
}

static uint64_t taken(const struct bpf_source *src)
{
	const struct tipme_kernel_cpu *cpus = src->cpus.base;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < src->base.view.cpus; i++)
		sum += *(const volatile __u64 *)&cpus[i].pool.taken;
	return sum;
}

int tipme_bpf_adapt(struct tipme_kernel_source *base, int *refused)
{
	struct bpf_source *src = bpf_of(base);
	const struct tipme_pool_view *v = &base->view;

	if (!v->subs_most)
		return 0;
	/* Where all memory was locked, address space is counted as if it were memory. */
	if (!base->adapted)
		munlock((char *)src->pool.base + (size_t)v->subs * v->subbuf_bytes,
			(size_t)(v->subs_most - v->subs) * v->subbuf_bytes);
	int changed = tipme_growth_look(&src->growth, taken(src), tipme_clock_ns());

	*refused = src->growth.refused;
	return changed;
}

void tipme_bpf_hold(struct tipme_kernel_source *base, int on)
{
	on ? tipme_growth_hold(&bpf_of(base)->growth) : tipme_growth_let_go(&bpf_of(base)->growth);
}
