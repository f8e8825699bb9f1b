// SPDX-License-Identifier: GPL-2.0-only
/* Loads the tracing programs and reads the tables that they write. */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "kallsyms.h"
#include "kernel_copy.h"
#include "kernel_maps.h"
#include "kernel_source.h"
#include "kernel_source.skel.h"

struct map_memory {
	void *base;
	size_t bytes;
};

struct tipme_kernel_source {
	struct kernel_source_bpf *skel;
	struct tipme_pool_view view;
	struct map_memory pool, cells, cpus, sleeps, stacks;
	unsigned int stack_entries;
	unsigned int stack_min_us;
	unsigned int window_s;
	unsigned int programs;
	struct tipme_kernel_seen *scratch;
};

_Static_assert(sizeof(struct tipme_kernel_thread) == sizeof(struct tipme_picture_entry),
	       "pictures are read into place");

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* --- what libbpf says goes to stderr only for those who ask --- */

static int libbpf_say(enum libbpf_print_level level, const char *format, va_list args)
{
	return getenv("TIPME_LIBBPF_DEBUG") ? vfprintf(stderr, format, args) : 0;
}

/* --- sizes --- */

static uint64_t power_of_two_from(uint64_t n)
{
	uint64_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

/* Idle CPUs hold a sub-buffer each: with many CPUs they are cut smaller, so that this takes no more than an eighth. */
static unsigned int choose_subbuf(uint64_t records_bytes, unsigned int cpus)
{
	unsigned int bytes = 65536;

	while (bytes > 4096 && (uint64_t)bytes * cpus > records_bytes / 8)
		bytes /= 2;
	return bytes;
}

static void choose_sizes(struct tipme_kernel_source *src, const struct tipme_kernel_options *opt, unsigned int cpus)
{
	unsigned int rate = opt->rate ? opt->rate : 20000;
	uint64_t bytes, subs;

	src->window_s = opt->window_s ? opt->window_s : 40;
	bytes = opt->pool_bytes ? opt->pool_bytes : (uint64_t)src->window_s * rate * TIPME_POOL_SLOT_BYTES;
	src->view.cpus = cpus;
	src->view.subbuf_bytes = opt->subbuf_bytes ? opt->subbuf_bytes : choose_subbuf(bytes, cpus);
	if (!opt->pool_bytes)
		bytes += (uint64_t)src->view.subbuf_bytes * cpus;
	subs = bytes / src->view.subbuf_bytes;
	src->view.subs = subs > 3 * cpus ? subs : 3 * cpus; /* one to write, one to retire, one to keep */
	src->stack_entries = opt->stack_entries ? opt->stack_entries : 4096;
	src->stack_min_us = opt->stack_min_us ? opt->stack_min_us : 1000;
}

static int options_check(const struct tipme_kernel_options *opt, char *why, size_t why_len)
{
	unsigned int b = opt->subbuf_bytes, s = opt->stack_entries;

	if (b && (b < 4096 || b > (1U << 20) || b & (b - 1)))
		snprintf(why, why_len, "a sub-buffer of %u bytes is not a power of two from 4096 to 1048576", b);
	else if (s > 32768 || s & (s - 1))
		snprintf(why, why_len, "a table of %u stacks is not a power of two up to 32768", s);
	else if (opt->pool_bytes > 16ULL << 30 || opt->window_s > 86400 || opt->rate > 10000000)
		snprintf(why, why_len, "a pool of more than 16 GB, a window of more than a day or a rate over 10 million is too much");
	else
		return 0;
	return -EINVAL;
}

/* --- loading --- */

static const char *const needed[] = { "sched_switch", "sched_waking", "sched_wakeup_new", "sched_process_fork",
				      "sched_process_exit", "sched_process_exec", "task_rename" };

static int is_needed(const char *tracepoint)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!strcmp(needed[i], tracepoint))
			return 1;
	return 0;
}

/* Whether programs may name the preemption count: its symbol must be listed, which takes CONFIG_KALLSYMS_ALL. */
static int has_preempt_count(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[1024], name[512];
	int found = 0;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %*c %511s", name) == 1 &&
			(!strcmp(name, "__preempt_count") || !strcmp(name, "pcpu_hot"));
	if (f)
		fclose(f);
	return found;
}

static int ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && !strcmp(s + n - m, end);
}

