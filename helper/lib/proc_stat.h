/* SPDX-License-Identifier: GPL-2.0-only */
/* What /proc/PID/stat says of a thread. */
#ifndef TIPME_PROC_STAT_H
#define TIPME_PROC_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tipme_records.h"

struct tipme_proc_stat {
	char state;
	unsigned int ppid, flags, cpu, rt_priority, policy;
	long prio;
	unsigned long long start_ticks;
};

/* Changes `text`. Returns whether it could be read. */
bool tipme_proc_stat_parse(char *text, struct tipme_proc_stat *f, char *comm, size_t comm_len);

/*
 * Start (to a clock tick), parent, flags, CPU, priority and state. `boot_offset_ns`: by how much
 * CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC.
 */
void tipme_proc_stat_apply(const struct tipme_proc_stat *f, uint64_t boot_offset_ns,
			   struct tipme_thread *rec);

/* The process that a thread belongs to; 0: it is gone. */
uint32_t tipme_proc_pid_of(uint32_t tid);

#endif
