// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client that is fed in cycles, for real: a thread wakes each cycle, computes, and must be done
 * before its buffers are played. Cota-Robles and Held, OSDI 1999, section 6.1: what a distribution
 * predicts can so be compared to what is missed.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "latency_model.h"

struct state {
	struct tipme_latencies *all;
	struct tipme_model *model;
	uint64_t end_ns;
	int err;
};

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* So much work of its own: who takes the CPU meanwhile makes it end later. */
static void compute(uint64_t ns)
{
	uint64_t end = cpu_ns() + ns;

	while (cpu_ns() < end)
		;
}

/* Buffer N begins to be played at `expiry` + (buffers - 1) cycles; it must be filled by then. */
static void *run(void *arg)
{
	struct state *s = arg;
	struct tipme_model *m = s->model;
	struct tipme_distribution *d = &s->all->stage[0][TIPME_STAGE_TOTAL_USER];
	uint64_t cycle_ns = m->cycle_us * 1000ULL, compute_ns = m->compute_us * 1000ULL;
	uint64_t room_ns = (m->buffers - 1) * cycle_ns, expiry = tipme_clock_ns() + cycle_ns;

	d->measured = true;
	while (!tipme_latency_ended && expiry < s->end_ns) {
		struct timespec until = { (time_t)(expiry / 1000000000),
					  (long)(expiry % 1000000000) };
		int err = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		uint64_t begun = tipme_clock_ns(), done;

		if (err == EINTR)
			continue;
		if (err) {
			s->err = -err;
			break;
		}
		tipme_distribution_count(d, begun - expiry, expiry, 0);
		m->late += begun - expiry + compute_ns > room_ns;
		compute(compute_ns);
		done = tipme_clock_ns();
		m->cycles++;
		m->missed += done - expiry > room_ns;
		m->longest_us = (done - expiry) / 1000 > m->longest_us
					? (uint32_t)((done - expiry) / 1000)
					: m->longest_us;
		/* A real client goes on with the next buffer; what is over is over. */
		expiry += cycle_ns *
			  (1 +
			   (done > expiry + cycle_ns ? (done - expiry - cycle_ns) / cycle_ns : 0));
	}
	return NULL;
}

static int start(struct state *s, pthread_t *thread)
{
	struct sched_param param = { .sched_priority = (int)s->model->priority };
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	if (s->model->priority) {
		pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
		pthread_attr_setschedparam(&attr, &param);
	}
	err = pthread_create(thread, &attr, run, s);
	pthread_attr_destroy(&attr);
	return -err;
}

int tipme_latency_model(struct tipme_latencies *all, struct tipme_model *model,
			unsigned int duration_s, char *why, size_t why_len)
{
	uint64_t now = tipme_clock_ns();
	struct state s = { .all = all, .model = model, .end_ns = now + duration_s * 1000000000ULL };
	pthread_t thread;
	int err = start(&s, &thread);

	if (err) {
		snprintf(why, why_len, "no thread of priority %u: %s%s", model->priority,
			 strerror(-err),
			 err == -EPERM ? ": run as root, or with --priority 0" : "");
		return err;
	}
	all->source = "user";
	all->begun_ns = now;
	pthread_join(thread, NULL);
	all->ended_ns = tipme_clock_ns();
	if (s.err)
		snprintf(why, why_len, "a timer: %s", strerror(-s.err));
	return s.err;
}

struct json_object *tipme_model_json(const struct tipme_model *m, bool deferred)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "modality",
			       json_object_new_string(deferred ? "deferred" : "thread"));
	json_object_object_add(o, "buffers", json_object_new_int64(m->buffers));
	json_object_object_add(o, "cycle_us", json_object_new_int64(m->cycle_us));
	json_object_object_add(o, "compute_us", json_object_new_int64(m->compute_us));
	json_object_object_add(o, "priority", json_object_new_int64(m->priority));
	json_object_object_add(o, "cycles", json_object_new_int64((int64_t)m->cycles));
	json_object_object_add(o, "missed", json_object_new_int64((int64_t)m->missed));
	json_object_object_add(o, "late", json_object_new_int64((int64_t)m->late));
	json_object_object_add(o, "longest_us", json_object_new_int64(m->longest_us));
	return o;
}
