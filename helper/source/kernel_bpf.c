// SPDX-License-Identifier: GPL-2.0-only
/* Loads the tracing programs and reads the tables that they write. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "kernel_backend.h"
#include "kernel_tables.h"
#include "kernel_source.skel.h"
#include "kernel_source_hot.skel.h"
#include "kernel_source_variable.skel.h"

/* Programs of classes, of which two for each CPU. */
#define TIPME_LINKS_MAX (64 + 2 * 1024)
#define SAMPLES_PER_S 99
#define USER_STACKS_MAX 32768 /* ids have 16 bits */
#define BESIDE_RATE 300 /* records a second of a source that stands beside another, samples apart */
#define SPIN_MIN_NS 50000
#define IRQ_MIN_NS 100000

struct map_memory {
	void *base;
	size_t bytes;
};

struct class_link {
	struct bpf_link *link;
	unsigned int which; /* class */
	int cpu;	    /* whose events the program takes; -1: it is attached to no events */
	int event_fd;	    /* the link's */
	uint64_t enabled_ns; /* for how long the events were on at the last look */
};

struct bpf_source {
	struct tipme_kernel_source base; /* first: it is what others hold */
	struct kernel_source_bpf *skel;
	struct map_memory pool, cells, cpus, stacks, user_stacks;
	struct tipme_kernel_options opt; /* complete */
	unsigned int user_entries;
	uint32_t beside; /* classes that it records beside another source; 0: it stands alone, and records all */
	unsigned int programs;
	struct class_link links[TIPME_LINKS_MAX]; /* of classes; those of the rest are the skeleton's */
	unsigned int link_count;
	int measure_fd; /* -1: we do not have the kernel measure (any more) */
	int measure_busy;
	uint64_t measure_due_ns, measured_ns; /* next look; when costs were found last */
	struct {
		uint64_t ns, runs;
	} counted[TIPME_CLASSES + 1]; /* up to the costs that are known */
	uint32_t cost_ns[TIPME_CLASSES + 1];
	struct ring_buffer *lives;
	struct life_taker *taker; /* only while lives are taken */
};

_Static_assert(sizeof(struct tipme_kernel_thread) == sizeof(struct tipme_picture_entry),
	       "pictures are read into place");

static struct bpf_source *bpf_of(struct tipme_kernel_source *base)
{
	return (struct bpf_source *)base;
}

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

/* Where the preemption count is, as recorder.bpf.h has it. */
enum count_place { COUNT_NOWHERE, COUNT_IN_VARIABLE, COUNT_IN_HOT };

/* The symbol must be listed, which takes CONFIG_KALLSYMS_ALL, and its type be known. */
static enum count_place count_place_of(const struct btf *btf)
{
	static const char *const symbol[] = { [COUNT_IN_VARIABLE] = "__preempt_count", [COUNT_IN_HOT] = "pcpu_hot" };
	FILE *f = fopen("/proc/kallsyms", "re");
	enum count_place found = COUNT_NOWHERE;
	char line[1024], name[512];

	while (f && !found && fgets(line, sizeof(line), f))
		for (int i = COUNT_IN_VARIABLE; i <= COUNT_IN_HOT && !found; i++)
			if (sscanf(line, "%*s %*c %511s", name) == 1 && !strcmp(name, symbol[i]))
				found = i;
	if (f)
		fclose(f);
	return found && btf__find_by_name_kind(btf, symbol[found], BTF_KIND_VAR) > 0 ? found : COUNT_NOWHERE;
}

/* The skeleton of one object serves for all three: they differ in instructions alone. */
static struct kernel_source_bpf *skeleton_open(enum count_place place)
{
	struct kernel_source_bpf *skel = calloc(1, sizeof(*skel));
	int err = skel ? kernel_source_bpf__create_skeleton(skel) : -ENOMEM;

	if (!err && place == COUNT_IN_VARIABLE)
		skel->skeleton->data = (void *)kernel_source_variable__elf_bytes(&skel->skeleton->data_sz);
	if (!err && place == COUNT_IN_HOT)
		skel->skeleton->data = (void *)kernel_source_hot__elf_bytes(&skel->skeleton->data_sz);
	err = err ? err : bpf_object__open_skeleton(skel->skeleton, NULL);
	if (!err)
		return skel;
	kernel_source_bpf__destroy(skel);
	errno = -err;
	return NULL;
}

