// SPDX-License-Identifier: GPL-2.0-only
/* When the machine slept. */
#include "config.h"

#include "suspends.h"

/* Reading two clocks one after the other may be interrupted; no suspend is as short as this. */
#define LEAST_NS 50000000

void tipmed_suspends_init(struct tipmed_suspends *s, uint64_t monotonic_ns, uint64_t boottime_ns)
{
	*s = (struct tipmed_suspends){ .lock = PTHREAD_MUTEX_INITIALIZER, .offset_ns = (int64_t)(boottime_ns - monotonic_ns), .looked_ns = monotonic_ns };
}

void tipmed_suspends_look(struct tipmed_suspends *s, uint64_t monotonic_ns, uint64_t boottime_ns)
{
	int64_t offset_ns = (int64_t)(boottime_ns - monotonic_ns), slept_ns = offset_ns - s->offset_ns;

	pthread_mutex_lock(&s->lock);
	if (slept_ns >= LEAST_NS) {
		s->suspend[s->count++ % TIPMED_SUSPENDS_MAX] = (struct tipmed_suspend){ s->looked_ns, monotonic_ns, (uint64_t)slept_ns };
		s->offset_ns = offset_ns;
	}
	s->looked_ns = monotonic_ns;
	pthread_mutex_unlock(&s->lock);
}

unsigned int tipmed_suspends_since(struct tipmed_suspends *s, uint64_t since_ns, struct tipmed_suspend *out)
{
	unsigned int n = 0;

	pthread_mutex_lock(&s->lock);
	for (unsigned int i = s->count > TIPMED_SUSPENDS_MAX ? s->count - TIPMED_SUSPENDS_MAX : 0; i < s->count; i++)
		if (s->suspend[i % TIPMED_SUSPENDS_MAX].to_ns >= since_ns)
			out[n++] = s->suspend[i % TIPMED_SUSPENDS_MAX];
	pthread_mutex_unlock(&s->lock);
	return n;
}
