// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads the tracing programs: which of them this kernel can run, how large their tables are, and
 * the memory that is shared with them.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "kallsyms.h"
#include "kernel_bpf.h"
#include "kernel_source_hot.skel.h"
#include "kernel_source_variable.skel.h"

#define USER_STACKS_MAX 32768 /* ids have 16 bits */

static uint64_t power_of_two_from(uint64_t n)
{
	uint64_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

static const char *const needed[] = { "sched_switch",	    "sched_waking",
				      "sched_wakeup_new",   "sched_process_fork",
				      "sched_process_exit", "sched_process_exec",
				      "task_rename" };

static int is_needed(const char *tracepoint)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!strcmp(needed[i], tracepoint))
			return 1;
	return 0;
}

/* Where the preemption count is, as recorder.bpf.h has it. */
enum count_place { COUNT_NOWHERE, COUNT_IN_VARIABLE, COUNT_IN_HOT };

/* The symbol must be listed, which takes CONFIG_KALLSYMS_ALL, and its type be known. */
static enum count_place count_place_of(const struct btf *btf)
{
	static const char *const symbol[] = {
		[COUNT_IN_VARIABLE] = "__preempt_count", [COUNT_IN_HOT] = "pcpu_hot"
	};
	bool listed[2];

	tipme_kallsyms_find(symbol + COUNT_IN_VARIABLE, 2, listed, NULL, NULL);
	enum count_place found = listed[0]   ? COUNT_IN_VARIABLE
				 : listed[1] ? COUNT_IN_HOT
					     : COUNT_NOWHERE;

	return found && btf__find_by_name_kind(btf, symbol[found], BTF_KIND_VAR) > 0
		       ? found
		       : COUNT_NOWHERE;
}

/* The skeleton of one object serves for all three: they differ in instructions alone. */
static struct kernel_source_bpf *skeleton_open(enum count_place place)
{
	struct kernel_source_bpf *skel = calloc(1, sizeof(*skel));
	int err = skel ? kernel_source_bpf__create_skeleton(skel) : -ENOMEM;

	if (!err && place == COUNT_IN_VARIABLE)
		skel->skeleton->data =
			(void *)kernel_source_variable__elf_bytes(&skel->skeleton->data_sz);
	if (!err && place == COUNT_IN_HOT)
		skel->skeleton->data =
			(void *)kernel_source_hot__elf_bytes(&skel->skeleton->data_sz);
	err = err ? err : bpf_object__open_skeleton(skel->skeleton, NULL);
	if (!err)
		return skel;
	kernel_source_bpf__destroy(skel);
	errno = -err;
	return NULL;
}

const void *tipme_bpf_image(unsigned int i, size_t *bytes)
{
	const void *(*const image[])(size_t *) = { kernel_source_bpf__elf_bytes,
						   kernel_source_variable__elf_bytes,
						   kernel_source_hot__elf_bytes };

	return i < sizeof(image) / sizeof(*image) ? image[i](bytes) : NULL;
}

static int ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && !strcmp(s + n - m, end);
}

/*
 * Some kernels are built without what hooking functions takes, others refuse it for some: try it
 * with a program that does nothing.
 */
static int may_hook(const struct btf *btf, const char *function)
{
	const struct bpf_insn nothing[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K },
					    { .code = BPF_JMP | BPF_EXIT } };
	int id = btf__find_by_name_kind(btf, function, BTF_KIND_FUNC), fd = -1, link = -1;
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = id);

	if (id > 0)
		fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "tipme_nothing", "GPL", nothing, 2,
				   &opts);
	if (fd >= 0)
		link = bpf_raw_tracepoint_open(NULL, fd);
	if (link >= 0)
		close(link);
	if (fd >= 0)
		close(fd);
	return link >= 0;
}

/* Whether the running kernel has what the program hooks; *name is that. */
static int has_hook(const struct btf *btf, const struct bpf_program *prog, const char **name)
{
	const char *section = bpf_program__section_name(prog), *slash = strchr(section, '/');
	char type[128];

	*name = slash ? slash + 1 : section;
	if (!slash || !strncmp(section, "iter/", 5))
		return 1;
	/* What modules have is looked for when they are there: tipme_bpf_screen_look(). */
	if (!strncmp(section, "raw_tp/", 7) || !strncmp(section, "kprobe/", 7))
		return 1;
	if (!strncmp(section, "fentry/", 7) || !strncmp(section, "fexit/", 6))
		return may_hook(btf, *name);
	snprintf(type, sizeof(type), "btf_trace_%s", *name);
	return btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) >= 0;
}

