// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints what the reader makes of an episode, a line each, for the comparison with the reader in
 * Perl. usage: episode-text FOLDER FROM-NS TO-NS; exit status 1: it does not open
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "episode/episode.h"

static void print_group(const char *name, const struct tipme_groups *g)
{
	for (uint32_t k = 0; k < g->count; k++) {
		printf("%s %u", name, g->key[k]);
		for (uint32_t i = g->first[k]; i < g->first[k + 1]; i++)
			printf(" %u", g->index[i]);
		putchar('\n');
	}
}

static void print_events(const struct tipme_events *ev)
{
	printf("count %u exact %" PRIu64 "\n", ev->count, ev->exact_ns);
	for (uint32_t i = 0; i < ev->count; i++)
		printf("event %" PRIu64 " %u %u %u %u %u %u %u %u\n", ev->ts_ns[i], ev->type[i],
		       ev->cpu[i], ev->tid[i], ev->a[i], ev->b[i], ev->c[i], ev->d[i], ev->nr[i]);
	print_group("by_tid", &ev->by_tid);
	print_group("by_cpu", &ev->by_cpu);
	print_group("by_kind", &ev->by_kind);
}

static void print_states(const struct tipme_states *st)
{
	for (uint32_t i = 0; i < st->count; i++) {
		printf("state %u %" PRIu64 " %" PRIu64 " %u", st->tid[i], st->from_ns[i],
		       st->to_ns[i], st->kind[i]);
		if (st->kind[i] == TIPME_INTERVAL_RUNNING)
			printf(" cpu %u irq %u softirq %u", st->cpu[i], st->irq_ns[i],
			       st->softirq_ns[i]);
		if (st->kind[i] == TIPME_INTERVAL_RUNNABLE)
			printf(" how %u cpu %u wake %d", st->how[i], st->cpu[i], (int)st->wake[i]);
		if (st->kind[i] == TIPME_INTERVAL_BLOCKED)
			printf(" in %u wake %d stack %u", st->state[i], (int)st->wake[i],
			       st->stack_id[i]);
		printf("%s\n", st->flags[i] & TIPME_INTERVAL_GUESSED ? " guessed" : "");
	}
}

static void print_names(const struct tipme_threads *th, const struct tipme_events *ev,
			uint64_t from, uint64_t to)
{
	for (uint32_t k = 0; k < ev->by_tid.count; k++) {
		for (int part = 0; part <= 4; part++) {
			uint64_t t = from + (to - from) / 4 * (unsigned int)part;
			struct tipme_who w;

			tipme_threads_at(th, ev->by_tid.key[k], t, &w);
			printf("who %u %" PRIu64 " pid %u ppid %u start %" PRIu64
			       " kernel %d prio %u known %d %s\n",
			       w.tid, t, w.pid, w.ppid, w.start_ns, w.kernel, w.prio, w.known,
			       w.comm);
		}
	}
}

static void print_cpus(const struct tipme_cpu_intervals *ci)
{
	for (uint32_t i = 0; i < ci->count; i++)
		printf("cpu %u %" PRIu64 " %" PRIu64 " %" PRId64 " %u\n", ci->cpu[i],
		       ci->from_ns[i], ci->to_ns[i],
		       ci->tid[i] == TIPME_NONE ? -1 : (int64_t)ci->tid[i], ci->prio[i]);
}

static void print_stages(const struct tipme_stages *st)
{
	for (uint32_t i = 0; i < st->count; i++)
		printf("stage %" PRIu64
		       " %u kind %u tid %u pid %u client %u window %u seq %u request %u duration %" PRIu64
		       "\n",
		       st->ts_ns[i], st->type[i], st->kind[i], st->tid[i], st->pid[i],
		       st->client[i], st->window[i], st->input_seq[i], st->request[i],
		       st->duration_ns[i]);
}

static void print_waits(const struct tipme_waits *w)
{
	for (uint32_t i = 0; i < w->count; i++)
		printf("wait %u %" PRIu64 " %" PRIu64 " asked %" PRIu64
		       " tid %u number %u cpu %u kind %u open %u\n",
		       w->type[i], w->from_ns[i], w->to_ns[i], w->asked_ns[i], w->tid[i],
		       w->number[i], w->cpu[i], w->kind[i], w->open[i]);
}

/* Each sample of the kernel's records, with its stack on one line. */
static void print_samples(const struct tipme_events *ev, const struct tipme_threads *th,
			  const struct tipme_names *nm)
{
	uint32_t n;
	const uint32_t *of = tipme_group(&ev->by_kind, TIPME_SAMPLE, &n);
	char frames[8192];

	for (uint32_t k = 0; k < n; k++) {
		tipme_names_frames(nm, th, ev->a[of[k]], ev->b[of[k]], frames, sizeof(frames));
		for (char *c = frames; *c; c++)
			*c = *c == '\n' ? '|' : *c;
		printf("sample %" PRIu64 " %s\n", ev->ts_ns[of[k]], frames);
	}
}

static int print_all(struct tipme_episode *ep, uint64_t from, uint64_t to)
{
	struct tipme_events ev;
	struct tipme_threads *th = NULL;
	struct tipme_states st = { 0 };
	struct tipme_cpu_intervals ci = { 0 };
	struct tipme_stages sg = { 0 };
	struct tipme_waits w = { 0 };
	struct tipme_names *nm = NULL;
	int err = tipme_events_load(&ev, ep, from, to);

	err = err ? err : tipme_threads_load(&th, ep, &ev);
	err = err ? err : tipme_states_make(&st, &ev, th, ev.by_tid.key, ev.by_tid.count, from, to);
	err = err ? err : tipme_cpu_intervals_make(&ci, &ev, th, from, to);
	err = err ? err : tipme_stages_load(&sg, ep, from, to);
	err = err ? err : tipme_waits_make(&w, &ev, to);
	err = err ? err : tipme_names_load(&nm, ep);
	if (!err) {
		print_events(&ev);
		print_names(th, &ev, from, to);
		print_states(&st);
		print_cpus(&ci);
		print_stages(&sg);
		print_waits(&w);
		print_samples(&ev, th, nm);
	}
	tipme_names_free(nm);
	tipme_waits_free(&w);
	tipme_stages_free(&sg);
	tipme_cpu_intervals_free(&ci);
	tipme_states_free(&st);
	tipme_threads_free(th);
	tipme_events_free(&ev);
	return err;
}

int main(int argc, char **argv)
{
	struct tipme_episode *ep;
	char why[512];

	if (argc != 4)
		return 64;
	if (tipme_episode_open(&ep, argv[1], why, sizeof(why))) {
		printf("refused: %s\n", why);
		return 1;
	}
	int err = print_all(ep, strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));

	for (size_t i = 0; i < tipme_episode_damage_count(ep); i++)
		printf("damage %s\n", tipme_episode_damage(ep, i));
	printf("unknown %" PRIu64 " lost %" PRIu64 "\n", tipme_episode_unknown(ep),
	       tipme_episode_facts(ep)->lost);
	tipme_episode_close(ep);
	if (err)
		printf("error %d\n", err);
	return err ? 1 : 0;
}
