// SPDX-License-Identifier: GPL-2.0-only
/* Counters by perf_event_open(2), one event each, so that children count too; or from a trace. */
#include "config.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counters.h"

#define MISSES(cache) \
	((cache) | (PERF_COUNT_HW_CACHE_OP_READ << 8) | (PERF_COUNT_HW_CACHE_RESULT_MISS << 16))
#define TRACED_MAX 100000

/* Those of the paper's table II that are counted today, and what the kernel counts itself. */
static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
} table[] = {
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "dcache-misses", PERF_TYPE_HW_CACHE, MISSES(PERF_COUNT_HW_CACHE_L1D) },
	{ "icache-misses", PERF_TYPE_HW_CACHE, MISSES(PERF_COUNT_HW_CACHE_L1I) },
	{ "dtlb-misses", PERF_TYPE_HW_CACHE, MISSES(PERF_COUNT_HW_CACHE_DTLB) },
	{ "itlb-misses", PERF_TYPE_HW_CACHE, MISSES(PERF_COUNT_HW_CACHE_ITLB) },
};
#define COUNTERS (sizeof(table) / sizeof(table[0]))
_Static_assert(COUNTERS <= TIPME_COUNTERS_MAX, "each counter has a place");

static int open_one(uint32_t type, uint64_t config, bool user_only)
{
	struct perf_event_attr attr = { .type = type, .size = sizeof(attr), .config = config };

	attr.inherit = 1;
	attr.exclude_kernel = user_only;
	attr.exclude_hv = user_only;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void tipme_counters_open(struct tipme_counters *c)
{
	*c = (struct tipme_counters){ .number = COUNTERS };
	for (unsigned int i = 0; i < COUNTERS; i++) {
		struct tipme_counter *k = &c->at[i];

		*k = (struct tipme_counter){ .name = table[i].name };
		k->fd = open_one(table[i].type, table[i].config, false);
		if (k->fd < 0 && (errno == EACCES || errno == EPERM)) {
			k->user_only = true;
			k->fd = open_one(table[i].type, table[i].config, true);
		}
		k->err = k->fd < 0 ? errno : 0;
	}
}

static struct tipme_counter *named(struct tipme_counters *c, const char *name)
{
	for (unsigned int i = 0; i < c->number; i++)
		if (!strcmp(c->at[i].name, name))
			return &c->at[i];
	return NULL;
}

static int take_reading(struct tipme_counters *c, const char *line)
{
	unsigned long long v[3];
	char name[32];

	if (line[0] == '#' || line[0] == '\n')
		return 0;
	if (sscanf(line, "%31s %llu %llu %llu", name, &v[0], &v[1], &v[2]) != 4)
		return -EINVAL;
	struct tipme_counter *k = named(c, name);

	if (!k || k->traced >= TRACED_MAX)
		return -EINVAL;
	uint64_t *more = realloc(k->trace, (k->traced + 1) * 3 * sizeof(*more));

	if (!more)
		return -ENOMEM;
	k->trace = more;
	for (int i = 0; i < 3; i++)
		k->trace[3 * k->traced + (unsigned int)i] = v[i];
	k->traced++;
	k->err = 0;
	return 0;
}

int tipme_counters_open_trace(struct tipme_counters *c, const char *path)
{
	FILE *in = fopen(path, "re");
	char line[200];
	int err = in ? 0 : -errno;

	*c = (struct tipme_counters){ .number = COUNTERS };
	for (unsigned int i = 0; i < COUNTERS; i++)
		c->at[i] = (struct tipme_counter){ .name = table[i].name, .fd = -1, .err = ENOENT };
	while (!err && fgets(line, sizeof(line), in))
		err = take_reading(c, line);
	for (unsigned int i = 0; !err && i < COUNTERS; i++)
		err = c->at[i].traced % 2 ? -EINVAL : 0;
	if (in)
		fclose(in);
	return err;
}

/* Takes value, time enabled, time running. Returns whether there was a reading. */
static bool take(struct tipme_counter *k, uint64_t v[3])
{
	if (!k->trace)
		return k->fd >= 0 && read(k->fd, v, 3 * sizeof(*v)) == 3 * sizeof(*v);
	if (k->next >= k->traced)
		return false;
	memcpy(v, &k->trace[3 * k->next++], 3 * sizeof(*v));
	return true;
}

void tipme_counters_start(struct tipme_counters *c)
{
	for (unsigned int i = 0; i < c->number; i++)
		c->at[i].read = take(&c->at[i], c->at[i].from);
}

/*
 * In reverse order: the first to be started is the last to be stopped, so that all overlap alike.
 */
void tipme_counters_stop(struct tipme_counters *c)
{
	for (unsigned int i = c->number; i--;) {
		struct tipme_counter *k = &c->at[i];
		uint64_t v[3];

		if (!take(k, v) || !k->read || v[2] <= k->from[2]) {
			k->read = false;
			continue;
		}
		k->count = (double)(v[0] - k->from[0]) * (double)(v[1] - k->from[1]) /
			   (double)(v[2] - k->from[2]);
	}
}

void tipme_counters_close(struct tipme_counters *c)
{
	for (unsigned int i = 0; i < c->number; i++) {
		if (c->at[i].fd >= 0)
			close(c->at[i].fd);
		free(c->at[i].trace);
	}
	c->number = 0;
}
