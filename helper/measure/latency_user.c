// SPDX-License-Identifier: GPL-2.0-only
/*
 * Latencies without the kernel module: from the expiry of a timer to a thread in user space, and
 * its causes by a tracing program; with more of them, its stages, too.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "latency_sampler.h"
#include "latency_stages.h"
#include "latency_tell.h"
#include "latency_threads.h"

/*
 * One latency of a CPU: filled by its late thread, emptied by the main thread; while it is full,
 * later ones are counted without their causes.
 */
struct late {
	_Atomic bool full;
	uint64_t seen_ns;
	uint32_t tid;
	unsigned int priority;
	struct tipme_cause cause;
	struct tipme_latency_sample sample[TIPME_LATENCY_SAMPLES];
};

static struct tipme_sampler *sampler; /* NULL: none */
static struct tipme_stages *stages; /* NULL: the whole way only */
static struct late *late; /* of each CPU; NULL: no threshold */
static struct tipme_teller teller = { .fd = -1 };
static unsigned int sample_us;
static uint8_t sample_kind;

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000),
				  .tv_nsec = (long)(ns % 1000000000) };
}

/* In the late thread, so that the samples of its CPU stand still but for the newest. */
static void keep(struct tipme_latency_thread *t, uint64_t expiry_ns, uint64_t seen_ns,
		 uint64_t irq_ns)
{
	struct late *l = &late[t->index];
	unsigned int cpu = t->all->cpu_number[t->index];
	uint64_t ns = seen_ns - expiry_ns;
	uint32_t lost = 0;

	if (atomic_load_explicit(&l->full, memory_order_acquire))
		return;
	l->cause.sample = l->sample;
	l->cause.about = (struct tipme_latency_causes){ .cpu = cpu,
							.expiry_ns = expiry_ns,
							.stage = TIPME_STAGE_USER };
	l->cause.about.irq_ns = irq_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)irq_ns;
	l->cause.about.thread_ns = ns - irq_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)(ns - irq_ns);
	if (sampler)
		l->cause.about.count = tipme_sampler_copy(sampler, cpu, expiry_ns, seen_ns,
							  l->sample, TIPME_LATENCY_SAMPLES, &lost);
	l->cause.about.lost = lost;
	l->seen_ns = seen_ns;
	l->tid = (uint32_t)gettid();
	l->priority = t->priority;
	atomic_store_explicit(&l->full, true, memory_order_release);
}

/*
 * As the module does: expiries that pass while one is late are counted, and the next is a whole
 * number of periods on.
 */
static void *run(void *arg)
{
	struct tipme_latency_thread *t = arg;
	struct tipme_distribution *all = t->all->stage[t->index], *d = &all[TIPME_STAGE_TOTAL_USER];
	unsigned int cpu = t->all->cpu_number[t->index];
	uint64_t expiry = tipme_clock_ns() + t->period_ns;
	struct tipme_stages_way way = { 0 };

	d->measured = true;
	while (!tipme_latency_ended) {
		uint64_t due = stages ? tipme_stages_begin(stages, cpu, &way, all, expiry) : expiry,
			 irq_ns = 0;
		struct timespec until = timespec_of(due);
		int err = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		uint64_t now = tipme_clock_ns(), passed;

		if (err == EINTR)
			continue;
		if (err) {
			t->err = -err;
			break;
		}
		tipme_distribution_count(d, now - due, due, t->threshold_ns);
		if (stages)
			irq_ns = tipme_stages_end(stages, cpu, &way, all, due, now);
		if (late && now - due > t->threshold_ns)
			keep(t, due, now, irq_ns);
		passed = (now - expiry) / t->period_ns;
		d->skipped += passed;
		expiry += (passed + 1) * t->period_ns;
	}
	return NULL;
}

static void late_take(struct tipme_latencies *all, int fd)
{
	for (unsigned int i = 0; i < all->cpus; i++) {
		struct late *l = &late[i];

		if (!atomic_load_explicit(&l->full, memory_order_acquire))
			continue;
		tipme_cause_take(all, &l->cause);
		/* What is told of it has one length. */
		l->cause.about.thread_ns += l->cause.about.irq_ns;
		l->cause.about.irq_ns = 0;
		tipme_teller_tell(&teller,
				  &(struct tipme_late){ &l->cause, l->seen_ns, l->tid, l->priority,
							sample_us, sample_kind });
		atomic_store_explicit(&l->full, false, memory_order_release);
	}
}

/* Without causes the latencies are measured as well. */
static void sampler_begin(struct tipme_latencies *all, const struct tipme_latency_options *opt)
{
	char why[200];

	if (!opt->sample_us ||
	    !tipme_sampler_start(&sampler, all->cpu_number, all->cpus, opt->sample_us,
				 &all->sample_kind, why, sizeof(why)))
		return;
	fprintf(stderr, "tipme: latency: causes are not sampled: %s\n", why);
}

int tipme_latency_tracing(struct tipme_latencies *all, const struct tipme_latency_options *opt,
			  char *why, size_t why_len)
{
	int err = tipme_stages_open(&stages, why, why_len);

	if (!err)
		err = tipme_latency_user(all, opt, why, why_len);
	tipme_stages_close(stages);
	stages = NULL;
	return err;
}

int tipme_latency_user(struct tipme_latencies *all, const struct tipme_latency_options *opt,
		       char *why, size_t why_len)
{
	int err;

	all->source = stages ? "tracing" : "user";
	if (opt->threshold_us) {
		late = calloc(all->cpus, sizeof(*late));
		if (!late) {
			snprintf(why, why_len, "no memory for what was late");
			return -ENOMEM;
		}
		sampler_begin(all, opt);
		tipme_teller_open(&teller);
		sample_us = opt->sample_us;
		sample_kind = all->sample_kind;
	}
	err = tipme_latency_threads(
		all, opt, -1,
		&(struct tipme_latency_work){ .run = run, .meanwhile = late ? late_take : NULL });
	if (err)
		snprintf(why, why_len, "a timer in user space: %s", strerror(-err));
	tipme_teller_close(&teller);
	tipme_sampler_close(sampler);
	sampler = NULL;
	free(late);
	late = NULL;
	return err;
}