/* Leaves out what this kernel has no tracepoint for: which interrupts have some, differs. */
static int choose_programs(struct kernel_source_bpf *skel, const struct btf *btf, char *why, size_t why_len)
{
	const char *other = has_preempt_count() ? "_plain" : "_counted";
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, skel->obj) {
		const char *tracepoint = strchr(bpf_program__section_name(prog), '/') + 1;
		char type[128];

		if (bpf_program__type(prog) == BPF_PROG_TYPE_TRACING &&
		    bpf_program__expected_attach_type(prog) == BPF_TRACE_ITER)
			continue;
		if (ends_in(bpf_program__name(prog), other))
			bpf_program__set_autoload(prog, false);
		snprintf(type, sizeof(type), "btf_trace_%s", tracepoint);
		if (btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) >= 0)
			continue;
		if (is_needed(tracepoint)) {
			snprintf(why, why_len, "this kernel has no tracepoint %s: a kernel of 5.18 or newer with tracing is needed",
				 tracepoint);
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

static int set_sizes(struct tipme_kernel_source *src)
{
	struct kernel_source_bpf *skel = src->skel;
	uint32_t cells = power_of_two_from(src->view.subs);
	int err;

	skel->rodata->tipme_pool_slots =
		(src->view.subbuf_bytes - sizeof(struct tipme_pool_header)) / TIPME_POOL_SLOT_BYTES;
	skel->rodata->tipme_cell_mask = cells - 1;
	skel->rodata->tipme_stack_mask = src->stack_entries - 1;
	skel->rodata->tipme_stack_min_ns = (uint64_t)src->stack_min_us * 1000;
	skel->rodata->tipme_stack_keep_ns = ((uint64_t)src->window_s * 2 + 60) * 1000000000;
	err = resize(skel->maps.tipme_pool, src->view.subbuf_bytes, src->view.subs);
	err = err ? err : resize(skel->maps.tipme_cells, sizeof(uint64_t), cells);
	err = err ? err : resize(skel->maps.tipme_cpus, sizeof(struct tipme_kernel_cpu), src->view.cpus);
	return err ? err : resize(skel->maps.tipme_stacks, sizeof(struct tipme_stack_entry), src->stack_entries);
}

static int map_memory(const struct bpf_map *map, int prot, struct map_memory *m)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *base;

	m->bytes = ((size_t)bpf_map__value_size(map) * bpf_map__max_entries(map) + page - 1) / page * page;
	base = mmap(NULL, m->bytes, prot, MAP_SHARED | MAP_POPULATE, bpf_map__fd(map), 0);
	if (base == MAP_FAILED)
		return -errno;
	m->base = base;
	return 0;
}

/* Readers write nothing: only the two tables that need a first content are writable, and only until they have it. */
static int map_all(struct tipme_kernel_source *src)
{
	struct kernel_source_bpf *skel = src->skel;
	int err = map_memory(skel->maps.tipme_pool, PROT_READ, &src->pool);

	err = err ? err : map_memory(skel->maps.tipme_cells, PROT_READ | PROT_WRITE, &src->cells);
	err = err ? err : map_memory(skel->maps.tipme_cpus, PROT_READ | PROT_WRITE, &src->cpus);
	err = err ? err : map_memory(skel->maps.tipme_sleeps, PROT_READ, &src->sleeps);
	err = err ? err : map_memory(skel->maps.tipme_stacks, PROT_READ, &src->stacks);
	src->view.base = src->pool.base;
	return err;
}

static void pool_init(struct tipme_kernel_source *src)
{
	struct tipme_kernel_cpu *cpus = src->cpus.base;
	uint64_t *cells = src->cells.base;

	for (uint64_t i = 0; i < src->view.subs; i++)
		cells[i] = TIPME_POOL_CELL(i, i);
	src->skel->bss->tipme_queue.tail = src->view.subs;
	for (unsigned int i = 0; i < src->view.cpus; i++)
		cpus[i].pool.cursor = TIPME_POOL_CURSOR_START;
	mprotect(src->cells.base, src->cells.bytes, PROT_READ);
	mprotect(src->cpus.base, src->cpus.bytes, PROT_READ);
}