/*
 * Whether a source that stands beside another needs the program; samples tell which softirq they
 * came into, and these whose it is; what a softirq sends, no thread asked.
 */
static int beside_needs(const struct bpf_program *prog, uint32_t classes)
{
	const char *name = bpf_program__name(prog);
	int which = tipme_bpf_class_of(prog);

	/* Any other source sees what is lent. */
	if (!strcmp(name, "tipme_priority_lent"))
		return 0;
	if (!strcmp(name, "tipme_suspend"))
		return 1;
	if (which >= 0)
		return !!(classes & 1U << which);
	if (classes & 1U << TIPME_CLASS_NETWORK && !strncmp(name, "tipme_softirq_", 14))
		return 1;
	return classes & 1U << TIPME_CLASS_SAMPLE &&
	       (!strncmp(name, "tipme_softirq_", 14) || !strcmp(name, "tipme_mappings"));
}

/*
 * Leaves out what this kernel has no hook for: which interrupts have tracepoints, differs. Classes
 * are attached one by one, later.
 */
static int choose_programs(const struct bpf_source *src, const struct btf *btf,
			   enum count_place place, char *why, size_t why_len)
{
	struct kernel_source_bpf *skel = src->skel;
	const char *other = place ? "_plain" : "_counted", *hook;
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, skel->obj)
	{
		if (tipme_bpf_class_of(prog) >= 0 ||
		    !strcmp(bpf_program__name(prog), "tipme_mappings"))
			bpf_program__set_autoattach(prog, false);
		if (ends_in(bpf_program__name(prog), other))
			bpf_program__set_autoload(prog, false);
		if (src->beside && !beside_needs(prog, src->beside)) {
			bpf_program__set_autoload(prog, false);
			continue;
		}
		if (has_hook(btf, prog, &hook))
			continue;
		if (is_needed(hook)) {
			snprintf(
				why, why_len,
				"this kernel has no tracepoint %s: a kernel of 5.18 or newer with tracing is needed",
				hook);
			return -ENOTSUP;
		}
		bpf_program__set_autoload(prog, false);
	}
	return 0;
}

static int resize(struct bpf_map *map, uint32_t value, uint32_t entries)
{
	int err = bpf_map__set_value_size(map, value);

	return err ? err : bpf_map__set_max_entries(map, entries);
}

/* Samples of busy programs seldom show the same stack twice. */
unsigned int tipme_bpf_user_entries(const struct tipme_kernel_options *opt)
{
	uint64_t most = power_of_two_from((uint64_t)TIPME_SAMPLES_PER_S *
					  (unsigned int)get_nprocs() * opt->window_s);

	return most > USER_STACKS_MAX	   ? USER_STACKS_MAX
	       : most < opt->stack_entries ? opt->stack_entries
					   : (unsigned int)most;
}

/* What all segments are like, and how many there may be. Loading makes its own copy of the first.
 */
static int segments_size(struct bpf_source *src)
{
	const struct tipme_pool_view *v = &src->base.view;
	struct bpf_map *map = src->skel->maps.tipme_segments;
	unsigned int count = v->subs_most ? (v->subs_most - v->subs) / v->segment_subs : 0;
	int fd = tipme_bpf_segment_template(v), err = fd < 0 ? fd : 0;

	src->skel->rodata->tipme_segment_shift = 0;
	for (unsigned int n = v->segment_subs; n > 1; n /= 2)
		src->skel->rodata->tipme_segment_shift++;
	err = err ? err : bpf_map__set_max_entries(map, count ? count : 1);
	err = err ? err : bpf_map__set_inner_map_fd(map, fd);
	src->segment_fd = fd;
	return err;
}

