// SPDX-License-Identifier: GPL-2.0-only
/*
 * Record classes of the tracing programs: attached when switched on, detached when off; counters of
 * each CPU, which end when it goes.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "kernel_bpf.h"
#include "small_file.h"

#define SPIN_MIN_NS 50000
#define IRQ_MIN_NS 100000

/* As the kernel tells: what waking up from each idle state takes. */
static int idle_latencies(struct bpf_source *src)
{
	int any = 0;

	for (int i = 0; i < TIPME_IDLE_STATES; i++) {
		char path[128];
		int64_t us;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cpuidle/state%d/latency",
			 i);
		tipme_file_number(path, &us);
		src->skel->bss->tipme_idle_latency_ns[i] =
			us >= src->opt.idle_min_us && us < 4000000 ? (uint32_t)us * 1000 : 0;
		any |= src->skel->bss->tipme_idle_latency_ns[i] != 0;
	}
	return any;
}

/* Which classes have programs here; interrupts need none of their own. */
void tipme_bpf_classes_look(struct bpf_source *src)
{
	struct bpf_program *prog;
	int which;

	src->base.classes_able = src->beside ? 0 : 1U << TIPME_CLASS_IRQ;
	bpf_object__for_each_program(prog, src->skel->obj)
	{
		if (bpf_program__fd(prog) < 0)
			continue;
		which = tipme_bpf_class_of(prog);
		if (which < 0)
			src->programs++;
		else
			src->base.classes_able |= 1U << which;
	}
	src->base.tells_affinity =
		bpf_program__fd(src->skel->progs.tipme_priority_affinity_end) >= 0;
	if (!idle_latencies(src))
		src->base.classes_able &= ~(1U << TIPME_CLASS_IDLE);
}

static int link_add(struct bpf_source *src, struct bpf_link *link, unsigned int which, int cpu,
		    int event_fd)
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

/*
 * All of it, or only what is attached to events. The same order for all: the last is the first to
 * go, and takes the place of none.
 */
void tipme_bpf_class_detach(struct bpf_source *src, unsigned int which, bool only_events)
{
	unsigned int kept = 0;

	if (which == TIPME_CLASS_WAYLAND)
		tipme_bpf_wayland_detach(src);
	for (unsigned int i = 0; i < src->link_count; i++) {
		if (src->links[i].which == which && (!only_events || src->links[i].cpu >= 0)) {
			bpf_link__destroy(src->links[i].link);
			continue;
		}
		src->links[kept++] = src->links[i];
	}
	src->link_count = kept;
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
		tipme_bpf_class_detach(src, which, true);
	src->base.no_events[which] = err;
	return err;
}

/*
 * Perf ends the events of a CPU that goes, for good, and every CPU but the first goes when the
 * machine sleeps. Nobody is told, and it may have come back before anybody looks; but events that
 * have ended are not on any longer. Those of other CPUs are for as long as they live.
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

/*
 * A class whose every CPU had gone would be taken for one that is off; but the last CPU cannot go.
 */
int tipme_bpf_cpus_look(struct tipme_kernel_source *base)
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
	bpf_object__for_each_program(prog, src->skel->obj)
	{
		int which = bpf_program__type(prog) == BPF_PROG_TYPE_PERF_EVENT
				    ? tipme_bpf_class_of(prog)
				    : -1;

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

/*
 * Events take a right of their own: where they are refused, a class that has more goes on with what
 * that is.
 */
static int class_attach(struct bpf_source *src, unsigned int which)
{
	struct bpf_program *prog;
	unsigned int others = 0;
	int err = 0, refused = 0;

	if (which == TIPME_CLASS_WAYLAND)
		return tipme_bpf_wayland_attach(src);
	bpf_object__for_each_program(prog, src->skel->obj)
	{
		if (err || bpf_program__fd(prog) < 0 || tipme_bpf_class_of(prog) != (int)which)
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

int tipme_bpf_class_set(struct tipme_kernel_source *base, unsigned int which, int on)
{
	struct bpf_source *src = bpf_of(base);
	int err;

	threshold_set(src, which, on);
	err = on ? class_attach(src, which) : 0;
	if (err || !on)
		tipme_bpf_class_detach(src, which, false);
	if (err)
		threshold_set(src, which, 0);
	return err;
}
