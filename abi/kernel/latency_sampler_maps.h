/* SPDX-License-Identifier: GPL-2.0-only */
/* What the cause sampler's tracing program shares with tipme-latency, by mmap. */
#ifndef TIPME_LATENCY_SAMPLER_MAPS_H
#define TIPME_LATENCY_SAMPLER_MAPS_H

/* 0.4 s of them, at 10 kHz. A power of two. */
#define TIPME_SAMPLER_SAMPLES 4096

#ifdef __bpf__
#define TIPME_LATENCY_FRAMES 12

/* As in tipme_latency_uapi.h, whose includes are not for tracing programs. */
struct tipme_latency_sample {
	__u64 ts_ns;
	__u32 tid;
	__u8 context;
	__u8 irqs_off;
	__u8 user;
	__u8 frames;
	char comm[16];
	__u64 frame[TIPME_LATENCY_FRAMES];
};
#else
#include "tipme_latency_uapi.h"
#endif

_Static_assert(sizeof(struct tipme_latency_sample) == 128,
	       "the tracing program and the module write the same samples");

struct tipme_sampler_head {
	__u64 count; /* samples ever made; the place of the next is count % TIPME_SAMPLER_SAMPLES */
	__u64 pad[7]; /* a line of the cache for each CPU */
};

#endif
