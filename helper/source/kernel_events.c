// SPDX-License-Identifier: GPL-2.0-only
/*
 * Software events of the kernel, as tracing programs take them: whoever has the right opens them.
 */
#include "config.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel_source.h"

/* Software events of one CPU: its clock, or page faults that had to read, each of them. */
int tipme_kernel_event_open(unsigned int which, int cpu)
{
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(clock),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = TIPME_SAMPLES_PER_S,
		.exclude_idle = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
	};
	struct perf_event_attr faults = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(faults),
		.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
		.sample_period = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
	};
	int fd = syscall(SYS_perf_event_open, which == TIPME_CLASS_SAMPLE ? &clock : &faults, -1,
			 cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}
