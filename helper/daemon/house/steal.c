// SPDX-License-Identifier: GPL-2.0-only
/* Time that the host of a virtual machine took from it. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "steal.h"
#include "tipme_records.h"

int tipmed_steal_any(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[8192];
	int found = 0;

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, "flags", 5) && strstr(line, " hypervisor") != NULL;
	if (f)
		fclose(f);
	return found;
}

static void one_look(struct tipmed_steal *s, unsigned int cpu, uint64_t ticks, uint64_t now_ns,
		     void (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	uint64_t tick_ns = TIPME_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK),
		 more = ticks - s->ticks[cpu];
	int known = s->looked_ns && ticks > s->ticks[cpu]; /* it may run back by a tick */

	s->ticks[cpu] = ticks;
	if (!known || !emit)
		return;
	struct tipme_steal rec = {
		.ts_ns = now_ns,
		.type = TIPME_STEAL,
		.len8 = sizeof(rec) / 8,
		.cpu = (uint16_t)cpu,
		.since_ns = s->looked_ns,
		.steal_ns = more * tick_ns < UINT32_MAX ? (uint32_t)(more * tick_ns) : UINT32_MAX,
	};

	emit(arg, &rec, sizeof(rec));
}

void tipmed_steal_look(struct tipmed_steal *s, uint64_t now_ns,
		       void (*emit)(void *arg, const void *rec, size_t len), void *arg)
{
	FILE *f = fopen("/proc/stat", "re");
	unsigned long long ticks;
	unsigned int cpu;
	char line[1024];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu%u %*u %*u %*u %*u %*u %*u %*u %llu", &cpu, &ticks) == 2 &&
		    cpu < TIPMED_STEAL_CPUS)
			one_look(s, cpu, ticks, now_ns, emit, arg);
	if (f)
		fclose(f);
	s->looked_ns = now_ns;
}