/* Says in words why the kernel refused. */
static int refused(int err, const char *step, char *why, size_t why_len)
{
	if (err == -EPERM)
		snprintf(why, why_len,
			 "the kernel does not let us %s tracing programs: run as root, or with CAP_BPF and CAP_PERFMON%s", step,
			 geteuid() ? "" : " (root here lacks them: a container, or kernel lockdown)");
	else if (err == -ENOMEM)
		snprintf(why, why_len, "not enough memory for the recorder's pool: choose a shorter window or a smaller pool");
	else
		snprintf(why, why_len,
			 "the kernel refused to %s tracing programs (%s): set TIPME_LIBBPF_DEBUG=1 to see its reasons", step,
			 strerror(-err));
	return err;
}

static int load(struct tipme_kernel_source *src, char *why, size_t why_len)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int err;

	if (!btf) {
		snprintf(why, why_len, "this kernel does not describe its types (no /sys/kernel/btf/vmlinux): "
				       "a kernel built with CONFIG_DEBUG_INFO_BTF is needed, as Debian's are");
		return -ENOTSUP;
	}
	src->skel = kernel_source_bpf__open();
	if (!src->skel) {
		btf__free(btf);
		return refused(-errno, "open", why, why_len);
	}
	err = choose_programs(src->skel, btf, why, why_len);
	btf__free(btf);
	if (err)
		return err;
	err = set_sizes(src);
	err = err ? err : kernel_source_bpf__load(src->skel);
	return err ? refused(err, "load", why, why_len) : 0;
}

static int attach(struct tipme_kernel_source *src, char *why, size_t why_len)
{
	struct bpf_program *prog;
	int err = map_all(src);

	if (err)
		return refused(err, "share memory with", why, why_len);
	pool_init(src);
	err = kernel_source_bpf__attach(src->skel);
	if (err)
		return refused(err, "attach", why, why_len);
	src->view.start_ns = now_ns();
	src->skel->bss->tipme_start_ns = src->view.start_ns;
	bpf_object__for_each_program(prog, src->skel->obj)
		src->programs += bpf_program__fd(prog) >= 0;
	return 0;
}

int tipme_kernel_source_open(struct tipme_kernel_source **out, const struct tipme_kernel_options *opt, char *why,
			     size_t why_len)
{
	struct tipme_kernel_source *src;
	int cpus, err = options_check(opt, why, why_len);

	*out = NULL;
	if (err)
		return err;
	libbpf_set_print(libbpf_say);
	cpus = libbpf_num_possible_cpus();
	src = calloc(1, sizeof(*src));
	if (!src || cpus < 1) {
		free(src);
		return refused(cpus < 1 ? cpus : -ENOMEM, "count CPUs for", why, why_len);
	}
	choose_sizes(src, opt, cpus);
	src->scratch = tipme_pool_seen_alloc(&src->view);
	err = src->scratch ? load(src, why, why_len) : refused(-ENOMEM, "prepare", why, why_len);
	err = err ? err : attach(src, why, why_len);
	if (err) {
		tipme_kernel_source_close(src);
		return err;
	}
	*out = src;
	return 0;
}

static void unmap(struct map_memory *m)
{
	if (m->base)
		munmap(m->base, m->bytes);
}

/* Programs go first: once they are detached, and the kernel has waited for those that run, nobody writes. */
void tipme_kernel_source_close(struct tipme_kernel_source *src)
{
	if (!src)
		return;
	kernel_source_bpf__destroy(src->skel);
	unmap(&src->pool);
	unmap(&src->cells);
	unmap(&src->cpus);
	unmap(&src->sleeps);
	unmap(&src->stacks);
	tipme_pool_seen_free(src->scratch);
	free(src);
}

/* --- facts --- */

static uint64_t cpu_records(const struct tipme_kernel_source *src, const struct tipme_pool_cpu *c)
{
	uint64_t slots = src->skel->rodata->tipme_pool_slots;
	const volatile struct tipme_pool_cpu *v = c;
	uint64_t taken = v->taken;
	uint64_t head = v->cursor & TIPME_POOL_HEAD_MASK;

	return taken ? (taken - 1) * slots + (head < slots ? head : slots) : 0;
}

static uint64_t missed(const struct tipme_kernel_source *src)
{
	struct bpf_program *prog;
	uint64_t sum = 0;

	bpf_object__for_each_program(prog, src->skel->obj) {
		struct bpf_prog_info info = {};
		uint32_t len = sizeof(info);
		int fd = bpf_program__fd(prog);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len))
			sum += info.recursion_misses;
	}
	return sum;
}