/* What the programs need to know stacks again; where the kernel hides it, they unwind each. */
static void known_code_find(struct tipme_known_code *code)
{
	static const char *const bounds[] = { "__sched_text_start", "__sched_text_end",
					      "__lock_text_start", "__lock_text_end",
					      "do_syscall_64" };
	uint64_t from[5] = { 0 }, next[5] = { 0 };
	bool found[5];

	tipme_kallsyms_find(bounds, 5, found, from, next);
	if (!from[0] || !from[1] || !from[2] || !from[3])
		return;
	*code = (struct tipme_known_code){ { from[0], from[1] },
					   { from[2], from[3] },
					   { from[4], next[4] } };
}

static int set_sizes(struct bpf_source *src)
{
	struct kernel_source_bpf *skel = src->skel;
	const struct tipme_pool_view *v = &src->base.view;
	uint32_t cells = power_of_two_from(tipme_pool_subs_most(v));
	struct utsname u;
	int err;

	skel->rodata->tipme_pool_slots =
		(src->base.view.subbuf_bytes - sizeof(struct tipme_pool_header)) /
		TIPME_POOL_SLOT_BYTES;
	skel->rodata->tipme_cell_mask = cells - 1;
	skel->rodata->tipme_pool_first = v->subs;
	for (size_t i = 0; i < sizeof(skel->rodata->tipme_wayland_uids) /
				       sizeof(skel->rodata->tipme_wayland_uids[0]);
	     i++)
		skel->rodata->tipme_wayland_uids[i] =
			src->opt.wayland_uids[i < src->opt.wayland_users ? i : 0];
	skel->rodata->tipme_stack_mask = src->opt.stack_entries - 1;
	skel->rodata->tipme_stack_base = src->beside ? TIPME_STACKS_BESIDE : 0;
	known_code_find((void *)&skel->rodata->tipme_known_code);
	skel->rodata->tipme_realtime = !uname(&u) && strstr(u.version, "PREEMPT_RT");
	skel->rodata->tipme_known_checked = src->opt.stacks_checked;
	skel->rodata->tipme_stack_min_ns = (uint64_t)src->opt.stack_min_us * 1000;
	skel->rodata->tipme_stack_keep_ns = ((uint64_t)src->opt.window_s * 2 + 60) * 1000000000;
	err = resize(skel->maps.tipme_pool, src->base.view.subbuf_bytes, src->base.view.subs);
	err = err ? err : resize(skel->maps.tipme_cells, sizeof(uint64_t), cells);
	err = err ? err : resize(skel->maps.tipme_spare_cells, sizeof(uint64_t), cells);
	err = err ? err : segments_size(src);
	err = err ? err
		  : resize(skel->maps.tipme_cpus, sizeof(struct tipme_kernel_cpu),
			   src->base.view.cpus);
	skel->rodata->tipme_user_stack_mask = src->user_entries - 1;
	skel->rodata->tipme_sample_period_us = 1000000 / TIPME_SAMPLES_PER_S;
	err = err ? err
		  : resize(skel->maps.tipme_user_stacks, sizeof(struct tipme_user_stack_entry),
			   src->user_entries);
	return err ? err
		   : resize(skel->maps.tipme_stacks, sizeof(struct tipme_stack_entry),
			    src->opt.stack_entries);
}

/* `at`: address space that is reserved for it; NULL: anywhere. */
static int map_memory_at(void *at, const struct bpf_map *map, int prot, struct map_memory *m)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *base;

	m->bytes = ((size_t)bpf_map__value_size(map) * bpf_map__max_entries(map) + page - 1) /
		   page * page;
	base = mmap(at, m->bytes, prot, MAP_SHARED | MAP_POPULATE | (at ? MAP_FIXED : 0),
		    bpf_map__fd(map), 0);
	if (base == MAP_FAILED)
		return -errno;
	m->base = base;
	return 0;
}

static int map_memory(const struct bpf_map *map, int prot, struct map_memory *m)
{
	return map_memory_at(NULL, map, prot, m);
}