static int ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && !strcmp(s + n - m, end);
}

/* The class that a program belongs to, by its name; -1: it always runs. */
static int class_of(const struct bpf_program *prog)
{
	static const char *const prefix[TIPME_CLASSES] = {
		[TIPME_CLASS_IO] = "tipme_io_",
		[TIPME_CLASS_LOCK] = "tipme_lock_",
		[TIPME_CLASS_MEMORY] = "tipme_memory_",
		[TIPME_CLASS_SIGNAL] = "tipme_signal_",
		[TIPME_CLASS_PRIORITY] = "tipme_priority_",
		[TIPME_CLASS_THROTTLE] = "tipme_throttle_",
		[TIPME_CLASS_FREQUENCY] = "tipme_frequency",
		[TIPME_CLASS_IDLE] = "tipme_idle",
		[TIPME_CLASS_SAMPLE] = "tipme_sample_",
		[TIPME_CLASS_IDENTITY] = "tipme_life_",
		[TIPME_CLASS_MIGRATE] = "tipme_migrate_",
	};

	for (int i = 0; i < TIPME_CLASSES; i++)
		if (prefix[i] && !strncmp(bpf_program__name(prog), prefix[i], strlen(prefix[i])))
			return i;
	return -1;
}

/* Some kernels are built without what hooking functions takes, others refuse it for some: try it with a program that does nothing. */
static int may_hook(const struct btf *btf, const char *function)
{
	const struct bpf_insn nothing[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K }, { .code = BPF_JMP | BPF_EXIT } };
	int id = btf__find_by_name_kind(btf, function, BTF_KIND_FUNC), fd = -1, link = -1;
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY, .attach_btf_id = id);

	if (id > 0)
		fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "tipme_nothing", "GPL", nothing, 2, &opts);
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
	if (!strncmp(section, "fentry/", 7) || !strncmp(section, "fexit/", 6))
		return may_hook(btf, *name);
	snprintf(type, sizeof(type), "btf_trace_%s", *name);
	return btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) >= 0;
}

/* Whether a source that stands beside another needs the program; samples tell which softirq they came into, and these whose it is. */
static int beside_needs(const struct bpf_program *prog, uint32_t classes)
{
	const char *name = bpf_program__name(prog);
	int which = class_of(prog);

	/* Any other source sees what is lent. */
	if (!strcmp(name, "tipme_priority_lent"))
		return 0;
	if (!strcmp(name, "tipme_suspend"))
		return 1;
	if (which >= 0)
		return !!(classes & 1U << which);
	return classes & 1U << TIPME_CLASS_SAMPLE && (!strncmp(name, "tipme_softirq_", 14) || !strcmp(name, "tipme_mappings"));
}