int tipme_kernel_source_stats(struct tipme_kernel_source *src, struct tipme_kernel_stats *stats)
{
	const struct tipme_kernel_cpu *cpus = src->cpus.base;

	*stats = (struct tipme_kernel_stats){
		.start_ns = src->view.start_ns,
		.pool_bytes = src->pool.bytes,
		.map_bytes = src->pool.bytes + src->cells.bytes + src->cpus.bytes + src->sleeps.bytes + src->stacks.bytes,
		.cpus = src->view.cpus,
		.subbufs = src->view.subs,
		.subbuf_bytes = src->view.subbuf_bytes,
		.programs = src->programs,
		.lost.missed = missed(src),
	};
	for (unsigned int i = 0; i < src->view.cpus; i++) {
		stats->records += cpu_records(src, &cpus[i].pool);
		stats->lost.pool += cpus[i].pool.lost_pool;
		stats->lost.nested += cpus[i].pool.lost_nested;
		stats->lost.stack_table += cpus[i].lost_stack;
		stats->lost.sleep_table += cpus[i].lost_sleep;
	}
	return 0;
}

int tipme_kernel_source_coverage(struct tipme_kernel_source *src, struct tipme_kernel_coverage *cov, unsigned int n)
{
	if (n < src->view.cpus)
		return -EINVAL;
	tipme_pool_coverage(&src->view, src->scratch, cov, now_ns());
	return src->view.cpus;
}

size_t tipme_kernel_source_copy_bytes(const struct tipme_kernel_source *src)
{
	return tipme_pool_copy_bytes(&src->view);
}

int tipme_kernel_copy_alloc(const struct tipme_kernel_source *src, struct tipme_kernel_copy *c)
{
	return tipme_pool_copy_alloc(&src->view, c);
}

int tipme_kernel_source_copy(struct tipme_kernel_source *src, struct tipme_kernel_copy *c)
{
	return tipme_pool_copy(&src->view, c, now_ns(), 0);
}

int tipme_kernel_source_copy_more(struct tipme_kernel_source *src, struct tipme_kernel_copy *c)
{
	return tipme_pool_copy(&src->view, c, now_ns(), 1);
}

/* --- pictures --- */

/* Reads whole entries while there is room, then only counts. Returns the number seen or -errno. */
static int picture_read(int fd, struct tipme_kernel_thread *threads, unsigned int max, unsigned int *filled)
{
	struct tipme_kernel_thread spill[64];
	size_t room = (size_t)max * sizeof(*threads), len = 0;

	for (;;) {
		int full = len >= room;
		ssize_t n = full ? read(fd, spill, sizeof(spill)) : read(fd, (char *)threads + len, room - len);

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += n;
	}
	*filled = len < room ? len / sizeof(*threads) : max;
	return len / sizeof(*threads);
}

int tipme_kernel_source_picture(struct tipme_kernel_source *src, struct tipme_picture *picture,
				struct tipme_kernel_thread *threads, unsigned int max)
{
	unsigned int filled = 0;
	int fd = bpf_iter_create(bpf_link__fd(src->skel->links.tipme_picture));
	int seen;

	if (fd < 0)
		return -errno;
	*picture = (struct tipme_picture){ .ts_ns = now_ns(), .type = TIPME_PICTURE, .len8 = sizeof(*picture) / 8 };
	seen = picture_read(fd, threads, max, &filled);
	close(fd);
	if (seen < 0)
		return seen;
	picture->threads = seen;
	picture->changed = filled;
	picture->end_ns = now_ns();
	return filled;
}

/* --- names --- */

/* Copies an entry if it is whole: claimed entries change gen first and show their key last. */
static int stack_read(const struct tipme_stack_entry *e, struct tipme_stack_entry *out)
{
	const volatile struct tipme_stack_entry *v = e;
	uint64_t key = v->key;
	uint32_t gen = v->gen;

	__asm__ volatile("" ::: "memory");
	memcpy(out, e, sizeof(*out));
	__asm__ volatile("" ::: "memory");
	return key > TIPME_STACK_BUSY && v->gen == gen && v->key == key && out->count && out->count <= TIPME_STACK_FRAMES;
}

int tipme_kernel_source_stacks(struct tipme_kernel_source *src,
			       int (*fn)(void *arg, uint32_t stack_id, const uint64_t *frames, unsigned int count),
			       void *arg)
{
	const struct tipme_stack_entry *table = src->stacks.base;

	for (uint32_t i = 0; i < src->stack_entries; i++) {
		uint64_t frames[TIPME_STACK_FRAMES];
		struct tipme_stack_entry e;
		int ret;

		if (!stack_read(&table[i], &e))
			continue;
		memcpy(frames, e.frames, sizeof(frames));
		ret = fn(arg, (e.gen << 16) | (i + 1), frames, e.count);
		if (ret)
			return ret;
	}
	return 0;
}

