// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the whole machine does, minute by minute, as /proc counts it: CPU time by use, interrupts
 * by class.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile.h"

const char *const tipme_cpu_uses[TIPME_CPU_USES] = { "user",   "nice", "system",  "idle",
						     "iowait", "irq",  "softirq", "steal" };
const char *const tipme_irq_classes[TIPME_IRQ_CLASSES] = { "device", "timer", "between_cpus",
							   "other" };
static const char *const softirqs[TIPME_SOFTIRQS] = { "HI",	 "TIMER",    "NET_TX",	"NET_RX",
						      "BLOCK",	 "IRQ_POLL", "TASKLET", "SCHED",
						      "HRTIMER", "RCU" };

const char *tipme_softirq_name(unsigned int i)
{
	return i < TIPME_SOFTIRQS ? softirqs[i] : "?";
}

/* Of a line of /proc/interrupts: numbers are devices; what the kernel sends itself has letters. */
static unsigned int class_of(const char *name)
{
	if (isdigit((unsigned char)*name))
		return 0;
	if (!strncmp(name, "LOC", 3))
		return 1;
	if (!strncmp(name, "RES", 3) || !strncmp(name, "CAL", 3) || !strncmp(name, "TLB", 3) ||
	    !strncmp(name, "IPI", 3))
		return 2;
	return 3;
}

/* A name, a colon, a number for each CPU. */
static void read_counts(const char *path,
			void (*fn)(struct tipme_machine *m, const char *name, uint64_t sum),
			struct tipme_machine *m)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t cap = 0;

	while (f && getline(&line, &cap, f) >= 0) {
		char *colon = strchr(line, ':'), *name = line;
		uint64_t sum = 0;

		if (!colon)
			continue;
		*colon = '\0';
		name += strspn(name, " ");
		for (char *at = colon + 1, *end;; at = end) {
			sum += strtoull(at, &end, 10);
			if (end == at || !(isspace((unsigned char)*end) || !*end))
				break;
		}
		fn(m, name, sum);
	}
	free(line);
	if (f)
		fclose(f);
}

static void on_interrupt(struct tipme_machine *m, const char *name, uint64_t sum)
{
	m->irqs[class_of(name)] += sum;
}

static void on_softirq(struct tipme_machine *m, const char *name, uint64_t sum)
{
	for (unsigned int i = 0; i < TIPME_SOFTIRQS; i++)
		if (!strcmp(name, softirqs[i]))
			m->softirqs[i] += sum;
}

int tipme_machine_read(struct tipme_machine *m)
{
	FILE *f = fopen("/proc/stat", "re");
	unsigned long long v[TIPME_CPU_USES] = { 0 };
	unsigned long long hz = (unsigned long long)sysconf(_SC_CLK_TCK);

	memset(m, 0, sizeof(*m));
	if (!f)
		return -errno;
	int n = fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3],
		       &v[4], &v[5], &v[6], &v[7]);

	fclose(f);
	for (int i = 0; i < n && i < TIPME_CPU_USES; i++)
		m->cpu_ms[i] = v[i] * 1000 / hz;
	read_counts("/proc/interrupts", on_interrupt, m);
	read_counts("/proc/softirqs", on_softirq, m);
	return 0;
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void machine_add(struct tipme_machine *to, const struct tipme_machine *now,
			const struct tipme_machine *before)
{
	for (unsigned int i = 0; i < TIPME_CPU_USES; i++)
		to->cpu_ms[i] += since(now->cpu_ms[i], before->cpu_ms[i]);
	for (unsigned int i = 0; i < TIPME_IRQ_CLASSES; i++)
		to->irqs[i] += since(now->irqs[i], before->irqs[i]);
	for (unsigned int i = 0; i < TIPME_SOFTIRQS; i++)
		to->softirqs[i] += since(now->softirqs[i], before->softirqs[i]);
}

void tipme_machine_begin(struct tipme_machine_rows *rows)
{
	memset(rows, 0, sizeof(*rows));
	rows->minutes = 1;
	tipme_machine_read(&rows->last);
}

static void rows_coarsen(struct tipme_machine_rows *rows)
{
	static const struct tipme_machine none;

	for (unsigned int i = 0; i < rows->rows / 2; i++) {
		rows->row[i] = rows->row[2 * i];
		machine_add(&rows->row[i], &rows->row[2 * i + 1], &none);
		rows->events[i] = rows->events[2 * i] + rows->events[2 * i + 1];
	}
	rows->rows /= 2;
	rows->minutes *= 2;
}

void tipme_machine_minute(struct tipme_machine_rows *rows, uint32_t events)
{
	struct tipme_machine now;

	if (tipme_machine_read(&now))
		return;
	if (!rows->part && rows->rows == TIPME_MACHINE_ROWS)
		rows_coarsen(rows);
	if (!rows->part) {
		memset(&rows->row[rows->rows], 0, sizeof(rows->row[0]));
		rows->events[rows->rows++] = 0;
	}
	machine_add(&rows->row[rows->rows - 1], &now, &rows->last);
	rows->events[rows->rows - 1] += events;
	rows->part = (rows->part + 1) % rows->minutes;
	rows->last = now;
}