/* Leaves out what this kernel has no hook for: which interrupts have tracepoints, differs. Classes are attached one by one, later. */
static int choose_programs(const struct bpf_source *src, const struct btf *btf, enum count_place place, char *why, size_t why_len)
{
	struct kernel_source_bpf *skel = src->skel;
	const char *other = place ? "_plain" : "_counted", *hook;
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, skel->obj) {
		if (class_of(prog) >= 0 || !strcmp(bpf_program__name(prog), "tipme_mappings"))
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
			snprintf(why, why_len, "this kernel has no tracepoint %s: a kernel of 5.18 or newer with tracing is needed",
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
static unsigned int user_entries(const struct tipme_kernel_options *opt)
{
	uint64_t most = power_of_two_from((uint64_t)SAMPLES_PER_S * (unsigned int)get_nprocs() * opt->window_s);

	return most > USER_STACKS_MAX ? USER_STACKS_MAX : most < opt->stack_entries ? opt->stack_entries : (unsigned int)most;
}

static int set_sizes(struct bpf_source *src)
{
	struct kernel_source_bpf *skel = src->skel;
	uint32_t cells = power_of_two_from(src->base.view.subs);
	int err;

	skel->rodata->tipme_pool_slots =
		(src->base.view.subbuf_bytes - sizeof(struct tipme_pool_header)) / TIPME_POOL_SLOT_BYTES;
	skel->rodata->tipme_cell_mask = cells - 1;
	skel->rodata->tipme_stack_mask = src->opt.stack_entries - 1;
	skel->rodata->tipme_stack_base = src->beside ? TIPME_STACKS_BESIDE : 0;
	skel->rodata->tipme_stack_min_ns = (uint64_t)src->opt.stack_min_us * 1000;
	skel->rodata->tipme_stack_keep_ns = ((uint64_t)src->opt.window_s * 2 + 60) * 1000000000;
	err = resize(skel->maps.tipme_pool, src->base.view.subbuf_bytes, src->base.view.subs);
	err = err ? err : resize(skel->maps.tipme_cells, sizeof(uint64_t), cells);
	err = err ? err : resize(skel->maps.tipme_cpus, sizeof(struct tipme_kernel_cpu), src->base.view.cpus);
	skel->rodata->tipme_user_stack_mask = src->user_entries - 1;
	skel->rodata->tipme_sample_period_us = 1000000 / SAMPLES_PER_S;
	err = err ? err : resize(skel->maps.tipme_user_stacks, sizeof(struct tipme_user_stack_entry), src->user_entries);
	return err ? err : resize(skel->maps.tipme_stacks, sizeof(struct tipme_stack_entry), src->opt.stack_entries);
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
static int map_all(struct bpf_source *src)
{
	struct kernel_source_bpf *skel = src->skel;
	int err = map_memory(skel->maps.tipme_pool, PROT_READ, &src->pool);

	err = err ? err : map_memory(skel->maps.tipme_cells, PROT_READ | PROT_WRITE, &src->cells);
	err = err ? err : map_memory(skel->maps.tipme_cpus, PROT_READ | PROT_WRITE, &src->cpus);
	err = err ? err : map_memory(skel->maps.tipme_stacks, PROT_READ, &src->stacks);
	err = err ? err : map_memory(skel->maps.tipme_user_stacks, PROT_READ, &src->user_stacks);
	src->base.view.base = src->pool.base;
	return err;
}

static void pool_init(struct bpf_source *src)
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

static int load(struct bpf_source *src, char *why, size_t why_len)
{
	struct btf *btf = btf__load_vmlinux_btf();
	enum count_place place;
	int err;

	if (!btf) {
		snprintf(why, why_len, "this kernel does not describe its types (no /sys/kernel/btf/vmlinux): "
				       "a kernel built with CONFIG_DEBUG_INFO_BTF is needed, as Debian's are");
		return -ENOTSUP;
	}
	place = count_place_of(btf);
	src->skel = skeleton_open(place);
	if (!src->skel) {
		btf__free(btf);
		return refused(-errno, "open", why, why_len);
	}
	err = choose_programs(src, btf, place, why, why_len);
	btf__free(btf);
	if (err)
		return err;
	err = set_sizes(src);
	err = err ? err : kernel_source_bpf__load(src->skel);
	return err ? refused(err, "load", why, why_len) : 0;
}

/* --- processes --- */

struct life_taker {
	int (*fn)(void *arg, const struct tipme_life *life);
	void *arg;
};

/* The lengths are the kernel's own, but what is cut is cut here. */
static int life_taken(void *arg, void *data, size_t len)
{
	struct bpf_source *src = arg;

	return len >= sizeof(struct tipme_life) && src->taker ? src->taker->fn(src->taker->arg, data) : 0;
}

static int bpf_lives_fd(struct tipme_kernel_source *base)
{
	return bpf_of(base)->lives ? ring_buffer__epoll_fd(bpf_of(base)->lives) : -1;
}

static int bpf_lives_take(struct tipme_kernel_source *base, int (*fn)(void *arg, const struct tipme_life *life), void *arg)
{
	struct bpf_source *src = bpf_of(base);
	struct life_taker taker = { fn, arg };
	int n;

	if (!src->lives)
		return 0;
	src->taker = &taker;
	n = ring_buffer__consume(src->lives);
	src->taker = NULL;
	return n;
}

/* --- classes --- */

/* As the kernel tells: what waking up from each idle state takes. */
static int idle_latencies(struct bpf_source *src)
{
	int any = 0;

	for (int i = 0; i < TIPME_IDLE_STATES; i++) {
		char path[128];
		unsigned int us = 0;
		FILE *f;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cpuidle/state%d/latency", i);
		f = fopen(path, "re");
		if (!f || fscanf(f, "%u", &us) != 1)
			us = 0;
		if (f)
			fclose(f);
		src->skel->bss->tipme_idle_latency_ns[i] = us >= src->opt.idle_min_us && us < 4000000 ? us * 1000 : 0;
		any |= src->skel->bss->tipme_idle_latency_ns[i] != 0;
	}
	return any;
}

/* Which classes have programs here; interrupts need none of their own. */
static void classes_look(struct bpf_source *src)
{
	struct bpf_program *prog;
	int which;

	src->base.classes_able = src->beside ? 0 : 1U << TIPME_CLASS_IRQ;
	bpf_object__for_each_program(prog, src->skel->obj) {
		if (bpf_program__fd(prog) < 0)
			continue;
		which = class_of(prog);
		if (which < 0)
			src->programs++;
		else
			src->base.classes_able |= 1U << which;
	}
	src->base.tells_affinity = bpf_program__fd(src->skel->progs.tipme_priority_affinity_end) >= 0;
	if (!idle_latencies(src))
		src->base.classes_able &= ~(1U << TIPME_CLASS_IDLE);
}

static int link_add(struct bpf_source *src, struct bpf_link *link, unsigned int which, int cpu, int event_fd)
{
	if (!link)
		return -errno;
	if (src->link_count == TIPME_LINKS_MAX) {
		bpf_link__destroy(link);
		return -ENOSPC;
	}
	src->links[src->link_count++] = (struct class_link){ link, which, cpu, event_fd, 0 };
	return 0;
}

/* All of it, or only what is attached to events. The same order for all: the last is the first to go, and takes the place of none. */
static void class_detach(struct bpf_source *src, unsigned int which, bool only_events)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < src->link_count; i++) {
		if (src->links[i].which == which && (!only_events || src->links[i].cpu >= 0)) {
			bpf_link__destroy(src->links[i].link);
			continue;
		}
		src->links[kept++] = src->links[i];
	}
	src->link_count = kept;
}

/* Software events of one CPU: its clock, or page faults that had to read, each of them. */
int tipme_kernel_event_open(unsigned int which, int cpu)
{
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(clock),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = SAMPLES_PER_S,
		.exclude_idle = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
	};
	struct perf_event_attr faults = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(faults),
		.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
		.sample_period = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
	};
	int fd = syscall(SYS_perf_event_open, which == TIPME_CLASS_SAMPLE ? &clock : &faults, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int event_add(struct bpf_source *src, struct bpf_program *prog, unsigned int which, int cpu)
{
	int fd = tipme_kernel_event_open(which, cpu), err;

	if (fd == -EACCES && src->opt.event_open)
		fd = src->opt.event_open(which, cpu);
	if (fd < 0)
		return fd == -ENODEV ? 0 : fd; /* a CPU that is off */
	err = link_add(src, bpf_program__attach_perf_event(prog, fd), which, cpu, fd);
	if (err)
		close(fd); /* else it belongs to the link */
	return err;
}

static int events_attach(struct bpf_source *src, struct bpf_program *prog, unsigned int which)
{
	int err = 0;

	for (unsigned int cpu = 0; cpu < src->base.view.cpus && !err; cpu++)
		err = event_add(src, prog, which, cpu);
	if (err)
		class_detach(src, which, true);
	src->base.no_events[which] = err;
	return err;
}

/*
 * Perf ends the events of a CPU that goes, for good, and every CPU but the first goes when the machine sleeps. Nobody is told, and it may have come back
 * before anybody looks; but events that have ended are not on any longer. Those of other CPUs are for as long as they live.
 */
static bool events_ended(struct class_link *l)
{
	uint64_t told[2]; /* how many, and for how long they were on */

	if (read(l->event_fd, told, sizeof(told)) != sizeof(told))
		return true;
	if (told[1] == l->enabled_ns)
		return true;
	l->enabled_ns = told[1];
	return false;
}

/* The last one takes its place. */
static void ended_remove(struct bpf_source *src)
{
	for (unsigned int i = 0; i < src->link_count;) {
		if (src->links[i].cpu < 0 || !events_ended(&src->links[i])) {
			i++;
			continue;
		}
		bpf_link__destroy(src->links[i].link);
		src->links[i] = src->links[--src->link_count];
	}
}

static bool has_events(const struct bpf_source *src, unsigned int which, int cpu)
{
	for (unsigned int i = 0; i < src->link_count; i++)
		if (src->links[i].which == which && src->links[i].cpu == cpu)
			return true;
	return false;
}

static unsigned int event_cpus(const struct bpf_source *src, unsigned int which)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < src->link_count; i++)
		n += src->links[i].which == which && src->links[i].cpu >= 0;
	return n;
}

