// SPDX-License-Identifier: GPL-2.0-only
/* How large the pool is: by the seconds to keep, the CPUs that write, and the machine's memory. */
#include "config.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "kernel_backend.h"
#include "kernel_growth.h"

/* Records a second that a pool has room for. */
#define RATE_LEAST 20000 /* of the whole machine */
#define RATE_OF_CPU 10000
/* One that grows begins with a part of that: most desktops need no more. */
#define GROWS_FROM_PART 2

/*
 * Idle CPUs hold a sub-buffer each: with many CPUs they are cut smaller, so that this takes no more
 * than an eighth.
 */
static unsigned int choose_subbuf(uint64_t records_bytes, unsigned int cpus)
{
	unsigned int bytes = 65536;

	while (bytes > 4096 && (uint64_t)bytes * cpus > records_bytes / 8)
		bytes /= 2;
	return bytes;
}

static void defaults(struct tipme_kernel_options *opt)
{
	opt->window_s = opt->window_s ? opt->window_s : 40;
	opt->stack_entries = opt->stack_entries ? opt->stack_entries : 4096;
	opt->stack_min_us = opt->stack_min_us ? opt->stack_min_us : 1000;
	opt->idle_min_us = opt->idle_min_us ? opt->idle_min_us : 50;
}

/*
 * What nobody has asked for is limited: to a share of memory, but not below what a machine of two
 * CPUs takes.
 */
static unsigned int default_rate(unsigned int window_s, const struct tipme_kernel_machine *m)
{
	uint64_t rate = (uint64_t)RATE_OF_CPU * m->online,
		 second_bytes = (uint64_t)window_s * TIPME_POOL_SLOT_BYTES;
	uint64_t most = m->ram_bytes / TIPME_POOL_RAM_PART / second_bytes;

	rate = rate < most ? rate : most;
	rate = rate > RATE_LEAST ? rate : RATE_LEAST;
	return (unsigned int)rate / (m->grows ? GROWS_FROM_PART : 1);
}

#define SEGMENT_BYTES_MAX (64ULL << 20)

/*
 * A segment is an eighth to a quarter of what the pool begins with, and a power of two: tracing
 * programs find it by a shift.
 */
static void growth_sizes(struct tipme_pool_view *view, const struct tipme_kernel_machine *m)
{
	uint64_t share = m->ram_bytes / TIPME_POOL_GROWN_RAM_PART / view->subbuf_bytes;
	uint64_t most = SEGMENT_BYTES_MAX / view->subbuf_bytes;
	unsigned int segment = 1;

	most = most < TIPME_SEGMENT_SUBS_MAX ? most : TIPME_SEGMENT_SUBS_MAX;
	while (8 * segment <= view->subs && 2 * segment <= most)
		segment *= 2;
	view->subs_first = view->subs;
	view->segment_subs = segment;
	if (share < view->subs)
		share = view->subs;
	view->subs_most = view->subs + (unsigned int)((share - view->subs) / segment) * segment;
}

void tipme_kernel_sizes_for(struct tipme_pool_view *view, struct tipme_kernel_options *opt,
			    const struct tipme_kernel_machine *m)
{
	uint64_t bytes, subs;
	int grows = m->grows && !opt->rate && !opt->pool_bytes;

	defaults(opt);
	opt->rate = opt->rate ? opt->rate : default_rate(opt->window_s, m);
	bytes = opt->pool_bytes ? opt->pool_bytes
				: (uint64_t)opt->window_s * opt->rate * TIPME_POOL_SLOT_BYTES;
	view->cpus = m->possible;
	view->subbuf_bytes =
		opt->subbuf_bytes ? opt->subbuf_bytes : choose_subbuf(bytes, m->possible);
	if (!opt->pool_bytes)
		bytes += (uint64_t)view->subbuf_bytes * m->possible;
	subs = bytes / view->subbuf_bytes;
	/* one to write, one to retire, one to keep */
	view->subs = subs > 3 * m->possible ? subs : 3 * m->possible;
	view->subs_first = view->subs_most = view->segment_subs = 0;
	if (grows)
		growth_sizes(view, m);
}

/* Root locks what it likes. Others would have used up their limit by address space alone. */
static int locks_freely(void)
{
	struct rlimit limit;

	return !geteuid() || getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY;
}

void tipme_kernel_sizes(struct tipme_pool_view *view, struct tipme_kernel_options *opt,
			unsigned int cpus, int grows)
{
	const struct tipme_kernel_machine m = {
		.possible = cpus,
		.online = (unsigned int)get_nprocs(),
		.ram_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
		.grows = grows && locks_freely(),
	};

	tipme_kernel_sizes_for(view, opt, &m);
}
