// SPDX-License-Identifier: GPL-2.0-only
/*
 * Answers counted by application, kind and stage; and by minute or coarser. Nothing else is kept
 * of when a key was pressed.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "profile.h"

#define MINUTE_NS (60 * 1000 * TIPME_MS_NS)

const char *const tipme_profile_kinds[TIPME_KINDS] = { "key", "button", "motion", "wheel",
						       "touch" };
const char *const tipme_profile_stages[TIPME_PROFILE_STAGES] = { "read", "sent", "drawn",
								 "finished", "response" };

/*
 * Unit: ms. 25 to 75 is where motion begins to irritate, 50 to 150 where discrete input does
 * (Endo and Seltzer, TIPME, 2000); 100, 110 and 120 are those of table 2 of Endo et al. 1996.
 */
const unsigned int tipme_profile_thresholds_ms[TIPME_THRESHOLDS] = { 25,  50,  75,  100,
								     110, 120, 150, 1000 };

void tipme_table_init(struct tipme_table *t, uint64_t begin_ns)
{
	memset(t, 0, sizeof(*t));
	t->begin_ns = begin_ns;
	t->minute_ns = MINUTE_NS;
	t->minutes = 1;
}

void tipme_table_free(struct tipme_table *t)
{
	for (unsigned int i = 0; i < t->pairs; i++)
		free(t->pair[i].stage);
}

unsigned int tipme_table_app(struct tipme_table *t, const char *name)
{
	for (unsigned int i = 0; i < t->apps; i++)
		if (!strncmp(t->app[i].name, name, TIPME_NAME - 1))
			return i;
	if (t->apps == TIPME_APPS)
		return TIPME_APPS - 1;
	if (t->apps == TIPME_APPS - 1)
		name = "(others)";
	strncpy(t->app[t->apps].name, name, TIPME_NAME - 1);
	return t->apps++;
}

static struct tipme_pair *pair_of(struct tipme_table *t, unsigned int app, unsigned int kind)
{
	for (unsigned int i = 0; i < t->pairs; i++)
		if (t->pair[i].app == app && t->pair[i].kind == kind)
			return &t->pair[i];
	if (t->pairs == TIPME_PAIRS)
		return NULL;
	struct tipme_pair *p = &t->pair[t->pairs];

	p->stage = calloc(TIPME_PROFILE_STAGES, sizeof(*p->stage));
	if (!p->stage)
		return NULL;
	p->app = (uint8_t)app;
	p->kind = (uint8_t)kind;
	t->pairs++;
	return p;
}

/* Two rows become one: whoever records for longer knows less of when. */
static void coarsen(struct tipme_table *t)
{
	unsigned int to = 0;

	for (unsigned int i = 0; i < t->rows; i++) {
		struct tipme_row r = t->row[i];
		unsigned int k;

		r.row /= 2;
		for (k = to; k-- > 0 && t->row[k].row == r.row;)
			if (t->row[k].pair == r.pair)
				break;
		if (k == (unsigned int)-1 || t->row[k].row != r.row || t->row[k].pair != r.pair) {
			t->row[to++] = r;
			continue;
		}
		t->row[k].events += r.events;
		t->row[k].answered += r.answered;
		t->row[k].sum_ns += r.sum_ns;
		t->row[k].max_ns = t->row[k].max_ns > r.max_ns ? t->row[k].max_ns : r.max_ns;
		for (unsigned int n = 0; n < TIPME_THRESHOLDS; n++)
			t->row[k].over[n] += r.over[n];
	}
	t->rows = to;
	t->minutes *= 2;
}

static uint32_t row_number(const struct tipme_table *t, uint64_t ns)
{
	return ns > t->begin_ns ? (uint32_t)((ns - t->begin_ns) / t->minute_ns / t->minutes) : 0;
}

static struct tipme_row *row_of(struct tipme_table *t, unsigned int pair, uint64_t ns)
{
	uint32_t row = row_number(t, ns);

	for (unsigned int i = t->rows; i-- > 0 && t->row[i].row + 1 >= row;)
		if (t->row[i].row == row && t->row[i].pair == pair)
			return &t->row[i];
	for (int tries = 0; t->rows == TIPME_ROWS && tries < 32; tries++)
		coarsen(t);
	struct tipme_row *r = &t->row[t->rows++];

	*r = (struct tipme_row){ .row = row_number(t, ns), .pair = (uint16_t)pair };
	return r;
}

static void count(struct tipme_counts *c, uint64_t ns)
{
	c->count++;
	c->sum_ns += ns;
	c->max_ns = ns > c->max_ns ? ns : c->max_ns;
	c->bucket[tipme_latency_bucket(ns)]++;
	c->sum[tipme_latency_bucket(ns)] += ns;
}

static void count_stages(struct tipme_pair *p, const struct tipme_answer *a)
{
	count(&p->stage[TIPME_PROFILE_READ], a->device_ns - a->entered_ns);
	count(&p->stage[TIPME_PROFILE_SENT], a->deliver_ns - a->device_ns);
	count(&p->stage[TIPME_PROFILE_DRAWN], a->first_ns - a->deliver_ns);
	count(&p->stage[TIPME_PROFILE_FINISHED], a->end_ns - a->first_ns);
	count(&p->stage[TIPME_PROFILE_RESPONSE], a->end_ns - a->entered_ns);
}

void tipme_table_add(struct tipme_table *t, unsigned int app, const struct tipme_answer *a)
{
	struct tipme_pair *p = pair_of(t, app, a->kind);

	if (!p) {
		t->lost++;
		return;
	}
	/* By when it was answered: when it entered is nobody's business. */
	struct tipme_row *r = row_of(t, (unsigned int)(p - t->pair), a->end_ns);
	uint64_t ns = a->end_ns - a->entered_ns;

	p->events++;
	r->events++;
	p->without_effect += a->outcome == TIPME_WITHOUT_EFFECT;
	p->gone += a->outcome == TIPME_CLIENT_GONE;
	p->unanswered += a->outcome == TIPME_UNANSWERED;
	if (a->outcome != TIPME_ANSWERED)
		return;
	p->answered++;
	p->ahead += a->ahead;
	count_stages(p, a);
	r->answered++;
	r->sum_ns += ns;
	r->max_ns = ns > r->max_ns ? ns : r->max_ns;
	for (unsigned int n = 0; n < TIPME_THRESHOLDS; n++)
		r->over[n] += ns > tipme_profile_thresholds_ms[n] * TIPME_MS_NS;
}