/* A class whose every CPU had gone would be taken for one that is off; but the last CPU cannot go. */
static int bpf_cpus_look(struct tipme_kernel_source *base)
{
	struct bpf_source *src = bpf_of(base);
	unsigned int online = (unsigned int)get_nprocs();
	struct bpf_program *prog;
	uint32_t on = 0;
	int err, first = 0;

	for (unsigned int i = 0; i < src->link_count; i++)
		on |= src->links[i].cpu >= 0 ? 1U << src->links[i].which : 0;
	if (!on)
		return 0;
	ended_remove(src);
	bpf_object__for_each_program(prog, src->skel->obj) {
		int which = bpf_program__type(prog) == BPF_PROG_TYPE_PERF_EVENT ? class_of(prog) : -1;

		if (which < 0 || !(on & 1U << which) || event_cpus(src, which) >= online)
			continue;
		for (unsigned int cpu = 0; cpu < src->base.view.cpus; cpu++) {
			err = has_events(src, which, cpu) ? 0 : event_add(src, prog, which, cpu);
			first = first ? first : err;
		}
	}
	return first;
}

/* What the programs of interrupts and locks look at, beside being attached. */
static void threshold_set(struct bpf_source *src, unsigned int which, int on)
{
	if (which == TIPME_CLASS_IRQ)
		src->skel->bss->tipme_irq_min_ns = on ? IRQ_MIN_NS : 0;
	if (which == TIPME_CLASS_LOCK)
		src->skel->bss->tipme_spin_min_ns = on ? SPIN_MIN_NS : 0;
}

