// SPDX-License-Identifier: GPL-2.0-only
/* Latencies without the kernel module: only the whole way is known, from the expiry of a timer to a thread in user space. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "latency_threads.h"

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };
}

/* As the module does: expiries that pass while one is late are counted, and the next is a whole number of periods on. */
static void *run(void *arg)
{
	struct tipme_latency_thread *t = arg;
	struct tipme_distribution *d = &t->all->stage[t->index][TIPME_STAGE_TOTAL_USER];
	uint64_t expiry = tipme_clock_ns() + t->period_ns;

	d->measured = true;
	while (!tipme_latency_ended) {
		struct timespec until = timespec_of(expiry);
		int err = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		uint64_t now = tipme_clock_ns(), passed;

		if (err == EINTR)
			continue;
		if (err) {
			t->err = -err;
			break;
		}
		tipme_distribution_count(d, now - expiry, expiry, t->threshold_ns);
		passed = (now - expiry) / t->period_ns;
		d->skipped += passed;
		expiry += (passed + 1) * t->period_ns;
	}
	return NULL;
}

int tipme_latency_user(struct tipme_latencies *all, const struct tipme_latency_options *opt, char *why, size_t why_len)
{
	int err;

	all->source = "user";
	err = tipme_latency_threads(all, opt, -1, run, NULL);
	if (err)
		snprintf(why, why_len, "a timer in user space: %s", strerror(-err));
	return err;
}
