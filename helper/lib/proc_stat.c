// SPDX-License-Identifier: GPL-2.0-only
/* What /proc/PID/stat says of a thread. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "proc_stat.h"
#include "small_file.h"

#define PF_KTHREAD 0x00200000

static uint8_t state_of(char c)
{
	switch (c) {
	case 'R': return TIPME_TASK_STATE_RUNNABLE;
	case 'S': return TIPME_TASK_STATE_SLEEPING;
	case 'D': return TIPME_TASK_STATE_DISK_SLEEP;
	case 'T': return TIPME_TASK_STATE_STOPPED;
	case 't': return TIPME_TASK_STATE_TRACED;
	case 'Z':
	case 'X': return TIPME_TASK_STATE_DEAD;
	case 'P': return TIPME_TASK_STATE_PARKED;
	case 'I': return TIPME_TASK_STATE_IDLE;
	}
	return TIPME_TASK_STATE_UNKNOWN;
}

/*
 * /proc counts from 0 (nice -20 is 0, real-time is negative); records count as the kernel does
 * inside.
 */
static uint8_t prio_of(long prio)
{
	long p = prio + 100;

	return p < 0 ? 255 : p > 139 ? 139 : (uint8_t)p;
}

/* Fields of proc(5) behind the name, which may hold blanks and parentheses. */
bool tipme_proc_stat_parse(char *text, struct tipme_proc_stat *f, char *comm, size_t comm_len)
{
	char *open = strchr(text, '('), *end = strrchr(text, ')');

	if (!open || !end || end < open)
		return false;
	*end = '\0';
	snprintf(comm, comm_len, "%s", open + 1);
	return sscanf(end + 1,
		      " %c %u %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %ld %*d %*d %*d %llu %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u "
		      "%*u %*u %*u %*d %u %u %u",
		      &f->state, &f->ppid, &f->flags, &f->prio, &f->start_ticks, &f->cpu,
		      &f->rt_priority, &f->policy) == 8;
}

void tipme_proc_stat_apply(const struct tipme_proc_stat *f, uint64_t boot_offset_ns,
			   struct tipme_thread *rec)
{
	uint64_t start_ns = f->start_ticks * (TIPME_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));

	rec->start_ns = start_ns > boot_offset_ns ? start_ns - boot_offset_ns : 0;
	rec->ppid = f->ppid;
	rec->flags = f->flags & PF_KTHREAD ? 1 : 0;
	rec->cpu = (uint16_t)f->cpu;
	rec->prio = prio_of(f->prio);
	rec->state = state_of(f->state);
}

uint32_t tipme_proc_pid_of(uint32_t tid)
{
	char path[64], text[512];
	const char *line;
	unsigned int pid = 0;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	if (tipme_file_read(path, text, sizeof(text)) > 0 && (line = strstr(text, "\nTgid:")))
		sscanf(line, "\nTgid: %u", &pid);
	return pid;
}