/* Events take a right of their own: where they are refused, a class that has more goes on with what that is. */
static int class_attach(struct bpf_source *src, unsigned int which)
{
	struct bpf_program *prog;
	unsigned int others = 0;
	int err = 0, refused = 0;

	bpf_object__for_each_program(prog, src->skel->obj) {
		if (err || bpf_program__fd(prog) < 0 || class_of(prog) != (int)which)
			continue;
		if (bpf_program__type(prog) == BPF_PROG_TYPE_PERF_EVENT) {
			refused = events_attach(src, prog, which);
			continue;
		}
		err = link_add(src, bpf_program__attach(prog), which, -1, -1);
		others++;
	}
	return err || others ? err : refused;
}

static int bpf_class_set(struct tipme_kernel_source *base, unsigned int which, int on)
{
	struct bpf_source *src = bpf_of(base);
	int err;

	threshold_set(src, which, on);
	err = on ? class_attach(src, which) : 0;
	if (err || !on)
		class_detach(src, which, false);
	if (err)
		threshold_set(src, which, 0);
	return err;
}

static int attach(struct bpf_source *src, char *why, size_t why_len)
{
	int err = map_all(src);

	if (err)
		return refused(err, "share memory with", why, why_len);
	pool_init(src);
	err = kernel_source_bpf__attach(src->skel);
	if (err)
		return refused(err, "attach", why, why_len);
	src->base.view.start_ns = now_ns();
	src->skel->bss->tipme_start_ns = src->base.view.start_ns;
	classes_look(src);
	src->lives = ring_buffer__new(bpf_map__fd(src->skel->maps.tipme_lives), life_taken, src, NULL);
	if (!src->lives)
		src->base.classes_able &= ~(1U << TIPME_CLASS_IDENTITY);
	return 0;
}

static void bpf_close(struct tipme_kernel_source *base);
static void measure_begin(struct bpf_source *src);

