// SPDX-License-Identifier: GPL-2.0-only
/* The stages of a wake-up on stock kernels. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "latency_stages.h"
#include "latency_stages.skel.h"
#include "latency_stages_maps.h"

struct tipme_stages {
	struct latency_stages_bpf *skel;
	struct tipme_stages_slot *slot;
	size_t bytes;
	int arm_fd; /* -1: this kernel has no timers for such programs */
};

/*
 * What this kernel does not have is left out: without the interrupt's entry, or without timers of
 * such programs (real-time kernels refuse them), the rest can be told.
 */
static void leave_out(struct latency_stages_bpf *skel, bool timers)
{
	if (!timers) {
		bpf_program__set_autoload(skel->progs.tipme_stages_arm, false);
		bpf_map__set_autocreate(skel->maps.tipme_deferred, false);
	}
	if (libbpf_find_vmlinux_btf_id("local_timer_entry", BPF_TRACE_RAW_TP) > 0)
		return;
	bpf_program__set_autoload(skel->progs.tipme_stages_interrupt, false);
	bpf_program__set_autoload(skel->progs.tipme_stages_interrupt_end, false);
}

static int programs_load(struct tipme_stages *s, unsigned int possible, bool timers)
{
	int err;

	s->skel = latency_stages_bpf__open();
	if (!s->skel)
		return -errno;
	leave_out(s->skel, timers);
	err = bpf_map__set_max_entries(s->skel->maps.tipme_stages, possible);
	err = err ? err : bpf_map__set_max_entries(s->skel->maps.tipme_deferred, possible);
	err = err ? err : latency_stages_bpf__load(s->skel);
	err = err ? err : latency_stages_bpf__attach(s->skel);
	s->arm_fd = err || !timers ? -1 : bpf_program__fd(s->skel->progs.tipme_stages_arm);
	if (err) {
		latency_stages_bpf__destroy(s->skel);
		s->skel = NULL;
	}
	return err;
}

static int load(struct tipme_stages *s)
{
	int possible = libbpf_num_possible_cpus(), err;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *base;

	if (possible <= 0)
		return possible ? possible : -ENODEV;
	err = programs_load(s, (unsigned int)possible, true);
	if (err && err != -EPERM && err != -EACCES)
		err = programs_load(s, (unsigned int)possible, false);
	if (err)
		return err;
	s->bytes = (sizeof(*s->slot) * (size_t)possible + page - 1) / page * page;
	base = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		    bpf_map__fd(s->skel->maps.tipme_stages), 0);
	s->slot = base == MAP_FAILED ? NULL : base;
	return s->slot ? 0 : -errno;
}

int tipme_stages_open(struct tipme_stages **stages, char *why, size_t why_len)
{
	struct tipme_stages *s = calloc(1, sizeof(*s));
	int err;

	*stages = NULL;
	if (!getenv("TIPME_LIBBPF_DEBUG"))
		libbpf_set_print(NULL);
	err = s ? load(s) : -ENOMEM;
	if (!err) {
		*stages = s;
		return 0;
	}
	tipme_stages_close(s);
	snprintf(
		why, why_len, "stages by tracing programs: %s",
		err == -EPERM || err == -EACCES
			? "the kernel does not permit it: run as root, or with CAP_BPF and CAP_PERFMON"
			: strerror(-err));
	return err;
}

void tipme_stages_close(struct tipme_stages *s)
{
	if (!s)
		return;
	if (s->slot)
		munmap(s->slot, s->bytes);
	latency_stages_bpf__destroy(s->skel);
	free(s);
}

static void count(struct tipme_distribution *d, unsigned int stage, uint64_t from_ns,
		  uint64_t to_ns, uint64_t due_ns)
{
	d[stage].measured = true;
	tipme_distribution_count(&d[stage], to_ns > from_ns ? to_ns - from_ns : 0, due_ns, 0);
}

/* Deferred work may come after the thread that waits beside it: it is counted when it has come. */
static bool deferred_take(struct tipme_stages_slot *s, struct tipme_stages_way *way,
			  struct tipme_distribution *d)
{
	uint64_t at = __atomic_load_n(&s->deferred_ns, __ATOMIC_RELAXED);

	if (!way->due_ns)
		return true;
	if (!at)
		return false;
	/* A softirq that was under way may have had it before the interrupt came. */
	if (way->irq_ns && at >= way->irq_ns) {
		count(d, TIPME_STAGE_DEFERRED, way->irq_ns, at, way->due_ns);
		count(d, TIPME_STAGE_IRQ_DEFERRED, way->due_ns, at, way->due_ns);
	} else {
		d[TIPME_STAGE_DEFERRED].skipped++;
	}
	way->due_ns = 0;
	return true;
}

uint64_t tipme_stages_begin(struct tipme_stages *s, unsigned int cpu, struct tipme_stages_way *way,
			    struct tipme_distribution *d, uint64_t expiry_ns)
{
	struct tipme_stages_slot *slot = &s->slot[cpu];
	struct tipme_stages_arm arm = { .expiry_ns = expiry_ns };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &arm, .ctx_size_in = sizeof(arm));

	slot->entry_ns = slot->irq_ns = slot->waking_ns = slot->switch_ns = 0;
	slot->due_ns = expiry_ns;
	if (s->arm_fd < 0) {
		slot->tid = (uint32_t)gettid();
	} else if (!deferred_take(slot, way, d)) {
		d[TIPME_STAGE_DEFERRED].skipped++;
	} else {
		slot->deferred_ns = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (!bpf_prog_test_run_opts(s->arm_fd, &opts) && !opts.retval &&
		    __atomic_load_n(&slot->phase, __ATOMIC_RELAXED) == TIPME_PHASE_NONE)
			*way = (struct tipme_stages_way){ .due_ns = slot->due_ns };
		else
			slot->due_ns = expiry_ns;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->phase, TIPME_PHASE_SLEEPING, __ATOMIC_RELAXED);
	return slot->due_ns;
}

uint64_t tipme_stages_end(struct tipme_stages *s, unsigned int cpu, struct tipme_stages_way *way,
			  struct tipme_distribution *d, uint64_t due_ns, uint64_t now_ns)
{
	struct tipme_stages_slot *slot = &s->slot[cpu];
	uint32_t phase = __atomic_load_n(&slot->phase, __ATOMIC_RELAXED);

	__atomic_store_n(&slot->phase, TIPME_PHASE_NONE, __ATOMIC_RELAXED);
	if (way->due_ns == due_ns)
		way->irq_ns = phase >= TIPME_PHASE_EXPIRED ? slot->irq_ns : 0;
	if (phase != TIPME_PHASE_ON_CPU) {
		/* It had not gone to sleep yet, or its timer was moved to another CPU. */
		d[TIPME_STAGE_IRQ].skipped++;
		return 0;
	}
	if (slot->entry_ns)
		count(d, TIPME_STAGE_ENTRY, due_ns, slot->entry_ns, due_ns);
	count(d, TIPME_STAGE_IRQ, due_ns, slot->irq_ns, due_ns);
	count(d, TIPME_STAGE_WAKING, slot->irq_ns, slot->waking_ns, due_ns);
	count(d, TIPME_STAGE_SWITCH, slot->waking_ns, slot->switch_ns, due_ns);
	count(d, TIPME_STAGE_RETURN, slot->switch_ns, now_ns, due_ns);
	count(d, TIPME_STAGE_USER, slot->waking_ns, now_ns, due_ns);
	deferred_take(slot, way, d);
	return slot->irq_ns > due_ns ? slot->irq_ns - due_ns : 0;
}
