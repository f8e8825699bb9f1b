/* SPDX-License-Identifier: GPL-2.0-only */
/* Sound that ran dry, as PipeWire reports it in its log. */
#ifndef TIPME_MEASURE_LATENCY_PIPEWIRE_H
#define TIPME_MEASURE_LATENCY_PIPEWIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tipme_pipewire {
	int fd; /* of its log; -1: not asked for */
	pid_t reader; /* who follows the journal; 0: nobody */
	char line[1024];
	size_t have;
	bool too_long; /* the rest of a line that is none of its reports */
};

/* One report. */
struct tipme_pipewire_xrun {
	uint64_t at_ns, cycle_ns;
	uint32_t node; /* as PipeWire numbers it */
	uint32_t writer; /* process that wrote the line; 0: it does not say */
	bool client; /* a program was too slow; else a device ran dry */
};

/*
 * LOG is `journal`, that of the user who asks, or a file that PIPEWIRE_LOG names. What stands in it
 * already is left out. Returns 0, or -errno, which has been told. Close takes one with fd -1.
 */
int tipme_pipewire_open(struct tipme_pipewire *p, const char *log);
void tipme_pipewire_close(struct tipme_pipewire *p);
/* Returns whether there is a further report. Never waits. */
bool tipme_pipewire_next(struct tipme_pipewire *p, struct tipme_pipewire_xrun *x);

/* Of a line of its log; false: it is no such report. */
bool tipme_pipewire_read(const char *line, uint64_t now_ns, struct tipme_pipewire_xrun *x);

/* The process of a node, as `pw-dump` tells it; 0: it does not. */
uint32_t tipme_pipewire_process(uint32_t node);

#endif
