// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client that is fed in cycles and computes in deferred work (Cota-Robles and Held, OSDI 1999,
 * sections 5.1 and 6.1: a soft modem whose datapump is a DPC). Its work is a number of loops: there
 * is no clock of CPU time in a softirq, and who interrupts it makes it end later.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "clock.h"
#include "latency_deferred.h"
#include "latency_model.skel.h"
#include "latency_model_maps.h"

#define TRIALS 9
#define TRIAL_LOOPS 20000
#define MOST_LOOPS (1 << 23) /* that the kernel takes */
#define LOOK_NS 20000000 /* so often: before the cycles that are kept come round */

struct deferred {
	struct latency_model_bpf *skel;
	struct tipme_model_work *work;
	size_t bytes;
};

static int load(struct deferred *d)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *base;
	int err;

	if (!getenv("TIPME_LIBBPF_DEBUG"))
		libbpf_set_print(NULL);
	d->skel = latency_model_bpf__open();
	if (!d->skel)
		return -errno;
	err = latency_model_bpf__load(d->skel);
	if (err)
		return err;
	d->bytes = (sizeof(*d->work) + page - 1) / page * page;
	base = mmap(NULL, d->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		    bpf_map__fd(d->skel->maps.tipme_model), 0);
	d->work = base == MAP_FAILED ? NULL : base;
	return d->work ? 0 : -errno;
}

/* The timer ends with its map. */
static void unload(struct deferred *d)
{
	if (d->work) {
		__atomic_store_n(&d->work->stop, 1, __ATOMIC_RELAXED);
		munmap(d->work, d->bytes);
	}
	latency_model_bpf__destroy(d->skel);
}

/* Runs a program of this client; returns 0 or -errno. */
static int call(const struct bpf_program *program, struct tipme_model_trial *trial)
{
	/* The kernel writes the context back where it came from. */
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = trial, .ctx_size_in = sizeof(*trial));
	int err = bpf_prog_test_run_opts(bpf_program__fd(program), &opts);

	return err ? err : opts.retval ? -EIO : 0;
}

/* The least of some: the others were interrupted. */
static int loops_of(const struct deferred *d, uint64_t ns, uint32_t *loops)
{
	uint64_t least = UINT64_MAX, n;

	for (int i = 0; i < TRIALS; i++) {
		struct tipme_model_trial t = { .loops = TRIAL_LOOPS };
		int err = call(d->skel->progs.tipme_model_try, &t);

		if (err)
			return err;
		least = t.took_ns && t.took_ns < least ? t.took_ns : least;
	}
	n = ns * TRIAL_LOOPS / least;
	if (n > MOST_LOOPS)
		return -ERANGE;
	*loops = (uint32_t)n;
	return 0;
}

static void count(struct tipme_latencies *all, struct tipme_model *m,
		  const struct tipme_model_cycle *c)
{
	uint64_t room_ns = (m->buffers - 1) * m->cycle_us * 1000ULL;
	uint64_t late_ns = c->begun_ns > c->due_ns ? c->begun_ns - c->due_ns : 0;
	uint64_t whole_us = (c->done_ns > c->due_ns ? c->done_ns - c->due_ns : 0) / 1000;

	tipme_distribution_count(&all->stage[0][TIPME_STAGE_IRQ_DEFERRED], late_ns, c->due_ns, 0);
	m->cycles++;
	m->late += late_ns + m->compute_us * 1000ULL > room_ns;
	m->missed += c->done_ns > c->due_ns + room_ns;
	m->longest_us = whole_us > m->longest_us ? (uint32_t)whole_us : m->longest_us;
}

/* Counts what has come; what was overwritten meanwhile is `skipped`. Returns how many came. */
static uint64_t take(struct tipme_latencies *all, struct tipme_model *m,
		     const struct tipme_model_work *w, uint64_t from)
{
	uint64_t to = __atomic_load_n(&w->written, __ATOMIC_ACQUIRE);

	/* The one that is being written may be the oldest. */
	if (to - from >= TIPME_MODEL_CYCLES) {
		uint64_t oldest = to - TIPME_MODEL_CYCLES + 1;

		all->stage[0][TIPME_STAGE_IRQ_DEFERRED].skipped += oldest - from;
		from = oldest;
	}
	for (; from < to; from++)
		count(all, m, &w->cycle[from & (TIPME_MODEL_CYCLES - 1)]);
	return to;
}

static int run(struct deferred *d, struct tipme_latencies *all, struct tipme_model *m,
	       unsigned int duration_s)
{
	uint64_t now_ns = tipme_clock_ns(), end_ns = now_ns + duration_s * TIPME_NS_PER_S, seen = 0;
	struct tipme_model_trial nothing = { 0 };
	int err = loops_of(d, m->compute_us * 1000ULL, &d->work->loops);

	if (err)
		return err;
	all->stage[0][TIPME_STAGE_IRQ_DEFERRED].measured = true;
	all->begun_ns = tipme_clock_ns();
	d->work->cycle_ns = m->cycle_us * 1000ULL;
	d->work->due_ns = all->begun_ns + d->work->cycle_ns;
	err = call(d->skel->progs.tipme_model_begin, &nothing);
	while (!err && !tipme_latency_ended && tipme_clock_ns() < end_ns) {
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
		seen = take(all, m, d->work, seen);
	}
	all->ended_ns = tipme_clock_ns();
	return err;
}

static const char *reason(int err)
{
	return err == -EPERM || err == -EACCES
		       ? "the kernel does not permit it: run as root, or with CAP_BPF and CAP_PERFMON"
	       : err == -EOPNOTSUPP
		       ? "real-time kernels have no timers for tracing programs: take a thread"
	       : err == -ERANGE ? "so long a computation is too long for deferred work"
				: strerror(-err);
}

int tipme_latency_deferred(struct tipme_latencies *all, struct tipme_model *model,
			   unsigned int duration_s, char *why, size_t why_len)
{
	struct deferred d = { 0 };
	int err = load(&d);

	all->source = "tracing";
	err = err ? err : run(&d, all, model, duration_s);
	unload(&d);
	if (err)
		snprintf(why, why_len, "a client in deferred work: %s", reason(err));
	return err;
}
