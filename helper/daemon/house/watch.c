// SPDX-License-Identifier: GPL-2.0-only
/* The kernel source's own counters, looked at each second. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "watch.h"

/*
 * The pool may keep more seconds than asked for, on a quiet machine many more: remember losses for
 * as long as is cheap.
 */
#define HISTORY_S 3600U

struct past {
	uint64_t ns;
	struct tipme_kernel_lost lost;
};

struct tipmed_watch {
	pthread_mutex_t lock;
	struct tipme_kernel_source *source;
	struct tipmed_watched now;
	struct tipme_kernel_coverage *coverage;
	unsigned int cpus;
	struct past *past;
	uint64_t looks;
};

int tipmed_watch_new(struct tipmed_watch **watch, struct tipme_kernel_source *source)
{
	struct tipmed_watch *w = calloc(1, sizeof(*w));
	pthread_mutexattr_t attr;

	if (!w)
		return -ENOMEM;
	w->source = source;
	w->past = calloc(HISTORY_S, sizeof(*w->past));
	int err = tipme_kernel_source_stats(source, &w->now.stats);

	w->cpus = w->now.stats.cpus;
	w->coverage = err ? NULL : calloc(w->cpus, sizeof(*w->coverage));
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&w->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	if (!err && (!w->past || !w->coverage))
		err = -ENOMEM;
	if (err) {
		tipmed_watch_free(w);
		return err;
	}
	*watch = w;
	return 0;
}

void tipmed_watch_free(struct tipmed_watch *w)
{
	if (!w)
		return;
	free(w->past);
	free(w->coverage);
	free(w);
}

/* System calls first, then the lock: the trigger thread may be waiting for it. */
void tipmed_watch_look(struct tipmed_watch *w, unsigned int threads, uint64_t picture_ns)
{
	struct tipmed_watched now = { .threads = threads, .picture_ns = picture_ns };

	if (tipme_kernel_source_stats(w->source, &now.stats))
		return;
	now.seen_ns = tipme_clock_ns();
	pthread_mutex_lock(&w->lock);
	uint64_t past_ns = now.seen_ns - w->now.seen_ns;

	if (w->now.seen_ns && past_ns)
		now.rate = (now.stats.records - w->now.stats.records) * TIPME_NS_PER_S / past_ns;
	w->now = now;
	w->past[w->looks++ % HISTORY_S] = (struct past){ now.seen_ns, now.stats.lost };
	tipme_kernel_source_coverage(w->source, w->coverage, w->cpus);
	pthread_mutex_unlock(&w->lock);
}

unsigned int tipmed_watch_get(struct tipmed_watch *w, struct tipmed_watched *now,
			      struct tipme_kernel_coverage *cov, unsigned int n)
{
	n = n < w->cpus ? n : w->cpus;
	pthread_mutex_lock(&w->lock);
	*now = w->now;
	memcpy(cov, w->coverage, n * sizeof(*cov));
	pthread_mutex_unlock(&w->lock);
	return n;
}

double tipmed_watch_kept_s(struct tipmed_watch *w, uint64_t now_ns)
{
	uint64_t since_ns = 0;

	pthread_mutex_lock(&w->lock);
	for (unsigned int cpu = 0; cpu < w->cpus; cpu++)
		since_ns =
			w->coverage[cpu].first_ns > since_ns ? w->coverage[cpu].first_ns : since_ns;
	pthread_mutex_unlock(&w->lock);
	return now_ns > since_ns ? (double)(now_ns - since_ns) / 1e9 : 0;
}

void tipmed_watch_lost_before(struct tipmed_watch *w, uint64_t ns, struct tipme_kernel_lost *lost)
{
	memset(lost, 0, sizeof(*lost));
	pthread_mutex_lock(&w->lock);
	uint64_t oldest = w->looks > HISTORY_S ? w->looks - HISTORY_S : 0;

	for (uint64_t i = w->looks; i-- > oldest;) {
		if (w->past[i % HISTORY_S].ns > ns)
			continue;
		*lost = w->past[i % HISTORY_S].lost;
		break;
	}
	pthread_mutex_unlock(&w->lock);
}
