// SPDX-License-Identifier: GPL-2.0-only
/* Results of tipme latency: distributions in memory, and the form in which they are kept. */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "clock.h"
#include "kallsyms.h"
#include "latency.h"

/* In order of enum tipme_latency_stage. */
static const char *const stage_names[TIPME_ALL_STAGES] = {
	"irq",		"deferred",   "irq_deferred", "high",	"medium", "user",   "total_high",
	"total_medium", "total_user", "entry",	      "waking", "switch", "return",
};

/* As the schema names them. */
static const char *const sample_kinds[] = { "none", "clock", "cycles", "nmi_ipi", "timer_irq" };
static const char *const contexts[] = { "task",		 "softirq_task", "softirq_irq",
					"softirq_mixed", "hardirq",	 "nmi" };

static const char *name_of(const char *const *names, unsigned int count, unsigned int i)
{
	return i < count ? names[i] : "?";
}

const char *tipme_latency_stage_name(unsigned int stage)
{
	return stage < TIPME_ALL_STAGES ? stage_names[stage] : "?";
}

int tipme_latency_stage_of(const char *name)
{
	for (int i = 0; i < TIPME_ALL_STAGES; i++)
		if (!strcmp(name, stage_names[i]))
			return i;
	return -1;
}

int tipme_latencies_make(struct tipme_latencies *all)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return -errno;
	all->place = calloc(TIPME_LATENCY_PLACES, sizeof(*all->place));
	if (!all->place)
		return -ENOMEM;
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE && all->cpus < TIPME_LATENCY_MAX_CPUS; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		all->cpu_number[all->cpus] = cpu;
		all->stage[all->cpus] = calloc(TIPME_ALL_STAGES, sizeof(*all->stage[0]));
		if (!all->stage[all->cpus])
			return -ENOMEM;
		all->cpus++;
	}
	return 0;
}

void tipme_latencies_free(struct tipme_latencies *all)
{
	for (unsigned int i = 0; i < all->cpus; i++)
		free(all->stage[i]);
	for (unsigned int i = 0; i < all->causes; i++)
		free(all->cause[i].sample);
	free(all->place);
}

void tipme_distribution_count(struct tipme_distribution *d, uint64_t ns, uint64_t expiry_ns,
			      uint64_t threshold_ns)
{
	d->bucket[tipme_latency_bucket(ns)]++;
	d->sum_ns += ns;
	if (!d->count || ns < d->min_ns)
		d->min_ns = ns;
	if (!d->count || ns > d->max_ns) {
		d->max_ns = ns;
		d->max_expiry_ns = expiry_ns;
	}
	d->count++;
	d->over += threshold_ns && ns > threshold_ns;
}

uint64_t tipme_latencies_over(const struct tipme_latencies *all)
{
	uint64_t over = 0;

	for (unsigned int i = 0; i < all->cpus; i++)
		for (unsigned int s = TIPME_STAGE_TOTAL_HIGH; s < TIPME_STAGES; s++)
			over += all->stage[i][s].over;
	return over;
}

static void add_number(struct json_object *o, const char *name, uint64_t n)
{
	json_object_object_add(o, name, json_object_new_int64((int64_t)n));
}

/* Only the buckets that are not empty: [lower bound in us, count]. */
static struct json_object *buckets_json(const struct tipme_distribution *d)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < TIPME_LATENCY_BUCKETS; i++) {
		struct json_object *pair;

		if (!d->bucket[i])
			continue;
		pair = json_object_new_array_ext(2);
		json_object_array_add(pair,
				      json_object_new_int64((int64_t)tipme_latency_bucket_us(i)));
		json_object_array_add(pair, json_object_new_int64((int64_t)d->bucket[i]));
		json_object_array_add(list, pair);
	}
	return list;
}

/* As it is now, while its thread may go on counting. */
static void distribution_copy(const struct tipme_distribution *from, struct tipme_distribution *to)
{
	to->count = 0;
	for (unsigned int i = 0; i < TIPME_LATENCY_BUCKETS; i++) {
		to->bucket[i] = __atomic_load_n(&from->bucket[i], __ATOMIC_RELAXED);
		to->count += to->bucket[i];
	}
	to->sum_ns = from->sum_ns;
	to->min_ns = from->min_ns;
	to->max_ns = from->max_ns;
	to->max_expiry_ns = from->max_expiry_ns;
	to->over = from->over;
	to->skipped = from->skipped;
}

