// SPDX-License-Identifier: GPL-2.0-only
/* One snapshot at a time: what is copied at the trigger, and what some seconds later. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "clock.h"
#include "pictures.h"
#include "reserve.h"
#include "snapshot.h"

#define THREADS_BYTES (TIPMED_THREADS_MAX * sizeof(struct tipme_kernel_thread))

/* So much is copied at one go: some milliseconds. */
#define PART_BYTES (8U << 20)

/* More come within a second only where somebody makes as many as the machine can. */
#define THREADS_AT_LEAST 4096U

int tipmed_snapshot_init(struct tipmed_snapshot *snap, struct tipme_kernel_source *source)
{
	*snap = (struct tipmed_snapshot){ .source = source };
	snap->threads = tipmed_reserve_new(THREADS_BYTES);
	if (!snap->threads)
		return -ENOMEM;
	/* Until all memory is locked, which would make all of it. */
	int err = tipme_kernel_copy_alloc(source, &snap->kernel);

	if (err)
		return err;
	tipme_kernel_copy_spare_hide(&snap->kernel);
	/* The first call of gmtime_r() reads the time zone: not at the first trigger. */
	tzset();
	return 0;
}

void tipmed_snapshot_free(struct tipmed_snapshot *snap)
{
	tipmed_reserve_free(snap->threads, THREADS_BYTES);
	tipme_kernel_copy_free(&snap->kernel);
	tipmed_x_servers_free(&snap->x);
}

void tipmed_snapshot_give_back(struct tipmed_snapshot *snap)
{
	tipme_kernel_copy_spare_release(&snap->kernel);
	tipmed_reserve_give_back(snap->threads, THREADS_BYTES);
}

void tipmed_snapshot_expect(struct tipmed_snapshot *snap, unsigned int threads)
{
	unsigned int n = 2 * threads > THREADS_AT_LEAST ? 2 * threads : THREADS_AT_LEAST;

	if (n > TIPMED_THREADS_MAX)
		n = TIPMED_THREADS_MAX;
	if (n <= snap->threads_ready)
		return;
	tipmed_reserve_ready(snap->threads, n * sizeof(*snap->threads));
	snap->threads_ready = n;
}

void tipmed_trigger_stamp(struct tipmed_trigger *trigger)
{
	struct tm tm;
	char time_text[32];

	trigger->ns = tipme_clock_ns();
	trigger->wall_s = (time_t)(tipme_clock_of_ns(CLOCK_REALTIME) / TIPME_NS_PER_S);
	if (getrandom(&trigger->episode_id, sizeof(trigger->episode_id), GRND_NONBLOCK) !=
	    sizeof(trigger->episode_id))
		trigger->episode_id = trigger->ns * 0x9e3779b97f4a7c15ULL;
	gmtime_r(&trigger->wall_s, &tm);
	strftime(time_text, sizeof(time_text), "%Y%m%d-%H%M%S", &tm);
	snprintf(trigger->id, sizeof(trigger->id), "%.18s-%04x", time_text,
		 (unsigned int)(trigger->episode_id & 0xffff));
}

struct stretch {
	uint64_t ns, cpu_ns;
};

static struct stretch stretch_begin(void)
{
	return (struct stretch){ tipme_clock_ns(), tipme_clock_of_ns(CLOCK_THREAD_CPUTIME_ID) };
}

static void stretch_end(struct tipmed_snapshot *snap, const struct stretch *begin)
{
	uint64_t ns = tipme_clock_ns() - begin->ns;

	snap->longest_ns = ns > snap->longest_ns ? ns : snap->longest_ns;
	snap->cpu_ns += tipme_clock_of_ns(CLOCK_THREAD_CPUTIME_ID) - begin->cpu_ns;
}

static void part_copy(struct tipmed_snapshot *snap)
{
	snap->copying = tipme_kernel_source_copy_part(snap->source, &snap->kernel, PART_BYTES);
	snap->copied_ns = tipme_clock_ns();
	snap->copied_bytes = snap->kernel.len;
	snap->parts++;
}

bool tipmed_snapshot_part(struct tipmed_snapshot *snap)
{
	struct stretch begin = stretch_begin();

	if (!snap->copying)
		return false;
	part_copy(snap);
	stretch_end(snap, &begin);
	return snap->copying;
}

void tipmed_snapshot_begin(struct tipmed_snapshot *snap, const struct tipmed_trigger *trigger)
{
	struct stretch begin = stretch_begin();

	snap->parts = 0;
	snap->longest_ns = 0;
	snap->cpu_ns = 0;
	/*
	 * The X rings first: they are smaller, and their servers may be the ones that write
	 * fastest.
	 */
	tipmed_x_servers_copy(&snap->x);
	tipme_kernel_source_copy_begin(snap->source, &snap->kernel);
	snap->copying = true;
	part_copy(snap);
	snap->trigger = *trigger;
	int n = tipme_kernel_source_picture(snap->source, &snap->picture, snap->threads,
					    TIPMED_THREADS_MAX);

	snap->picture.changed = n > 0 ? (uint32_t)n : 0;
	snap->phase = TIPMED_POST;
	stretch_end(snap, &begin);
}

void tipmed_snapshot_more(struct tipmed_snapshot *snap)
{
	tipme_kernel_source_copy_more(snap->source, &snap->kernel);
}

void tipmed_snapshot_end(struct tipmed_snapshot *snap)
{
	while (tipmed_snapshot_part(snap))
		;
	tipmed_x_servers_copy_more(&snap->x);
	tipmed_snapshot_more(snap);
	snap->end_ns = tipme_clock_ns();
	snap->phase = TIPMED_SAVING;
}
