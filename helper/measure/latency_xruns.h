/* SPDX-License-Identifier: GPL-2.0-only */
/* tipme latency xruns: sound that ran dry, or over. */
#ifndef TIPME_MEASURE_LATENCY_XRUNS_H
#define TIPME_MEASURE_LATENCY_XRUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "latency_tell.h"

/*
 * Watches all sound cards for so long, and a log of PipeWire's (see latency_pipewire.h; NULL:
 * none). Returns 0 or -errno, which has been told; *seen: how many.
 */
int tipme_latency_xruns(unsigned int duration_s, const char *pipewire, uint64_t *seen);

/*
 * Of what /proc/asound says of a stream, and both clocks now: whether it has stopped; then when,
 * whose it is and how long its buffer.
 */
bool tipme_xrun_read(const char *status, const char *hw_params, uint64_t now_ns, uint64_t wall_ns,
		     struct tipme_xrun *to);

#endif