static int open_for(struct tipme_kernel_source **out, const struct tipme_kernel_options *opt, uint32_t beside, char *why, size_t why_len)
{
	int err, cpus;
	struct bpf_source *src;

	libbpf_set_print(libbpf_say);
	cpus = libbpf_num_possible_cpus();
	src = calloc(1, sizeof(*src));
	if (!src || cpus < 1) {
		free(src);
		return refused(cpus < 1 ? cpus : -ENOMEM, "count CPUs for", why, why_len);
	}
	src->opt = *opt;
	src->beside = beside;
	src->measure_fd = -1;
	tipme_kernel_sizes(&src->base.view, &src->opt, cpus);
	src->user_entries = opt->stack_entries ? opt->stack_entries : user_entries(&src->opt);
	err = load(src, why, why_len);
	err = err ? err : attach(src, why, why_len);
	if (!err)
		measure_begin(src);
	if (err) {
		bpf_close(&src->base);
		return err;
	}
	*out = &src->base;
	return 0;
}

static int bpf_open(struct tipme_kernel_source **out, const struct tipme_kernel_options *opt, char *why, size_t why_len)
{
	return open_for(out, opt, 0, why, why_len);
}

/* What it may record is set when it is open: no class is on yet. */
static int bpf_open_beside(struct tipme_kernel_source **out, const struct tipme_kernel_options *opt, uint32_t classes, char *why,
			   size_t why_len)
{
	struct tipme_kernel_options small = *opt;

	small.rate = BESIDE_RATE + (SAMPLES_PER_S + 1) * libbpf_num_possible_cpus();
	small.pool_bytes = 0;
	small.subbuf_bytes = 0;
	if (!small.stack_entries || small.stack_entries > TIPME_STACKS_BESIDE_MAX)
		small.stack_entries = small.stack_entries ? TIPME_STACKS_BESIDE_MAX : 0;
	return open_for(out, &small, classes, why, why_len);
}

static void unmap(struct map_memory *m)
{
	if (m->base)
		munmap(m->base, m->bytes);
}

/* Programs go first: once they are detached, and the kernel has waited for those that run, nobody writes. */
static void bpf_close(struct tipme_kernel_source *base)
{
	struct bpf_source *src = bpf_of(base);

	for (unsigned int i = 0; i < TIPME_CLASSES; i++)
		class_detach(src, i, false);
	if (src->measure_fd >= 0)
		close(src->measure_fd);
	ring_buffer__free(src->lives);
	kernel_source_bpf__destroy(src->skel);
	unmap(&src->pool);
	unmap(&src->cells);
	unmap(&src->cpus);
	unmap(&src->stacks);
	unmap(&src->user_stacks);
	free(src);
}

/* --- facts --- */

static struct tipme_kernel_tables tables_of(const struct bpf_source *src)
{
	return (struct tipme_kernel_tables){
		.cpus = src->cpus.base,
		.cpu_count = src->base.view.cpus,
		.slots = src->skel->rodata->tipme_pool_slots,
		.stacks = src->stacks.base,
		.stack_base = src->beside ? TIPME_STACKS_BESIDE : 0,
		.stack_entries = src->opt.stack_entries,
	};
}

static uint64_t missed(const struct bpf_source *src)
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

/* --- what a record costs --- */

#define MEASURE_NS 2000000000ULL
#define MEASURE_RUNS 20 /* fewer tell nothing */
#define ECHO_STACK_BYTES (64 << 10)

/* Of two threads that pass a byte to and fro: wakings and switches. */
static void *echo(void *arg)
{
	const int *fds = arg;
	char byte;

	while (read(fds[0], &byte, 1) == 1 && write(fds[1], &byte, 1) == 1)
		;
	return NULL;
}

/* So that the most frequent programs have something to be measured by, also on an idle machine. */
static void measure_load(void)
{
	int there[2], back[2], fds[2];
	pthread_attr_t attr;
	pthread_t thread;
	char byte = 0;

	if (pipe2(there, O_CLOEXEC))
		return;
	if (pipe2(back, O_CLOEXEC)) {
		close(there[0]);
		close(there[1]);
		return;
	}
	fds[0] = there[0];
	fds[1] = back[1];
	/* A stack of the usual size would stay with the process, and be locked in memory with it. */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, ECHO_STACK_BYTES);
	if (!pthread_create(&thread, &attr, echo, fds)) {
		for (int i = 0; i < 1000 && write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1; i++)
			;
		close(there[1]);
		there[1] = -1;
		pthread_join(thread, NULL);
	}
	pthread_attr_destroy(&attr);
	if (there[1] >= 0)
		close(there[1]);
	close(there[0]);
	close(back[0]);
	close(back[1]);
}

