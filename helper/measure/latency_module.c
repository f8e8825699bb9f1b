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

/*
 * The clock is read first thing after the system call; what was read goes to the kernel with the
 * next call.
 */
static void *run(void *arg)
{
	struct tipme_latency_thread *t = arg;
	struct tipme_latency_wait w = { .cpu = t->all->cpu_number[t->index],
					.rt_priority = t->priority };

	while (!tipme_latency_ended) {
		int failed = ioctl(t->fd, TIPME_IOC_LATENCY_WAIT, &w);

		w.seen_ns = tipme_clock_ns();
		if (!failed)
			continue;
		w.seen_ns = 0;
		/*
		 * The CPU went away, and we with it to another: the kernel's stages are measured
		 * again when it is back, ours are not.
		 */
		if (errno == ENODEV || errno == EXDEV)
			break;
		if (errno != EINTR) {
			t->err = -errno;
			break;
		}
	}
	return NULL;
}

static void causes_take(struct tipme_latencies *all, int fd)
{
	static struct tipme_latency_sample sample[TIPME_LATENCY_SAMPLES];

	for (unsigned int i = 0; i < all->cpus; i++) {
		struct tipme_cause c = { .about = { .cpu = all->cpu_number[i],
						    .max = TIPME_LATENCY_SAMPLES,
						    .samples = (uintptr_t)sample },
					 .sample = sample };

		if (!ioctl(fd, TIPME_IOC_LATENCY_CAUSES, &c.about)) {
			tipme_cause_take(all, &c);
		}
	}
}

static int distribution_read(int fd, unsigned int cpu, unsigned int stage,
			     struct tipme_distribution *d)
{
	struct tipme_latency_read r = { .cpu = cpu,
					.stage = stage,
					.buckets = (uintptr_t)d->bucket };

	if (ioctl(fd, TIPME_IOC_LATENCY_READ, &r))
		return -errno;
	d->measured = true;
	/*
	 * The driver goes on while it is read: what the buckets hold is what they are told to hold.
	 */
	d->count = 0;
	for (unsigned int i = 0; i < TIPME_LATENCY_BUCKETS; i++)
		d->count += d->bucket[i];
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

int tipme_latency_module(struct tipme_latencies *all, const struct tipme_latency_options *opt,
			 char *why, size_t why_len)
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
		snprintf(why, why_len, "%s: %s: %s", DEVICE, strerror(-err),
			 err == -ENOENT ? "load tipme.ko" : "run as root");
		return err;
	}
	all->source = "module";
	err = ioctl(fd, TIPME_IOC_LATENCY_START, &start) ? -errno : 0;
	all->sample_kind = start.sample_kind;
	if (!err)
		err = tipme_latency_threads(
			all, opt, fd, &(struct tipme_latency_work){ run, causes_take, all_read });
	if (!err)
		err = all_read(all, fd);
	if (err)
		snprintf(why, why_len, "%s: %s%s", DEVICE, strerror(-err),
			 err == -EBUSY ? ": somebody measures already" : "");
	close(fd);
	return err;
}
