// SPDX-License-Identifier: GPL-2.0-only
/*
 * For libFuzzer: the reader on an episode as a stranger might have made it (fuzz-folder.h); bit 4
 * of the first byte says which stretch is asked for. What is made of it must add up: intervals
 * cover the stretch exactly.
 */
#include "config.h"

#include "episode/episode.h"
#include "fuzz-folder.h"

#define MS 1000000ULL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_states(const struct tipme_states *st, uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < st->count; i++) {
		bool first = !i || st->tid[i] != st->tid[i - 1],
		     last = i + 1 == st->count || st->tid[i + 1] != st->tid[i];

		MUST(st->from_ns[i] < st->to_ns[i]);
		MUST(st->from_ns[i] == (first ? from : st->to_ns[i - 1]));
		MUST(!last || st->to_ns[i] == to);
	}
}

/* A stretch that a window can show, wherever the problem is said to be. */
static void check_span(const struct tipme_episode *ep, uint64_t about)
{
	struct tipme_episode_span span = tipme_episode_span(ep, about);

	MUST(span.from_ns <= span.records_ns && span.records_ns <= span.to_ns);
	MUST(!about || span.from_ns <= about || span.records_ns < about);
}

static void use_facts(struct tipme_episode *ep)
{
	char note[100];
	size_t count;

	for (uint64_t about = 0; about < 63; about++)
		check_span(ep, about ? 1ULL << about : 0);
	check_span(ep, UINT64_MAX);
	for (size_t i = 0; i < tipme_episode_damage_count(ep); i++)
		MUST(tipme_episode_damage(ep, i)[0]);
	tipme_episode_sections(ep, &count);
	if (tipme_episode_note(ep, note, sizeof(note)) >= 0)
		MUST(memchr(note, 0, sizeof(note)));
}

/* All that is known of the threads that pictures saw. */
static void use_threads(const struct tipme_threads *th)
{
	size_t count, pictures;
	const uint32_t *tids = tipme_threads_tids(th, &count);

	for (size_t i = 0; i < count && i < 50; i++) {
		const struct tipme_thread_picture *p =
			tipme_threads_pictures(th, tids[i], &pictures);
		uint64_t from, to;

		for (size_t k = 0; k < pictures && k < 20; k++) {
			const char *stack = tipme_threads_stack(th, p[k].stack_id);

			MUST(!stack || strlen(stack) < 100000);
			tipme_threads_same(th, tids[i], p[k].ts_ns, &from, &to);
			/* There is no time behind the last one. */
			MUST(from <= p[k].ts_ns && (p[k].ts_ns < to || to == UINT64_MAX));
		}
	}
}

static void use(struct tipme_episode *ep, uint64_t from, uint64_t to)
{
	struct tipme_events ev = { 0 };
	struct tipme_threads *th = NULL;
	struct tipme_states st = { 0 };
	struct tipme_cpu_intervals ci = { 0 };
	struct tipme_stages sg = { 0 };
	struct tipme_waits w = { 0 };
	struct tipme_names *nm = NULL;
	struct tipme_who who;
	char frames[200];
	int err = tipme_events_load(&ev, ep, from, to);

	err = err ? err : tipme_threads_load(&th, ep, &ev);
	err = err ? err : tipme_states_make(&st, &ev, th, ev.by_tid.key, ev.by_tid.count, from, to);
	err = err ? err : tipme_cpu_intervals_make(&ci, &ev, th, from, to);
	err = err ? err : tipme_stages_load(&sg, ep, from, to);
	err = err ? err : tipme_waits_make(&w, &ev, to);
	err = err ? err : tipme_names_load(&nm, ep);
	for (uint32_t i = 0; !err && i < w.count; i++)
		MUST(w.from_ns[i] <= w.to_ns[i] || w.type[i] != TIPME_IRQ);
	for (uint32_t i = 0; !err && i < 50; i++)
		MUST(tipme_names_frames(nm, th, i, i, frames, sizeof(frames)) < sizeof(frames));
	for (uint32_t i = 0; !err && i < 50; i++) {
		const char *irq = tipme_names_irq(nm, i), *disk = tipme_names_disk(nm, i);

		MUST((!irq || strlen(irq) < 1000) && (!disk || strlen(disk) < 1000));
	}
	if (!err)
		use_threads(th);
	if (!err && !ev.sampled)
		check_states(&st, from, to);
	for (uint32_t i = 0; !err && i < ci.count; i++)
		MUST(ci.from_ns[i] < ci.to_ns[i] && ci.to_ns[i] <= to);
	for (uint32_t i = 0; !err && i < ev.by_tid.count && i < 50; i++)
		tipme_threads_at(th, ev.by_tid.key[i], to, &who);
	tipme_names_free(nm);
	tipme_waits_free(&w);
	tipme_stages_free(&sg);
	tipme_cpu_intervals_free(&ci);
	tipme_states_free(&st);
	tipme_threads_free(th);
	tipme_events_free(&ev);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct tipme_episode *ep;
	char why[256];

	if (!len || tipme_episode_open(&ep, fuzz_folder(data, len), why, sizeof(why)))
		return 0;
	use_facts(ep);
	use(ep, 0, 300 * MS);
	if (data[0] & 16)
		use(ep, 40, 41);
	else
		use(ep, 900 * MS, 2100 * MS);
	tipme_episode_close(ep);
	return 0;
}