/* Measuring costs a reading of the clock more in each program, so it ends soon. It takes CAP_SYS_ADMIN: only now, while we may have it. */
static void measure_begin(struct bpf_source *src)
{
	src->measure_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	src->measure_due_ns = now_ns() + MEASURE_NS;
	if (src->measure_fd >= 0 && !src->beside)
		measure_load();
}

/* Programs of no class: those that count interrupts write no record, but are part of what one costs. */
static int writes_record(const struct bpf_program *prog)
{
	static const char *const names[] = { "tipme_sched_", "tipme_fork", "tipme_exit", "tipme_exec", "tipme_rename", "tipme_work_" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(bpf_program__name(prog), names[i], strlen(names[i])))
			return 1;
	return 0;
}

/* Returns whether there were enough of any class since the last time. */
static int measure_take(struct bpf_source *src)
{
	uint64_t ns[TIPME_CLASSES + 1] = { 0 }, runs[TIPME_CLASSES + 1] = { 0 };
	struct bpf_program *prog;
	int any = 0;

	bpf_object__for_each_program(prog, src->skel->obj) {
		struct bpf_prog_info info = {};
		uint32_t len = sizeof(info);
		int which = class_of(prog), fd = bpf_program__fd(prog);

		if (fd < 0 || bpf_program__expected_attach_type(prog) == BPF_TRACE_ITER || bpf_obj_get_info_by_fd(fd, &info, &len))
			continue; /* pictures are not part of what a record costs */
		ns[which < 0 ? TIPME_CLASSES : which] += info.run_time_ns;
		if (which >= 0 || writes_record(prog))
			runs[which < 0 ? TIPME_CLASSES : which] += info.run_cnt;
	}
	for (int i = 0; i <= TIPME_CLASSES; i++) {
		uint64_t more = runs[i] - src->counted[i].runs;

		if (more < MEASURE_RUNS)
			continue;
		src->cost_ns[i] = (ns[i] - src->counted[i].ns) / more;
		src->counted[i].ns = ns[i];
		src->counted[i].runs = runs[i];
		any = 1;
	}
	return any;
}

/* Somebody else may have the kernel measure, too, at any time. Whoever comes first looks: the writer asks as well as status. */
static void measure_look(struct bpf_source *src)
{
	uint64_t now = now_ns();

	if (now < src->measure_due_ns || __sync_lock_test_and_set(&src->measure_busy, 1))
		return;
	src->measure_due_ns = now + MEASURE_NS;
	if (measure_take(src))
		src->measured_ns = now;
	if (src->measure_fd >= 0)
		close(src->measure_fd);
	src->measure_fd = -1;
	__sync_lock_release(&src->measure_busy);
}

static int bpf_stats(struct tipme_kernel_source *base, struct tipme_kernel_stats *stats)
{
	struct bpf_source *src = bpf_of(base);
	const struct tipme_kernel_tables tables = tables_of(src);

	*stats = (struct tipme_kernel_stats){
		.start_ns = src->base.view.start_ns,
		.pool_bytes = src->pool.bytes,
		.map_bytes = src->pool.bytes + src->cells.bytes + src->cpus.bytes + sizeof(*src->skel->bss) + src->stacks.bytes +
			     src->user_stacks.bytes,
		.cpus = src->base.view.cpus,
		.subbufs = src->base.view.subs,
		.subbuf_bytes = src->base.view.subbuf_bytes,
		.programs = src->programs + src->link_count,
		.lost.missed = missed(src),
	};
	measure_look(src);
	stats->measured_ns = src->measured_ns;
	stats->measuring = src->measure_fd >= 0;
	memcpy(stats->cost_ns, src->cost_ns, sizeof(stats->cost_ns));
	tipme_kernel_tables_count(&tables, stats);
	return 0;
}