static struct json_object *stage_json(const struct tipme_distribution *live, unsigned int cpu,
				      unsigned int stage)
{
	/* too large for a stack; results are made by one thread */
	static struct tipme_distribution copy;
	struct tipme_distribution *d = &copy;
	struct json_object *o = json_object_new_object();

	distribution_copy(live, d);

	json_object_object_add(o, "stage", json_object_new_string(tipme_latency_stage_name(stage)));
	add_number(o, "cpu", cpu);
	add_number(o, "count", d->count);
	add_number(o, "sum_ns", d->sum_ns);
	add_number(o, "min_ns", d->min_ns);
	add_number(o, "max_ns", d->max_ns);
	add_number(o, "max_expiry_ns", d->max_expiry_ns);
	add_number(o, "over", d->over);
	add_number(o, "skipped", d->skipped);
	json_object_object_add(o, "buckets", buckets_json(d));
	return o;
}

static struct json_object *sample_json(const struct tipme_latency_sample *s,
				       const struct tipme_kallsyms *ks)
{
	struct json_object *o = json_object_new_object(), *stack = json_object_new_array();
	char name[256];

	add_number(o, "ts_ns", s->ts_ns);
	add_number(o, "tid", s->tid);
	json_object_object_add(o, "comm",
			       json_object_new_string_len(s->comm,
							  (int)strnlen(s->comm, sizeof(s->comm))));
	json_object_object_add(o, "context",
			       json_object_new_string(name_of(contexts, 6, s->context)));
	json_object_object_add(o, "irqs_off", json_object_new_boolean(s->irqs_off));
	json_object_object_add(o, "user", json_object_new_boolean(s->user));
	for (unsigned int i = 0; i < s->frames && i < TIPME_LATENCY_FRAMES; i++) {
		tipme_kallsyms_name(ks, s->frame[i], name, sizeof(name));
		json_object_array_add(stack, json_object_new_string(name));
	}
	json_object_object_add(o, "stack", stack);
	return o;
}

static struct json_object *cause_json(const struct tipme_cause *c, const struct tipme_kallsyms *ks)
{
	struct json_object *o = json_object_new_object(), *samples = json_object_new_array();

	add_number(o, "cpu", c->about.cpu);
	add_number(o, "expiry_ns", c->about.expiry_ns);
	json_object_object_add(o, "thread",
			       json_object_new_string(tipme_latency_stage_name(c->about.stage)));
	add_number(o, "irq_ns", c->about.irq_ns);
	add_number(o, "deferred_ns", c->about.deferred_ns);
	add_number(o, "thread_ns", c->about.thread_ns);
	add_number(o, "samples_lost", c->about.lost);
	for (unsigned int i = 0; i < c->about.count; i++)
		json_object_array_add(samples, sample_json(&c->sample[i], ks));
	json_object_object_add(o, "samples", samples);
	return o;
}

static int longest_first(const void *a, const void *b)
{
	const struct tipme_latency_causes *x = &((const struct tipme_cause *)a)->about,
					  *y = &((const struct tipme_cause *)b)->about;
	uint64_t p = (uint64_t)x->irq_ns + x->deferred_ns + x->thread_ns,
		 q = (uint64_t)y->irq_ns + y->deferred_ns + y->thread_ns;

	return p < q ? 1 : p > q ? -1 : 0;
}

static struct json_object *causes_json(const struct tipme_latencies *all,
				       const struct tipme_kallsyms *ks)
{
	struct json_object *list = json_object_new_array();
	struct tipme_cause sorted[TIPME_LATENCY_WORST];

	memcpy(sorted, all->cause, sizeof(sorted));
	qsort(sorted, all->causes, sizeof(sorted[0]), longest_first);
	for (unsigned int i = 0; i < all->causes; i++)
		json_object_array_add(list, cause_json(&sorted[i], ks));
	return list;
}

/* Adds a frame's function, without its offset, with its module. */
static void frame_add(char *name, size_t len, const struct tipme_kallsyms *ks, uint64_t frame)
{
	size_t have = strlen(name);
	char full[256];

	tipme_kallsyms_name(ks, frame, full, sizeof(full));
	snprintf(name + have, len - have, "%s%.*s%.60s", have ? " < " : "", (int)strcspn(full, "+"),
		 full, strchr(full, ' ') ? strchr(full, ' ') : "");
}

