// SPDX-License-Identifier: GPL-2.0-only
/* Chooses a backend; what all of them share works on the pool's memory alone. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <time.h>

#include "kernel_backend.h"

/* The best first. */
static const struct tipme_kernel_backend *const backends[] = {
	&tipme_kernel_module,
#ifdef HAVE_BPF_SOURCE
	&tipme_kernel_bpf,
#endif
	&tipme_kernel_proc,
	NULL,
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int options_check(const struct tipme_kernel_options *opt, char *why, size_t why_len)
{
	unsigned int b = opt->subbuf_bytes, s = opt->stack_entries;

	if (b && (b < 4096 || b > (1U << 20) || b & (b - 1)))
		snprintf(why, why_len,
			 "a sub-buffer of %u bytes is not a power of two from 4096 to 1048576", b);
	else if (s > 32768 || s & (s - 1))
		snprintf(why, why_len, "a table of %u stacks is not a power of two up to 32768", s);
	else if (opt->pool_bytes > 16ULL << 30 || opt->window_s > 86400 || opt->rate > 10000000)
		snprintf(
			why, why_len,
			"a pool of more than 16 GB, a window of more than a day or a rate over 10 million is too much");
	else
		return 0;
	return -EINVAL;
}

/* A class that cannot begin is not able: status shows it. */
static void classes_begin(struct tipme_kernel_source *src, const struct tipme_kernel_options *opt)
{
	uint32_t wanted = opt->classes_given ? opt->classes : tipme_classes_default();

	for (unsigned int i = 0; i < TIPME_CLASSES; i++)
		if (wanted & 1U << i && tipme_kernel_source_class_set(src, i, 1))
			src->classes_able &= ~(1U << i);
}

/*
 * Nobody shall know less because a better source is there: what it cannot record, another does
 * beside it. If that one is refused, the first goes on alone, and `why` says what is missing.
 */
static void beside_open(struct tipme_kernel_source *src, const struct tipme_kernel_options *opt,
			char *why, size_t why_len)
{
	uint32_t lacks =
		((1U << TIPME_CLASSES) - 1) & ~(src->classes_able & ~src->backend->classes_partly);
	char reason[400] = "no other source is built in";
	size_t i = 0;

	why[0] = 0;
	if (!src->backend->wants_beside)
		return;
	while (backends[i] && !backends[i]->open_beside)
		i++;
	if (!backends[i] ||
	    backends[i]->open_beside(&src->beside, opt, lacks, reason, sizeof(reason))) {
		src->beside = NULL;
		snprintf(why, why_len,
			 "%s records alone, without samples, arguments and ends of processes: %s",
			 src->backend->name, reason);
		return;
	}
	src->beside->backend = backends[i];
	src->beside->view.source = backends[i]->source;
	src->beside->view.subs_most = 0;
	src->classes_able |= src->beside->classes_able;
}

static int open_one(struct tipme_kernel_source **out, const struct tipme_kernel_backend *backend,
		    const struct tipme_kernel_options *opt, char *why, size_t why_len)
{
	struct tipme_kernel_source *src;
	int err = backend->open(&src, opt, why, why_len);

	if (err)
		return err;
	src->backend = backend;
	src->view.source = backend->source;
	if (!backend->adapt)
		src->view.subs_most = 0;
	src->scratch = tipme_pool_seen_alloc(&src->view);
	if (!src->scratch) {
		snprintf(
			why, why_len,
			"not enough memory to look at the recorder's pool: choose a shorter window");
		tipme_kernel_source_close(src);
		return -ENOMEM;
	}
	beside_open(src, opt, why, why_len);
	classes_begin(src, opt);
	*out = src;
	return 0;
}

/*
 * A source that is not there is passed over in silence; one that was refused is told, whether
 * another takes its place or not.
 */
int tipme_kernel_source_open(struct tipme_kernel_source **out,
			     const struct tipme_kernel_options *opt, char *why, size_t why_len)
{
	char reason[512];
	int err = options_check(opt, why, why_len), told = 0;

	*out = NULL;
	if (err)
		return err;
	why[0] = 0;
	for (size_t i = 0; backends[i]; i++) {
		if (opt->source && opt->source != backends[i]->source)
			continue;
		snprintf(reason, sizeof(reason), "%s cannot be opened", backends[i]->name);
		err = open_one(out, backends[i], opt, reason, sizeof(reason));
		if (!err) {
			if (*reason)
				snprintf(why, why_len, "%s", reason);
			return 0;
		}
		if ((err != -ENOENT || opt->source) && !told++)
			snprintf(why, why_len, "%s", reason);
	}
	if (!told)
		snprintf(
			why, why_len,
			"no kernel source is built in that this machine could use: see tipme doctor");
	return err ? err : -ENOTSUP;
}

void tipme_kernel_source_close(struct tipme_kernel_source *src)
{
	if (!src)
		return;
	if (src->beside)
		src->beside->backend->close(src->beside);
	tipme_pool_seen_free(src->scratch);
	src->backend->close(src);
}

/* Who of the two records a class, and so has the tables that its records name. */
static struct tipme_kernel_source *recorder_of(struct tipme_kernel_source *src, unsigned int which)
{
	return src->beside && src->beside->classes_able & 1U << which ? src->beside : src;
}

int tipme_kernel_source_no_events(struct tipme_kernel_source *src, unsigned int which)
{
	return recorder_of(src, which)->no_events[which];
}

int tipme_kernel_source_suspended(struct tipme_kernel_source *src, uint64_t since_ns,
				  uint64_t *from_ns, uint64_t *to_ns)
{
	if (!src->backend->suspended)
		src = src->beside;
	return src && src->backend->suspended
		       ? src->backend->suspended(src, since_ns, from_ns, to_ns)
		       : -ENOTSUP;
}

int tipme_kernel_source_tells_affinity(const struct tipme_kernel_source *src)
{
	uint32_t able;

	if (!(tipme_kernel_source_classes(src, &able) & 1U << TIPME_CLASS_PRIORITY))
		return -EAGAIN;
	return src->tells_affinity || (src->beside && src->beside->tells_affinity) ? 1 : -ENOTSUP;
}

enum tipme_source tipme_kernel_source_kind(const struct tipme_kernel_source *src)
{
	return src->backend->source;
}

const char *tipme_kernel_source_name(const struct tipme_kernel_source *src)
{
	return src->backend->name;
}

const char *tipme_kernel_source_beside_name(const struct tipme_kernel_source *src)
{
	return src->beside ? src->beside->backend->name : NULL;
}

int tipme_kernel_source_trigger_fd(struct tipme_kernel_source *src)
{
	return src->backend->trigger_fd ? src->backend->trigger_fd(src) : -1;
}

int tipme_kernel_source_trigger_taken(struct tipme_kernel_source *src, uint32_t *by, char *text,
				      size_t len)
{
	return src->backend->trigger_taken ? src->backend->trigger_taken(src, by, text, len)
					   : -ENOTSUP;
}

int tipme_kernel_source_stats(struct tipme_kernel_source *src, struct tipme_kernel_stats *stats)
{
	struct tipme_kernel_stats more;
	int err = src->backend->stats(src, stats);

	if (err || !src->beside || src->beside->backend->stats(src->beside, &more))
		return err;
	stats->records += more.records;
	stats->lost.pool += more.lost.pool;
	stats->lost.nested += more.lost.nested;
	stats->lost.missed += more.lost.missed;
	stats->lost.stack_table += more.lost.stack_table;
	stats->lost.lives += more.lost.lives;
	stats->pool_bytes += more.pool_bytes;
	stats->map_bytes += more.map_bytes;
	stats->programs += more.programs;
	stats->measuring |= more.measuring;
	stats->measured_ns = stats->measured_ns ? stats->measured_ns : more.measured_ns;
	for (int i = 0; i < TIPME_CLASSES; i++)
		stats->cost[i] = stats->cost[i].ns ? stats->cost[i] : more.cost[i];
	return 0;
}

int tipme_kernel_source_picture(struct tipme_kernel_source *src, struct tipme_picture *picture,
				struct tipme_kernel_thread *threads, unsigned int max)
{
	return src->backend->picture(src, picture, threads, max);
}

int tipme_kernel_source_stacks(struct tipme_kernel_source *src,
			       int (*fn)(void *arg, uint32_t stack_id, const uint64_t *frames,
					 unsigned int count),
			       void *arg)
{
	int ret = src->backend->stacks(src, fn, arg);

	return ret || !src->beside ? ret : src->beside->backend->stacks(src->beside, fn, arg);
}

int tipme_kernel_source_user_stacks(struct tipme_kernel_source *src,
				    int (*fn)(void *arg, const struct tipme_user_frames *f),
				    void *arg)
{
	src = recorder_of(src, TIPME_CLASS_SAMPLE);
	return src->backend->user_stacks ? src->backend->user_stacks(src, fn, arg) : 0;
}

/*
 * What a CPU did just before, and the picture before the first record, still belong to what is
 * kept.
 */
#define STACKS_STAY_NS 2000000000ULL

void tipme_kernel_source_stacks_age(struct tipme_kernel_source *src, uint64_t keep_ns)
{
	for (; src; src = src->beside) {
		uint64_t reach_ns = src->backend->stacks_old ? tipme_pool_reach_ns(&src->view) : 0;
		uint64_t old_ns = reach_ns > keep_ns ? reach_ns : keep_ns;

		if (src->backend->stacks_old && old_ns > STACKS_STAY_NS)
			src->backend->stacks_old(src, old_ns - STACKS_STAY_NS);
	}
}

int tipme_kernel_source_mappings(struct tipme_kernel_source *src, uint32_t pid,
				 struct tipme_mapping *m, unsigned int max)
{
	src = recorder_of(src, TIPME_CLASS_SAMPLE);
	return src->backend->mappings ? src->backend->mappings(src, pid, m, max) : -ENOTSUP;
}

int tipme_kernel_source_lives_fd(struct tipme_kernel_source *src)
{
	src = recorder_of(src, TIPME_CLASS_IDENTITY);
	return src->backend->lives_fd ? src->backend->lives_fd(src) : -1;
}

int tipme_kernel_source_lives_take(struct tipme_kernel_source *src,
				   int (*fn)(void *arg, const struct tipme_life *life), void *arg)
{
	src = recorder_of(src, TIPME_CLASS_IDENTITY);
	return src->backend->lives_take ? src->backend->lives_take(src, fn, arg) : 0;
}

int tipme_kernel_source_named_stacks(struct tipme_kernel_source *src,
				     int (*fn)(void *arg, uint32_t stack_id, const char *name),
				     void *arg)
{
	return src->backend->named_stacks ? src->backend->named_stacks(src, fn, arg) : 0;
}

/* --- the pool --- */

int tipme_kernel_source_coverage(struct tipme_kernel_source *src, struct tipme_kernel_coverage *cov,
				 unsigned int n)
{
	if (n < src->view.cpus)
		return -EINVAL;
	tipme_pool_coverage(&src->view, src->scratch, cov, now_ns());
	return src->view.cpus;
}

/* What was taken for more is given back at the first call, too: all memory may have been locked. */
int tipme_kernel_source_adapt(struct tipme_kernel_source *src, int *refused)
{
	int changed = src->backend->adapt ? src->backend->adapt(src, refused) : 0;

	if (changed < 0 || !src->adapted)
		tipme_pool_seen_release(src->scratch);
	src->adapted = 1;
	return changed;
}

static void hold(struct tipme_kernel_source *src, int on)
{
	if (src->backend->hold)
		src->backend->hold(src, on);
}

size_t tipme_kernel_source_copy_bytes(const struct tipme_kernel_source *src)
{
	return tipme_pool_copy_bytes(&src->view) +
	       (src->beside ? tipme_pool_copy_bytes(&src->beside->view) : 0);
}

/* Its records follow the first one's, wherever those end: so as much more is kept touched. */
static int beside_alloc(const struct tipme_pool_view *v, struct tipme_kernel_copy *c)
{
	size_t bytes = tipme_pool_copy_bytes(v);
	void *buf = mremap(c->buf, c->size, c->size + bytes, MREMAP_MAYMOVE);

	if (buf == MAP_FAILED)
		return -ENOMEM;
	c->buf = buf;
	memset((char *)c->buf + c->kept, 0, bytes);
	c->size += bytes;
	c->kept += bytes;
	c->beside = calloc(1, sizeof(*c->beside));
	return c->beside ? tipme_pool_copy_alloc(v, c->beside) : -ENOMEM;
}

/* What the other one's copy may still need of the room. */
static size_t beside_room(const struct tipme_kernel_copy *c, int more)
{
	return c->beside ? c->beside->size - (more ? c->beside->len : 0) : 0;
}

/* Its records follow those of the first. */
static void beside_copy(struct tipme_kernel_source *src, struct tipme_kernel_copy *c, int more)
{
	struct tipme_kernel_copy *b = c->beside;
	size_t before = more ? b->len : 0;
	uint64_t records = more ? b->records : 0;

	tipme_pool_copy(&src->beside->view, b, now_ns(), more);
	memcpy((char *)c->buf + c->len, (const char *)b->buf + before, b->len - before);
	c->len += b->len - before;
	c->records += b->records - records;
}

/* The first one's copy leaves the room that the other's may still need. */
static int part(struct tipme_kernel_source *src, struct tipme_kernel_copy *c, int more,
		size_t bytes)
{
	size_t room = beside_room(c, more);
	int left;

	c->size -= room;
	left = tipme_pool_copy_part(&src->view, c, bytes);
	c->size += room;
	if (!left && c->beside)
		beside_copy(src, c, more);
	return left;
}

static int copy_both(struct tipme_kernel_source *src, struct tipme_kernel_copy *c, int more)
{
	hold(src, 1);
	tipme_pool_copy_begin(&src->view, c, now_ns(), more);
	part(src, c, more, SIZE_MAX);
	if (more)
		hold(src, 0);
	return c->cut || (c->beside && c->beside->cut) ? -ENOSPC : 0;
}

void tipme_kernel_source_copy_begin(struct tipme_kernel_source *src, struct tipme_kernel_copy *c)
{
	hold(src, 1);
	tipme_pool_copy_begin(&src->view, c, now_ns(), 0);
}

int tipme_kernel_source_copy_part(struct tipme_kernel_source *src, struct tipme_kernel_copy *c,
				  size_t bytes)
{
	return part(src, c, 0, bytes);
}

int tipme_kernel_copy_alloc(const struct tipme_kernel_source *src, struct tipme_kernel_copy *c)
{
	int err = tipme_pool_copy_alloc(&src->view, c);

	if (err || !src->beside)
		return err;
	err = beside_alloc(&src->beside->view, c);
	if (err)
		tipme_kernel_copy_free(c);
	return err;
}

int tipme_kernel_source_copy(struct tipme_kernel_source *src, struct tipme_kernel_copy *c)
{
	return copy_both(src, c, 0);
}

int tipme_kernel_source_copy_more(struct tipme_kernel_source *src, struct tipme_kernel_copy *c)
{
	return copy_both(src, c, 1);
}

void tipme_wayland_library_close(struct tipme_wayland_library *lib)
{
	while (lib->count)
		close(lib->probe[--lib->count].fd);
}
