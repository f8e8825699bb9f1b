/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the tables that tracing programs and kernel module write alike: what each CPU wrote and
 * lost, and the stacks.
 */
#ifndef TIPME_KERNEL_TABLES_H
#define TIPME_KERNEL_TABLES_H

#include "kernel_source.h" /* before the tables, which it explains */
#include "tables.h"

struct tipme_kernel_tables {
	const struct tipme_kernel_cpu *cpus;
	unsigned int cpu_count;
	unsigned int slots; /* of a sub-buffer */
	const struct tipme_stack_entry *stacks;
	unsigned int stack_entries;
	unsigned int stack_base; /* added to the ids of stacks: see TIPME_STACKS_BESIDE */
};

/* Adds records and losses of all CPUs to `stats`. */
void tipme_kernel_tables_count(const struct tipme_kernel_tables *t,
			       struct tipme_kernel_stats *stats);
/* As tipme_kernel_source_stacks(). */
int tipme_kernel_tables_stacks(const struct tipme_kernel_tables *t,
			       int (*fn)(void *arg, uint32_t stack_id, const uint64_t *frames,
					 unsigned int count),
			       void *arg);

#endif