static void add_to(struct json_object *o, const char *name, uint64_t n)
{
	struct json_object *v;

	add_number(o, name,
		   n + (json_object_object_get_ex(o, name, &v) ? (uint64_t)json_object_get_int64(v)
							       : 0));
}

/*
 * Where the samples of all latencies over the threshold were: instructions of one function with the
 * same callers are one.
 */
static struct json_object *places_json(const struct tipme_latencies *all,
				       const struct tipme_kallsyms *ks)
{
	struct json_object *places = json_object_new_object();

	for (unsigned int i = 0; i < TIPME_LATENCY_PLACES; i++) {
		const struct tipme_place *p = &all->place[i];
		struct json_object *one;
		char name[900] = "";

		if (!p->samples)
			continue;
		for (unsigned int k = 0; k < TIPME_LATENCY_PLACE_FRAMES && p->frame[k]; k++)
			frame_add(name, sizeof(name), ks, p->frame[k]);
		if (!json_object_object_get_ex(places, name, &one)) {
			one = json_object_new_object();
			json_object_object_add(places, name, one);
		}
		add_to(one, "samples", p->samples);
		add_to(one, "irqs_off", p->irqs_off);
	}
	return places;
}

static void add_causes(struct json_object *o, const struct tipme_latencies *all)
{
	struct tipme_kallsyms *ks = NULL;

	if (all->causes_seen)
		tipme_kallsyms_load(&ks, NULL, NULL); /* without it the names are "?" */
	add_number(o, "causes_seen", all->causes_seen);
	add_number(o, "samples_seen", all->samples_seen);
	add_number(o, "samples_user", all->samples_user);
	add_number(o, "samples_unplaced", all->samples_unplaced);
	json_object_object_add(o, "places", places_json(all, ks));
	json_object_object_add(o, "causes", causes_json(all, ks));
	tipme_kallsyms_free(ks);
}

/* Whole seconds, at least one: up to now where measuring goes on. */
static uint64_t measured_s(const struct tipme_latencies *all,
			   const struct tipme_latency_options *opt)
{
	uint64_t end_ns = all->ended_ns ? all->ended_ns : tipme_clock_ns();
	uint64_t s =
		all->begun_ns ? (end_ns - all->begun_ns + 500000000) / 1000000000 : opt->duration_s;

	return s ? s : 1;
}

struct json_object *tipme_latencies_json(const struct tipme_latencies *all,
					 const struct tipme_latency_options *opt)
{
	struct json_object *o = json_object_new_object(), *stages = json_object_new_array();
	struct utsname uts = { 0 };

	if (!o || !stages)
		return NULL;
	uname(&uts);
	json_object_object_add(o, "format", json_object_new_string("tipme latency"));
	json_object_object_add(o, "version", json_object_new_int(1));
	json_object_object_add(o, "kernel", json_object_new_string(uts.release));
	json_object_object_add(o, "source", json_object_new_string(all->source));
	add_number(o, "ended_s", (uint64_t)time(NULL));
	add_number(o, "duration_s", measured_s(all, opt));
	json_object_object_add(o, "complete",
			       json_object_new_boolean(all->ended_ns &&
						       !tipme_latency_interrupted));
	add_number(o, "period_us", opt->period_us);
	add_number(o, "threshold_us", opt->threshold_us);
	add_number(o, "sample_us", opt->sample_us);
	json_object_object_add(o, "sampler",
			       json_object_new_string(name_of(sample_kinds, 5, all->sample_kind)));
	add_number(o, "high_priority", opt->high_priority);
	add_number(o, "medium_priority", opt->medium_priority);
	add_number(o, "user_priority", opt->user_priority);
	for (unsigned int i = 0; i < all->cpus; i++)
		for (unsigned int s = 0; s < TIPME_ALL_STAGES; s++)
			if (all->stage[i][s].measured)
				json_object_array_add(stages, stage_json(&all->stage[i][s],
									 all->cpu_number[i], s));
	json_object_object_add(o, "stages", stages);
	add_causes(o, all);
	return o;
}
