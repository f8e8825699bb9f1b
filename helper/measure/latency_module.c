// SPDX-License-Identifier: GPL-2.0-only
/* Latencies by the kernel module: all stages, and the samples of what was too late. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"
#include "latency_threads.h"

#define DEVICE "/dev/tipme-latency"
#define SAMPLES 4096

/* The clock is read first thing after the system call; what was read goes to the kernel with the next call. */
static void *run(void *arg)
{
	struct tipme_latency_thread *t = arg;
	struct tipme_latency_wait w = { .cpu = t->all->cpu_number[t->index], .rt_priority = t->priority };

	while (!tipme_latency_ended) {
		int failed = ioctl(t->fd, TIPME_IOC_LATENCY_WAIT, &w);

		w.seen_ns = tipme_clock_ns();
		if (!failed)
			continue;
		w.seen_ns = 0;
		/* The CPU went away, and we with it to another: the kernel's stages are measured again when it is back, ours are not. */
		if (errno == ENODEV || errno == EXDEV)
			break;
		if (errno != EINTR) {
			t->err = -errno;
			break;
		}
	}
	return NULL;
}

static uint64_t length_ns(const struct tipme_cause *c)
{
	return (uint64_t)c->about.irq_ns + c->about.deferred_ns + c->about.thread_ns;
}

/* Keeps the longest. */
static void cause_keep(struct tipme_latencies *all, const struct tipme_cause *c)
{
	struct tipme_cause *place = NULL;

	all->causes_seen++;
	if (all->causes < TIPME_LATENCY_WORST) {
		place = &all->cause[all->causes++];
	} else {
		for (unsigned int i = 0; i < all->causes; i++)
			if (!place || length_ns(&all->cause[i]) < length_ns(place))
				place = &all->cause[i];
		if (length_ns(place) >= length_ns(c))
			return;
	}
	free(place->sample);
	*place = *c;
	place->sample = malloc((c->about.count + 1) * sizeof(*c->sample));
	if (place->sample)
		memcpy(place->sample, c->sample, c->about.count * sizeof(*c->sample));
	else
		place->about.count = 0;
}

static struct tipme_place *place_find(struct tipme_latencies *all, const uint64_t *frame)
{
	uint64_t h = 0;

	for (int i = 0; i < TIPME_LATENCY_PLACE_FRAMES; i++)
		h = (h ^ frame[i]) * 0x9e3779b97f4a7c15ULL, h ^= h >> 29;
	for (unsigned int probe = 0; probe < 64; probe++) {
		struct tipme_place *p = &all->place[(h + probe) % TIPME_LATENCY_PLACES];

		if (!p->samples)
			memcpy(p->frame, frame, sizeof(p->frame));
		if (!memcmp(p->frame, frame, sizeof(p->frame)))
			return p;
	}
	return NULL;
}

/* All causes, also those that are not among the longest. */
static void places_count(struct tipme_latencies *all, const struct tipme_cause *c)
{
	for (unsigned int i = 0; i < c->about.count; i++) {
		const struct tipme_latency_sample *s = &c->sample[i];
		uint64_t frame[TIPME_LATENCY_PLACE_FRAMES] = { 0 };
		struct tipme_place *p;

		all->samples_seen++;
		all->samples_user += s->user;
		if (s->user)
			continue;
		for (unsigned int k = 0; k < s->frames && k < TIPME_LATENCY_PLACE_FRAMES; k++)
			frame[k] = s->frame[k];
		p = place_find(all, frame);
		if (p)
			p->samples++;
		else
			all->samples_unplaced++;
		if (p && s->irqs_off)
			p->irqs_off++;
	}
}

static void causes_take(struct tipme_latencies *all, int fd)
{
	static struct tipme_latency_sample sample[SAMPLES];

	for (unsigned int i = 0; i < all->cpus; i++) {
		struct tipme_cause c = { .about = { .cpu = all->cpu_number[i], .max = SAMPLES, .samples = (uintptr_t)sample }, .sample = sample };

		if (!ioctl(fd, TIPME_IOC_LATENCY_CAUSES, &c.about)) {
			places_count(all, &c);
			cause_keep(all, &c);
		}
	}
}

static int distribution_read(int fd, unsigned int cpu, unsigned int stage, struct tipme_distribution *d)
{
	struct tipme_latency_read r = { .cpu = cpu, .stage = stage, .buckets = (uintptr_t)d->bucket };

	if (ioctl(fd, TIPME_IOC_LATENCY_READ, &r))
		return -errno;
	d->measured = true;
	d->count = r.count;
	d->sum_ns = r.sum_ns;
	d->min_ns = r.min_ns;
	d->max_ns = r.max_ns;
	d->max_expiry_ns = r.max_expiry_ns;
	d->over = r.over;
	d->skipped = r.skipped;
	return 0;
}

static int all_read(struct tipme_latencies *all, int fd)
{
	int err = 0;

	for (unsigned int i = 0; i < all->cpus && !err; i++)
		for (unsigned int s = 0; s < TIPME_STAGES && !err; s++)
			err = distribution_read(fd, all->cpu_number[i], s, &all->stage[i][s]);
	return err;
}

int tipme_latency_module(struct tipme_latencies *all, const struct tipme_latency_options *opt, char *why, size_t why_len)
{
	struct tipme_latency_start start = {
		.period_us = opt->period_us,
		.threshold_us = opt->threshold_us,
		.sample_us = opt->sample_us,
		.high_priority = (uint8_t)opt->high_priority,
		.medium_priority = (uint8_t)opt->medium_priority,
	};
	int err, fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		err = errno == ENXIO ? -ENOENT : -errno;
		snprintf(why, why_len, "%s: %s: %s", DEVICE, strerror(-err), err == -ENOENT ? "load tipme.ko" : "run as root");
		return err;
	}
	all->source = "module";
	err = ioctl(fd, TIPME_IOC_LATENCY_START, &start) ? -errno : 0;
	all->sample_kind = start.sample_kind;
	if (!err)
		err = tipme_latency_threads(all, opt, fd, run, causes_take);
	if (!err)
		err = all_read(all, fd);
	if (err)
		snprintf(why, why_len, "%s: %s%s", DEVICE, strerror(-err), err == -EBUSY ? ": somebody measures already" : "");
	close(fd);
	return err;
}
