// SPDX-License-Identifier: GPL-2.0-only
/* The cause sampler of stock kernels. */
#include "config.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "latency_sampler.h"
#include "latency_sampler.skel.h"
#include "latency_sampler_maps.h"
#include "tipme_records.h"

#define CYCLES_MIN 10000
#define CYCLES_PER_US 2000 /* of a CPU of 2 GHz; slower ones are sampled less often */

struct tipme_sampler {
	struct latency_sampler_bpf *skel;
	struct tipme_sampler_head *head;
	struct tipme_latency_sample *sample;
	size_t head_bytes, sample_bytes;
	unsigned int links;
	struct bpf_link *link[];
};

static int say(enum libbpf_print_level level, const char *format, va_list args)
{
	return getenv("TIPME_LIBBPF_DEBUG") ? vfprintf(stderr, format, args) : 0;
}

/*
 * An interrupt that nothing can put off, where the CPU has a counter; else a timer, which comes
 * when interrupts are on again.
 */
static int event_open(unsigned int cpu, unsigned int period_us, uint8_t kind)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .pinned = 1 };

	if (kind == TIPME_SAMPLE_KIND_CYCLES) {
		attr.type = PERF_TYPE_HARDWARE;
		attr.config = PERF_COUNT_HW_CPU_CYCLES;
		attr.sample_period = (uint64_t)period_us * CYCLES_PER_US > CYCLES_MIN
					     ? (uint64_t)period_us * CYCLES_PER_US
					     : CYCLES_MIN;
	} else {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
		attr.sample_period = (uint64_t)period_us * 1000;
	}
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static uint8_t best_kind(unsigned int cpu, unsigned int period_us)
{
	int fd = event_open(cpu, period_us, TIPME_SAMPLE_KIND_CYCLES);

	if (fd < 0)
		return TIPME_SAMPLE_KIND_CLOCK;
	close(fd);
	return TIPME_SAMPLE_KIND_CYCLES;
}

/* Locked with all memory of this process, and there before the first latency. */
static void *map_memory(const struct bpf_map *map, size_t *bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *base;

	*bytes = ((size_t)bpf_map__value_size(map) * bpf_map__max_entries(map) + page - 1) / page *
		 page;
	base = mmap(NULL, *bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, bpf_map__fd(map), 0);
	return base == MAP_FAILED ? NULL : base;
}

static int load(struct tipme_sampler *s)
{
	int possible = libbpf_num_possible_cpus(), err;

	if (possible <= 0)
		return possible ? possible : -ENODEV;
	s->skel = latency_sampler_bpf__open();
	if (!s->skel)
		return -errno;
	err = bpf_map__set_max_entries(s->skel->maps.tipme_sampler_heads, (uint32_t)possible);
	err = err ? err
		  : bpf_map__set_max_entries(s->skel->maps.tipme_sampler_samples,
					     (uint32_t)possible * TIPME_SAMPLER_SAMPLES);
	err = err ? err : latency_sampler_bpf__load(s->skel);
	if (err)
		return err;
	s->head = map_memory(s->skel->maps.tipme_sampler_heads, &s->head_bytes);
	s->sample = map_memory(s->skel->maps.tipme_sampler_samples, &s->sample_bytes);
	return s->head && s->sample ? 0 : -ENOMEM;
}

static int attach(struct tipme_sampler *s, unsigned int cpu, unsigned int period_us, uint8_t kind)
{
	int fd = event_open(cpu, period_us, kind);
	struct bpf_link *link;

	if (fd < 0)
		return fd;
	link = bpf_program__attach_perf_event(s->skel->progs.tipme_latency_sample, fd);
	if (!link) {
		int err = -errno;

		close(fd);
		return err;
	}
	s->link[s->links++] = link;
	return 0;
}

int tipme_sampler_start(struct tipme_sampler **sampler, const unsigned int *cpu, unsigned int n,
			unsigned int period_us, uint8_t *kind, char *why, size_t why_len)
{
	struct tipme_sampler *s = calloc(1, sizeof(*s) + n * sizeof(s->link[0]));
	int err = s ? 0 : -ENOMEM;

	*sampler = NULL;
	libbpf_set_print(say);
	*kind = best_kind(cpu[0], period_us);
	err = err ? err : load(s);
	for (unsigned int i = 0; i < n && !err; i++)
		err = attach(s, cpu[i], period_us, *kind);
	if (!err) {
		*sampler = s;
		return 0;
	}
	*kind = 0;
	tipme_sampler_close(s);
	snprintf(
		why, why_len,
		err == -EPERM || err == -EACCES
			? "the kernel does not permit it: run as root, or with CAP_BPF and CAP_PERFMON"
			: "%s",
		strerror(-err));
	return err;
}

void tipme_sampler_close(struct tipme_sampler *s)
{
	if (!s)
		return;
	for (unsigned int i = 0; i < s->links; i++)
		bpf_link__destroy(s->link[i]);
	if (s->head)
		munmap(s->head, s->head_bytes);
	if (s->sample)
		munmap(s->sample, s->sample_bytes);
	latency_sampler_bpf__destroy(s->skel);
	free(s);
}

uint32_t tipme_sampler_copy(const struct tipme_sampler *s, unsigned int cpu, uint64_t from_ns,
			    uint64_t to_ns, struct tipme_latency_sample *to, uint32_t max,
			    uint32_t *lost)
{
	const volatile __u64 *count = &s->head[cpu].count;
	const struct tipme_latency_sample *ring = s->sample + (size_t)cpu * TIPME_SAMPLER_SAMPLES;
	uint64_t head = *count,
		 begin = head > TIPME_SAMPLER_SAMPLES / 2 ? head - TIPME_SAMPLER_SAMPLES / 2 : 0;
	uint32_t n = 0;

	for (uint64_t i = begin; i < head; i++) {
		struct tipme_latency_sample one = ring[i % TIPME_SAMPLER_SAMPLES];

		/*
		 * The copy before the look whether it was written meanwhile; the writer is on this
		 * CPU.
		 */
		__asm__ volatile("" ::: "memory");
		if (*count - i >= TIPME_SAMPLER_SAMPLES) {
			(*lost)++;
			continue;
		}
		if (one.ts_ns < from_ns || one.ts_ns > to_ns)
			continue;
		if (n < max)
			to[n++] = one;
		else
			(*lost)++;
	}
	return n;
}
