// SPDX-License-Identifier: GPL-2.0-only
/*
 * For libFuzzer: an episode as a stranger might have made it. The first byte says which file the
 * rest is (the manifest, a whole record file, or records that stand in sections with heads as they
 * should be), how long the sections are, and what is asked of it. What is made of it must add up:
 * intervals cover the stretch exactly.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "episode/episode.h"

#define MUST(what)                                                \
	do {                                                      \
		if (!(what)) {                                    \
			fprintf(stderr, "violated: %s\n", #what); \
			abort();                                  \
		}                                                 \
	} while (0)
#define MS 1000000ULL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char MANIFEST[] =
	"{\"format\":{\"major\":1,\"minor\":1},\"id\":\"f\",\"trigger\":{\"ns\":4000},\"sources\":["
	"{\"source\":\"kernel_bpf\",\"file\":\"kernel.rec\",\"coverage\":[{\"cpu\":0,\"first_ns\":1},{\"cpu\":1,\"first_ns\":90}]},"
	"{\"source\":\"tipmed\",\"file\":\"threads.rec\"},{\"source\":\"x_hooks\",\"file\":\"x-1.rec\"}]}";
static const char SAMPLED[] =
	"{\"format\":{\"major\":1,\"minor\":1},\"id\":\"f\",\"trigger\":{\"ns\":4000},\"sources\":["
	"{\"source\":\"proc_sampled\",\"file\":\"kernel.rec\",\"coverage\":[{\"cpu\":0}]},{\"source\":\"tipmed\",\"file\":\"threads.rec\"}]}";

static char folder[64];

static void remove_folder(void)
{
	static const char *const files[] = { "manifest.json", "kernel.rec", "threads.rec",
					     "x-1.rec" };
	char path[128];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		unlink(path);
	}
	rmdir(folder);
}

static void make_folder(void)
{
	/* In memory: a million inputs wait for no disk. */
	snprintf(folder, sizeof(folder), "%s/fuzz-episode-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	MUST(mkdtemp(folder));
	atexit(remove_folder);
}

static void spew(const char *name, const void *head, size_t head_len, const void *data, size_t len)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	MUST(fd >= 0 && write(fd, head, head_len) == (ssize_t)head_len &&
	     write(fd, data, len) == (ssize_t)len);
	close(fd);
}

static struct tipme_file_header file_head(uint32_t source, size_t len)
{
	return (struct tipme_file_header){ .magic = TIPME_FILE_MAGIC,
					   .byte_order = TIPME_BYTE_ORDER,
					   .major = TIPME_FORMAT_MAJOR,
					   .header_len = sizeof(struct tipme_file_header),
					   .source = source,
					   .body_len = len };
}

static size_t section_bytes = 160;

/* Cut into sections, of two CPUs in turn. */
static void spew_sections(const char *name, uint32_t source, const uint8_t *data, size_t len)
{
	static uint8_t body[65536];
	size_t n = 0, most = section_bytes;

	for (size_t at = 0, k = 0; at < len && n + 56 + most <= sizeof(body); at += most, k++) {
		size_t part = len - at < most ? len - at : most;
		struct tipme_section s = { .type = TIPME_SECTION,
					   .len8 = sizeof(s) / 8,
					   .source = source,
					   .cpu = k & 1,
					   .first_ns = 10 * k,
					   .last_ns = 10 * k + 9,
					   .count = part / 32,
					   .body_len = part };

		memcpy(body + n, &s, sizeof(s));
		memcpy(body + n + sizeof(s), data + at, part);
		n += sizeof(s) + part;
	}
	struct tipme_file_header h = file_head(source, n);

	spew(name, &h, sizeof(h), body, n);
}

static void spew_whole(const char *name, uint32_t source, const uint8_t *data, size_t len)
{
	struct tipme_file_header h = file_head(source, len);

	spew(name, &h, sizeof(h), data, len);
}

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

	if (!len)
		return 0;
	if (!folder[0])
		make_folder();
	uint8_t how = data[0] & 7;
	bool many = data[0] & 8, narrow = data[0] & 16;
	const char *manifest = how & 4 ? SAMPLED : MANIFEST;

	data++;
	len--;
	/* Many sections take longest: half of the inputs have fewer. */
	section_bytes = many ? 160 : 960;
	spew("manifest.json", manifest, strlen(manifest), "", 0);
	spew_sections("kernel.rec", TIPME_SOURCE_KERNEL_BPF, data, len);
	spew_sections("threads.rec", TIPME_SOURCE_TIPMED, data, len);
	spew_sections("x-1.rec", TIPME_SOURCE_X_HOOKS, data, len / 2);
	if (how == 1)
		spew("manifest.json", data, len, "", 0);
	if (how == 2)
		spew_whole("kernel.rec", TIPME_SOURCE_KERNEL_BPF, data, len);
	if (how == 3)
		spew("threads.rec", data, len, "", 0);
	if (how & 4)
		spew_sections("kernel.rec", TIPME_SOURCE_PROC_SAMPLED, data, len);
	if (tipme_episode_open(&ep, folder, why, sizeof(why)))
		return 0;
	use(ep, 0, 300 * MS);
	if (narrow)
		use(ep, 40, 41);
	else
		use(ep, 900 * MS, 2100 * MS);
	tipme_episode_close(ep);
	return 0;
}