/* Where it can grow there is address space for it behind the pool. */
static int map_pool(struct bpf_source *src)
{
	const struct tipme_pool_view *v = &src->base.view;
	size_t most = (size_t)tipme_pool_subs_most(v) * v->subbuf_bytes;
	void *at = mmap(NULL, most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int err = at == MAP_FAILED
			  ? -errno
			  : map_memory_at(at, src->skel->maps.tipme_pool, PROT_READ, &src->pool);

	if (err && at != MAP_FAILED)
		munmap(at, most);
	if (!err)
		src->pool.bytes = most;
	return err;
}

/*
 * Readers write nothing: only the two tables that need a first content are writable, and only until
 * they have it; and the cells of what is spare.
 */
int tipme_bpf_map_all(struct bpf_source *src)
{
	struct kernel_source_bpf *skel = src->skel;
	int err = map_pool(src);

	err = err ? err : map_memory(skel->maps.tipme_cells, PROT_READ | PROT_WRITE, &src->cells);
	err = err ? err
		  : map_memory(skel->maps.tipme_spare_cells, PROT_READ | PROT_WRITE,
			       &src->spare_cells);
	err = err ? err : map_memory(skel->maps.tipme_cpus, PROT_READ | PROT_WRITE, &src->cpus);
	err = err ? err : map_memory(skel->maps.tipme_stacks, PROT_READ, &src->stacks);
	err = err ? err : map_memory(skel->maps.tipme_user_stacks, PROT_READ, &src->user_stacks);
	src->base.view.base = src->pool.base;
	return err;
}

void tipme_bpf_pool_init(struct bpf_source *src)
{
	struct tipme_kernel_cpu *cpus = src->cpus.base;
	uint64_t *cells = src->cells.base;

	for (uint64_t i = 0; i < src->base.view.subs; i++)
		cells[i] = TIPME_POOL_CELL(i, i);
	src->skel->bss->tipme_queue.tail = src->base.view.subs;
	for (unsigned int i = 0; i < src->base.view.cpus; i++)
		cpus[i].pool.cursor = TIPME_POOL_CURSOR_START;
	mprotect(src->cells.base, src->cells.bytes, PROT_READ);
	mprotect(src->cpus.base, src->cpus.bytes, PROT_READ);
}

/* Says in words why the kernel refused. */
int tipme_bpf_refused(int err, const char *step, char *why, size_t why_len)
{
	if (err == -EPERM)
		snprintf(
			why, why_len,
			"the kernel does not let us %s tracing programs: run as root, or with CAP_BPF and CAP_PERFMON%s",
			step,
			geteuid() ? ""
				  : " (root here lacks them: a container, or kernel lockdown)");
	else if (err == -ENOMEM)
		snprintf(
			why, why_len,
			"not enough memory for the recorder's pool: choose a shorter window or a smaller pool");
	else
		snprintf(
			why, why_len,
			"the kernel refused to %s tracing programs (%s): set TIPME_LIBBPF_DEBUG=1 to see its reasons",
			step, strerror(-err));
	return err;
}

static int load_once(struct bpf_source *src, const struct btf *btf, enum count_place place,
		     char *why, size_t why_len)
{
	int err;

	src->skel = skeleton_open(place);
	if (!src->skel)
		return tipme_bpf_refused(-errno, "open", why, why_len);
	err = choose_programs(src, btf, place, why, why_len);
	if (err)
		return err;
	tipme_bpf_leave_out(src);
	err = set_sizes(src);
	err = err ? err : kernel_source_bpf__load(src->skel);
	if (src->segment_fd >= 0)
		close(src->segment_fd);
	src->segment_fd = -1;
	return err ? tipme_bpf_refused(err, "load", why, why_len) : 0;
}

int tipme_bpf_load(struct bpf_source *src, char *why, size_t why_len)
{
	struct btf *btf = btf__load_vmlinux_btf();
	enum count_place place;
	int err;

	if (!btf) {
		snprintf(why, why_len,
			 "this kernel does not describe its types (no /sys/kernel/btf/vmlinux): "
			 "a kernel built with CONFIG_DEBUG_INFO_BTF is needed, as Debian's are");
		return -ENOTSUP;
	}
	place = count_place_of(btf);
	/* One program that an old verifier refuses is not to keep us from recording all else. */
	while ((err = load_once(src, btf, place, why, why_len)) && tipme_bpf_refusal_take(src, err))
		kernel_source_bpf__destroy(src->skel);
	btf__free(btf);
	return err;
}

static void unmap(struct map_memory *m)
{
	if (m->base)
		munmap(m->base, m->bytes);
}

void tipme_bpf_unmap_all(struct bpf_source *src)
{
	unmap(&src->pool);
	unmap(&src->cells);
	unmap(&src->spare_cells);
	unmap(&src->cpus);
	unmap(&src->stacks);
	unmap(&src->user_stacks);
}