struct namer {
	const struct tipme_kallsyms *ks;
	int (*emit)(void *arg, const void *rec, size_t len);
	void *arg;
};

union named {
	struct tipme_stack stack;
	struct tipme_function function;
	char bytes[2040]; /* the longest a record can be */
};

/* Pads the text with NUL to a multiple of 8 and emits the record; `fixed` is its size without the text. */
static int emit_named(const struct namer *n, union named *u, size_t fixed, size_t text)
{
	size_t len = (fixed + text + 1 + 7) / 8 * 8;

	u->stack.len8 = len / 8;
	return n->emit(n->arg, u, len);
}

static int emit_stack(void *arg, uint32_t stack_id, const uint64_t *frames, unsigned int count)
{
	union named u = { .stack = { .type = TIPME_STACK, .stack_id = stack_id, .frames = count } };
	size_t fixed = offsetof(struct tipme_stack, text), room = sizeof(u) - fixed - 8, len = 0;

	for (unsigned int i = 0; i < count; i++) {
		char name[160];
		size_t n;

		tipme_kallsyms_name(((struct namer *)arg)->ks, frames[i], name, sizeof(name));
		n = strlen(name);
		if (len + n + 1 > room)
			break;
		if (len)
			u.bytes[fixed + len++] = ';';
		memcpy(u.bytes + fixed + len, name, n);
		len += n;
	}
	return emit_named(arg, &u, fixed, len);
}

static int emit_function(const struct namer *n, uint32_t low)
{
	union named u = { .function = { .type = TIPME_FUNCTION, .function = low } };
	size_t fixed = offsetof(struct tipme_function, name);

	tipme_kallsyms_function(n->ks, low, u.bytes + fixed, 160);
	return emit_named(n, &u, fixed, strlen(u.bytes + fixed));
}

/* A set of functions: open addressing, 0 is no function. */
struct functions {
	uint32_t *slot;
	uint32_t size, used;
};

static int functions_grow(struct functions *f);

static int functions_add(struct functions *f, uint32_t low)
{
	uint32_t i = (low * 2654435761U) & (f->size - 1);

	for (; f->slot[i]; i = (i + 1) & (f->size - 1))
		if (f->slot[i] == low)
			return 0;
	f->slot[i] = low;
	return ++f->used * 2 > f->size ? functions_grow(f) : 0;
}

static int functions_grow(struct functions *f)
{
	struct functions g = { .slot = calloc((size_t)f->size * 2, sizeof(*g.slot)), .size = f->size * 2 };

	if (!g.slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->size; i++)
		if (f->slot[i])
			functions_add(&g, f->slot[i]);
	free(f->slot);
	*f = g;
	return 0;
}

static int functions_collect(struct functions *f, const char *p, size_t len)
{
	int err = 0;

	for (size_t step; len >= sizeof(struct tipme_head) && !err; p += step, len -= step) {
		const struct tipme_work_start *w = (const void *)p;

		step = (size_t)w->len8 * 8;
		if (step < sizeof(struct tipme_head) || step > len)
			return -EINVAL;
		if (w->type == TIPME_WORK_QUEUED)
			err = functions_add(f, ((const struct tipme_work_queued *)w)->function);
		else if (w->type == TIPME_WORK_START || w->type == TIPME_WORK_END)
			err = functions_add(f, w->function);
	}
	return err;
}

int tipme_kernel_source_names(struct tipme_kernel_source *src, const struct tipme_kallsyms *ks, const void *recs,
			      size_t len, int (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	struct namer n = { .ks = ks, .emit = emit, .arg = arg };
	struct functions f = { .slot = calloc(256, sizeof(*f.slot)), .size = 256 };
	int err = f.slot ? functions_collect(&f, recs, recs ? len : 0) : -ENOMEM;

	err = err ? err : tipme_kernel_source_stacks(src, emit_stack, &n);
	for (uint32_t i = 0; !err && i < f.size; i++)
		if (f.slot[i])
			err = emit_function(&n, f.slot[i]);
	free(f.slot);
	return err;
}
