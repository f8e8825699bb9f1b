// SPDX-License-Identifier: GPL-2.0-only
/* Which events are not answered yet, and by whom: for who looks at processes. */
#include "config.h"

#include "profile.h"

bool tipme_answers_waiting(const struct tipme_answers *s, void (*fn)(void *arg, uint32_t pid),
			   void *arg)
{
	bool any = false;

	for (unsigned int i = 0; i < s->count; i++) {
		const struct tipme_pending *p = &s->pending[(s->first + i) % TIPME_PENDING];
		bool seen = false;

		if (p->closed || p->a.first_ns)
			continue;
		any = true;
		for (unsigned int k = 0; k < i && !seen; k++) {
			const struct tipme_pending *o = &s->pending[(s->first + k) % TIPME_PENDING];

			seen = !o->closed && !o->a.first_ns && o->a.pid == p->a.pid;
		}
		if (!seen && fn && p->a.pid)
			fn(arg, p->a.pid);
	}
	return any;
}

uint64_t tipme_answers_oldest_ns(const struct tipme_answers *s)
{
	return s->count ? s->pending[s->first].a.entered_ns : UINT64_MAX;
}
