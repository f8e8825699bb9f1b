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

static const struct tipme_kernel_backend *second_of(const struct tipme_kernel_backend *first)
{
	size_t i = 0;

	while (first->wants_beside && backends[i] && !backends[i]->open_beside)
		i++;
	return first->wants_beside ? backends[i] : NULL;
}

/*
 * What a source cannot record, another does beside it. If that one is refused, the first goes on
 * alone, and `why` says what is missing.
 */
static struct tipme_kernel_source *pair_open(struct tipme_kernel_source *first,
					     const struct tipme_kernel_options *opt, char *why,
					     size_t why_len)
{
	const struct tipme_kernel_backend *backend = second_of(first->backend);
	struct tipme_kernel_source *second = NULL, *pair = NULL;
	uint32_t lacks = ((1U << TIPME_CLASSES) - 1) &
			 ~(first->classes_able & ~first->backend->classes_partly);
	char reason[400] = "no other source is built in";

	if (backend && !backend->open_beside(&second, opt, lacks, reason, sizeof(reason))) {
		second->backend = backend;
		second->view.source = backend->source;
		second->pool = second;
		pair = tipme_kernel_pair(first, second);
		if (pair)
			return pair;
		snprintf(reason, sizeof(reason), "there is no memory for it");
		tipme_kernel_source_close(second);
	}
	if (first->backend->wants_beside)
		snprintf(why, why_len,
			 "%s records alone, without samples, arguments and ends of processes: %s",
			 first->backend->name, reason);
	return first;
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
	src->pool = src;
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
	why[0] = 0;
	*out = pair_open(src, opt, why, why_len);
	classes_begin(*out, opt);
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

const char *tipme_kernel_source_left_out(const struct tipme_kernel_source *src, unsigned int n)
{
	return n < src->left_out_count ? src->left_out[n] : NULL;
}

void tipme_kernel_source_close(struct tipme_kernel_source *src)
{
	if (!src)
		return;
	tipme_pool_seen_free(src->scratch);
	src->backend->close(src);
}

struct tipme_kernel_source *tipme_kernel_source_of_class(struct tipme_kernel_source *src,
							 unsigned int which)
{
	return src->backend->of_class ? src->backend->of_class(src, which) : src;
}

int tipme_kernel_source_no_events(struct tipme_kernel_source *src, unsigned int which)
{
	return tipme_kernel_source_of_class(src, which)->no_events[which];
}

int tipme_kernel_source_suspended(struct tipme_kernel_source *src, uint64_t since_ns,
				  uint64_t *from_ns, uint64_t *to_ns)
{
	return src->backend->suspended ? src->backend->suspended(src, since_ns, from_ns, to_ns)
				       : -ENOTSUP;
}

int tipme_kernel_source_tells_affinity(const struct tipme_kernel_source *src)
{
	uint32_t able;

	if (!(tipme_kernel_source_classes(src, &able) & 1U << TIPME_CLASS_PRIORITY))
		return -EAGAIN;
	return src->tells_affinity ? 1 : -ENOTSUP;
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
	return src->backend->second;
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
	return src->backend->stats(src, stats);
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
	return src->backend->stacks(src, fn, arg);
}

int tipme_kernel_source_user_stacks(struct tipme_kernel_source *src,
				    int (*fn)(void *arg, const struct tipme_user_frames *f),
				    void *arg)
{
	src = tipme_kernel_source_of_class(src, TIPME_CLASS_SAMPLE);
	return src->backend->user_stacks ? src->backend->user_stacks(src, fn, arg) : 0;
}

/*
 * What a CPU did just before, and the picture before the first record, still belong to what is
 * kept.
 */
#define STACKS_STAY_NS 2000000000ULL

uint64_t tipme_kernel_source_stacks_age(struct tipme_kernel_source *src, uint64_t keep_ns)
{
	uint64_t reach_ns, old_ns;

	if (src->backend->stacks_age)
		return src->backend->stacks_age(src, keep_ns);
	reach_ns = tipme_pool_reach_ns(&src->view);
	old_ns = reach_ns > keep_ns ? reach_ns : keep_ns;
	if (src->backend->stacks_old && old_ns > STACKS_STAY_NS)
		src->backend->stacks_old(src, old_ns - STACKS_STAY_NS);
	return reach_ns;
}

int tipme_kernel_source_mappings(struct tipme_kernel_source *src, uint32_t pid,
				 struct tipme_mapping *m, unsigned int max)
{
	src = tipme_kernel_source_of_class(src, TIPME_CLASS_SAMPLE);
	return src->backend->mappings ? src->backend->mappings(src, pid, m, max) : -ENOTSUP;
}

int tipme_kernel_source_lives_fd(struct tipme_kernel_source *src)
{
	src = tipme_kernel_source_of_class(src, TIPME_CLASS_IDENTITY);
	return src->backend->lives_fd ? src->backend->lives_fd(src) : -1;
}

int tipme_kernel_source_lives_take(struct tipme_kernel_source *src,
				   int (*fn)(void *arg, const struct tipme_life *life), void *arg)
{
	src = tipme_kernel_source_of_class(src, TIPME_CLASS_IDENTITY);
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
	src = src->pool;
	if (n < src->view.cpus)
		return -EINVAL;
	tipme_pool_coverage(&src->view, src->scratch, cov, now_ns());
	return src->view.cpus;
}

/* What was taken for more is given back at the first call, too: all memory may have been locked. */
int tipme_kernel_source_adapt(struct tipme_kernel_source *src, int *refused)
{
	int changed;

	src = src->pool;
	changed = src->backend->adapt ? src->backend->adapt(src, refused) : 0;
	if (changed < 0 || !src->adapted)
		tipme_pool_seen_release(src->scratch);
	src->adapted = 1;
	return changed;
}

const void *tipme_kernel_source_image(unsigned int i, size_t *bytes)
{
	for (unsigned int b = 0; backends[b]; b++)
		if (backends[b]->image)
			return backends[b]->image(i, bytes);
	return NULL;
}

static void hold(struct tipme_kernel_source *src, int on)
{
	if (src->pool->backend->hold)
		src->pool->backend->hold(src->pool, on);
}

size_t tipme_kernel_source_copy_bytes(const struct tipme_kernel_source *src)
{
	return src->backend->copy_bytes ? src->backend->copy_bytes(src)
					: tipme_pool_copy_bytes(&src->view);
}

int tipme_kernel_copy_alloc(const struct tipme_kernel_source *src, struct tipme_kernel_copy *c)
{
	return src->backend->copy_alloc ? src->backend->copy_alloc(src, c)
					: tipme_pool_copy_alloc(&src->view, c);
}

static int part(struct tipme_kernel_source *src, struct tipme_kernel_copy *c, int more,
		size_t bytes)
{
	return src->backend->copy_part ? src->backend->copy_part(src, c, more, bytes)
				       : tipme_pool_copy_part(&src->view, c, bytes);
}

static int copy_all(struct tipme_kernel_source *src, struct tipme_kernel_copy *c, int more)
{
	hold(src, 1);
	tipme_pool_copy_begin(&src->pool->view, c, now_ns(), more);
	part(src, c, more, SIZE_MAX);
	if (more)
		hold(src, 0);
	return c->cut || (c->second && c->second->cut) ? -ENOSPC : 0;
}

void tipme_kernel_source_copy_begin(struct tipme_kernel_source *src, struct tipme_kernel_copy *c)
{
	hold(src, 1);
	tipme_pool_copy_begin(&src->pool->view, c, now_ns(), 0);
}

int tipme_kernel_source_copy_part(struct tipme_kernel_source *src, struct tipme_kernel_copy *c,
				  size_t bytes)
{
	return part(src, c, 0, bytes);
}

int tipme_kernel_source_copy(struct tipme_kernel_source *src, struct tipme_kernel_copy *c)
{
	return copy_all(src, c, 0);
}

int tipme_kernel_source_copy_more(struct tipme_kernel_source *src, struct tipme_kernel_copy *c)
{
	return copy_all(src, c, 1);
}

void tipme_wayland_library_close(struct tipme_wayland_library *lib)
{
	while (lib->count)
		close(lib->probe[--lib->count].fd);
}
