// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each moment of a session is waiting, thinking or background: Endo, Wang, Chen and Seltzer, "Using
 * Latency to Evaluate Interactive System Performance", OSDI 1996, figure 2. docs/method.md has the
 * transitions and how certain each is.
 */
#include "config.h"

#include <string.h>

#include "clock.h"
#include "profile.h"

#define MINUTE_NS (60 * TIPME_NS_PER_S)

void tipme_moments_init(struct tipme_moments *m, uint64_t begin_ns, unsigned int app)
{
	memset(m, 0, sizeof(*m));
	m->begin_ns = m->until_ns = m->window_ns = m->ran_ns = begin_ns;
	m->in_use = m->minutes_app = app;
}

static void nobody_waits(struct tipme_moments *m, uint64_t to_ns)
{
	if (to_ns <= m->until_ns)
		return;
	m->gap[m->in_use] += to_ns - m->until_ns;
	m->until_ns = to_ns;
}

void tipme_moments_wait(struct tipme_moments *m, unsigned int app, uint64_t from_ns, uint64_t to_ns)
{
	nobody_waits(m, from_ns);
	m->in_use = app;
	m->events[app]++;
	/* Two waits at once are one moment, and the first one's. */
	if (to_ns <= m->until_ns)
		return;
	m->waited[app] += to_ns - m->until_ns;
	m->waited_ns += to_ns - m->until_ns;
	m->until_ns = to_ns;
}

/* The minute is over, or the session. */
static void minute_end(struct tipme_moments *m, struct tipme_table *t)
{
	unsigned int most = m->minutes_app;

	for (unsigned int i = 0; i < t->apps; i++)
		if (m->events[i] > m->events[most])
			most = i;
	t->app[most].thinking_ns += m->thinking_ns;
	t->app[most].background_ns += m->background_ns;
	m->minutes_app = most;
	m->thinking_ns = m->background_ns = 0;
	memset(m->events, 0, sizeof(m->events));
}

void tipme_moments_ran(struct tipme_moments *m, uint64_t ran_ns, uint64_t now_ns)
{
	uint64_t since = now_ns > m->ran_ns ? now_ns - m->ran_ns : 0;
	/* What it computed while somebody waited was for him, as far as it fits. */
	uint64_t beside = ran_ns > m->waited_ns ? ran_ns - m->waited_ns : 0;

	m->beside[m->in_use] += beside < since ? beside : since;
	m->waited_ns = 0;
	m->ran_ns = now_ns;
}

void tipme_moments_look(struct tipme_moments *m, struct tipme_table *t, uint64_t now_ns, bool last)
{
	nobody_waits(m, now_ns);
	for (unsigned int i = 0; i < t->apps; i++) {
		/* Some of it may belong to the next window. */
		uint64_t beside = m->beside[i] < m->gap[i] ? m->beside[i] : m->gap[i];

		m->beside[i] -= beside;
		t->app[i].waiting_ns += m->waited[i];
		m->background_ns += beside;
		m->thinking_ns += m->gap[i] - beside;
		m->waited[i] = m->gap[i] = 0;
	}
	m->window_ns = m->until_ns;
	if (last || (m->window_ns - m->begin_ns) / MINUTE_NS != m->minute) {
		minute_end(m, t);
		m->minute = (m->window_ns - m->begin_ns) / MINUTE_NS;
	}
}