/* Whatever lies between two that have begun since then, lies between these, too. Nobody writes: who would be awake to ask? */
static int bpf_suspended(struct tipme_kernel_source *base, uint64_t since_ns, uint64_t *from_ns, uint64_t *to_ns)
{
	const struct kernel_source_bpf__bss *bss = bpf_of(base)->skel->bss;
	int err = -ENOENT;

	for (uint32_t n = bss->tipme_suspend_count, i = n > TIPME_SUSPENDS ? n - TIPME_SUSPENDS : 0; i < n; i++) {
		const struct tipme_suspended *s = (const void *)&bss->tipme_suspends[i % TIPME_SUSPENDS];

		if (!s->to_ns || s->from_ns < since_ns)
			continue;
		*from_ns = err ? s->from_ns : *from_ns;
		*to_ns = s->to_ns;
		err = 0;
	}
	return err;
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

static int bpf_picture(struct tipme_kernel_source *base, struct tipme_picture *picture,
		       struct tipme_kernel_thread *threads, unsigned int max)
{
	struct bpf_source *src = bpf_of(base);
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

/* --- stacks --- */

static int bpf_stacks(struct tipme_kernel_source *base,
		      int (*fn)(void *arg, uint32_t stack_id, const uint64_t *frames, unsigned int count), void *arg)
{
	const struct tipme_kernel_tables tables = tables_of(bpf_of(base));

	return tipme_kernel_tables_stacks(&tables, fn, arg);
}

static int user_stack_read(const struct tipme_user_stack_entry *e, struct tipme_user_stack_entry *out)
{
	const volatile struct tipme_user_stack_entry *v = e;
	uint64_t key = v->key;
	uint32_t gen = v->gen;

	__asm__ volatile("" ::: "memory");
	memcpy(out, e, sizeof(*out));
	__asm__ volatile("" ::: "memory");
	return key > TIPME_STACK_BUSY && v->gen == gen && v->key == key && out->count && out->count <= TIPME_USER_FRAMES;
}

static int bpf_user_stacks(struct tipme_kernel_source *base, int (*fn)(void *arg, const struct tipme_user_frames *f), void *arg)
{
	struct bpf_source *src = bpf_of(base);
	const struct tipme_user_stack_entry *table = src->user_stacks.base;

	for (uint32_t i = 0; i < src->user_entries; i++) {
		struct tipme_user_stack_entry e;
		struct tipme_user_frames f;
		int ret;

		if (!user_stack_read(&table[i], &e))
			continue;
		f = (struct tipme_user_frames){ (e.gen << 16) | (i + 1), e.pid, e.count, e.used_ns, e.first_ns, e.space, { 0 } };
		memcpy(f.frames, e.frames, sizeof(f.frames));
		ret = fn(arg, &f);
		if (ret)
			return ret;
	}
	return 0;
}

static void bpf_stacks_old(struct tipme_kernel_source *base, uint64_t before_ns)
{
	*(volatile __u64 *)&bpf_of(base)->skel->bss->tipme_stack_old_ns = before_ns;
}

static int bpf_mappings(struct tipme_kernel_source *base, uint32_t pid, struct tipme_mapping *m, unsigned int max)
{
	struct bpf_source *src = bpf_of(base);
	union bpf_iter_link_info info = { .task.pid = pid };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	struct bpf_link *link = bpf_program__attach_iter(src->skel->progs.tipme_mappings, &opts);
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1, err = fd < 0 ? -errno : 0;
	size_t len = 0, room = max * sizeof(*m);

	while (!err && len < room) {
		ssize_t n = read(fd, (char *)m + len, room - len);

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			err = -errno;
		if (n <= 0)
			break;
		len += n;
	}
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err ? err : (int)(len / sizeof(*m));
}

const struct tipme_kernel_backend tipme_kernel_bpf = {
	.source = TIPME_SOURCE_KERNEL_BPF,
	.name = "kernel_bpf",
	.open = bpf_open,
	.open_beside = bpf_open_beside,
	.close = bpf_close,
	.stats = bpf_stats,
	.picture = bpf_picture,
	.stacks = bpf_stacks,
	.class_set = bpf_class_set,
	.cpus_look = bpf_cpus_look,
	.suspended = bpf_suspended,
	.user_stacks = bpf_user_stacks,
	.stacks_old = bpf_stacks_old,
	.mappings = bpf_mappings,
	.lives_fd = bpf_lives_fd,
	.lives_take = bpf_lives_take,
};
