// SPDX-License-Identifier: GPL-2.0-only
/* The memory of the whole machine, as /proc tells it: one record at each look. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory_state.h"
#include "small_file.h"
#include "tipme_records.h"

#define TEXT_MAX 16384 /* /proc/vmstat has 6 kB */

/* The number behind a name that begins a line; 0 where there is none. */
static uint64_t number_of(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = text; at && *at; at = strchr(at, '\n'), at += at != NULL)
		if (!strncmp(at, name, len))
			return strtoull(at + len, NULL, 10);
	return 0;
}

static uint32_t kib_of(const char *text, const char *name)
{
	uint64_t kib = number_of(text, name);

	return kib < UINT32_MAX ? (uint32_t)kib : UINT32_MAX;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=8704389": microseconds since the boot. */
static uint64_t pressure_of(const char *text, const char *which)
{
	const char *line = strstr(text, which), *total = line ? strstr(line, "total=") : NULL;

	return total ? strtoull(total + strlen("total="), NULL, 10) : UINT64_MAX;
}

static void pressures_look(struct tipmed_memory_counts *c, char *text)
{
	c->some_us = c->full_us = c->io_full_us = UINT64_MAX;
	if (tipme_file_read("/proc/pressure/memory", text, TEXT_MAX) > 0) {
		c->some_us = pressure_of(text, "some ");
		c->full_us = pressure_of(text, "full ");
	}
	if (tipme_file_read("/proc/pressure/io", text, TEXT_MAX) > 0)
		c->io_full_us = pressure_of(text, "full ");
}

static void counts_look(struct tipmed_memory_counts *c, char *text)
{
	if (tipme_file_read("/proc/vmstat", text, TEXT_MAX) < 0)
		text[0] = '\0';
	c->swapped_in = number_of(text, "pswpin ");
	c->swapped_out = number_of(text, "pswpout ");
	c->major_faults = number_of(text, "pgmajfault ");
	c->compactions = number_of(text, "compact_stall ");
	c->oom_kills = number_of(text, "oom_kill ");
	pressures_look(c, text);
}

static uint32_t more(uint64_t now, uint64_t last)
{
	return now <= last ? 0 : now - last < UINT32_MAX ? (uint32_t)(now - last) : UINT32_MAX;
}

static uint32_t more_us(uint64_t now, uint64_t last)
{
	return now == UINT64_MAX || last == UINT64_MAX ? UINT32_MAX : more(now, last);
}

int tipmed_memory_look(struct tipmed_memory *m, uint64_t now_ns, struct tipme_memory_state *rec)
{
	static char text[TEXT_MAX]; /* one thread keeps house */
	struct tipmed_memory_counts now;
	ssize_t n = tipme_file_read("/proc/meminfo", text, TEXT_MAX);

	if (n < 0)
		return (int)n;
	*rec = (struct tipme_memory_state){
		.ts_ns = now_ns,
		.type = TIPME_MEMORY_STATE,
		.len8 = sizeof(*rec) / 8,
		.since_ns = m->looked_ns,
		.total_kib = kib_of(text, "MemTotal:"),
		.available_kib = kib_of(text, "MemAvailable:"),
		.swap_total_kib = kib_of(text, "SwapTotal:"),
		.swap_free_kib = kib_of(text, "SwapFree:"),
		.dirty_kib = kib_of(text, "Dirty:"),
		.writeback_kib = kib_of(text, "Writeback:"),
	};
	counts_look(&now, text);
	if (!m->looked_ns)
		m->last = now;
	rec->some_us = more_us(now.some_us, m->last.some_us);
	rec->full_us = more_us(now.full_us, m->last.full_us);
	rec->io_full_us = more_us(now.io_full_us, m->last.io_full_us);
	rec->swapped_in = more(now.swapped_in, m->last.swapped_in);
	rec->swapped_out = more(now.swapped_out, m->last.swapped_out);
	rec->major_faults = more(now.major_faults, m->last.major_faults);
	rec->compactions = more(now.compactions, m->last.compactions);
	rec->oom_kills = more(now.oom_kills, m->last.oom_kills);
	m->last = now;
	m->looked_ns = now_ns;
	return 0;
}
