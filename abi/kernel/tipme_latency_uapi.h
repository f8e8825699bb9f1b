/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What user space and the latency driver say to each other through /dev/tipme-latency: see
 * kernel-patch/docs/abi/dev-tipme-latency.
 */
#ifndef TIPME_LATENCY_UAPI_H
#define TIPME_LATENCY_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * The way of one expiry of a CPU's timer; each stage is counted apart, and those that follow each
 * other also as a sum.
 */
enum tipme_latency_stage {
	TIPME_STAGE_IRQ, /* expiry to the first instruction of the timer's handler */
	TIPME_STAGE_DEFERRED, /* from there to the deferred work */
	TIPME_STAGE_IRQ_DEFERRED, /* both */
	/* from being woken in deferred work to the kernel thread of high priority */
	TIPME_STAGE_HIGH,
	TIPME_STAGE_MEDIUM, /* the same, medium priority */
	TIPME_STAGE_USER, /* to the first look at the clock of the thread in user space */
	TIPME_STAGE_TOTAL_HIGH, /* expiry to thread */
	TIPME_STAGE_TOTAL_MEDIUM,
	TIPME_STAGE_TOTAL_USER,
	TIPME_STAGES
};

/*
 * Buckets of 1 us up to 4096 us, from there 64 to each doubling, for 20 doublings (more than an
 * hour); the last takes what is beyond.
 */
#define TIPME_LATENCY_LINEAR 4096
#define TIPME_LATENCY_SPLIT 64
#define TIPME_LATENCY_DOUBLINGS 20
#define TIPME_LATENCY_BUCKETS (TIPME_LATENCY_LINEAR + TIPME_LATENCY_DOUBLINGS * TIPME_LATENCY_SPLIT)

static inline __u32 tipme_latency_bucket(__u64 ns)
{
	__u64 us = ns / 1000;
	__u32 doubling;

	if (us < TIPME_LATENCY_LINEAR)
		return us;
	doubling = 63 - __builtin_clzll(us) - 12;
	if (doubling >= TIPME_LATENCY_DOUBLINGS)
		return TIPME_LATENCY_BUCKETS - 1;
	return TIPME_LATENCY_LINEAR + doubling * TIPME_LATENCY_SPLIT +
	       ((us >> (doubling + 6)) & (TIPME_LATENCY_SPLIT - 1));
}

/* Where bucket `i` begins; it ends where the next one begins. */
static inline __u64 tipme_latency_bucket_us(__u32 i)
{
	__u32 doubling = (i - TIPME_LATENCY_LINEAR) / TIPME_LATENCY_SPLIT,
	      part = (i - TIPME_LATENCY_LINEAR) % TIPME_LATENCY_SPLIT;

	return i < TIPME_LATENCY_LINEAR
		       ? i
		       : (__u64)(TIPME_LATENCY_LINEAR + part * TIPME_LATENCY_SPLIT) << doubling;
}

/* Begins to measure on all CPUs; it ends when the file is closed. One file at a time. */
struct tipme_latency_start {
	__u32 period_us; /* 100 to 1000000 */
	/*
	 * a total over it is recorded, its causes are kept, and a snapshot is triggered; 0: none is
	 */
	__u32 threshold_us;
	__u32 sample_us; /* the cause sampler's period, 50 to 100000; 0: no sampler */
	__u8 high_priority, medium_priority; /* SCHED_FIFO, 1 to 98, medium below high */
	/* from the kernel: enum tipme_sample_kind, what makes the samples; 0: nothing */
	__u8 sample_kind;
	__u8 pad0;
};

struct tipme_latency_read {
	__u32 cpu;
	__u32 stage; /* enum tipme_latency_stage */
	__u64 buckets; /* address of TIPME_LATENCY_BUCKETS __u64; 0: not wanted */
	/* From the kernel. */
	__u64 count, sum_ns, min_ns, max_ns;
	__u64 max_expiry_ns; /* the expiry that gave the maximum */
	__u64 over; /* totals: over the threshold */
	/*
	 * irq: expiries that passed before the handler ran; others: the one before was still on its
	 * way
	 */
	__u64 skipped;
};

/*
 * The thread in user space: gives the time at which it woke up from the call before (0: none),
 * sleeps until it is woken.
 */
struct tipme_latency_wait {
	__u32 cpu;
	__u32 rt_priority; /* its own, for the record */
	__u64 seen_ns;
	/* From the kernel. */
	__u64 expiry_ns;
	__u64 woken_ns;
};

#define TIPME_LATENCY_FRAMES 12

struct tipme_latency_sample {
	__u64 ts_ns;
	__u32 tid; /* thread that was on the CPU */
	__u8 context; /* enum tipme_context */
	__u8 irqs_off;
	__u8 user; /* its own code ran, not the kernel's */
	__u8 frames;
	char comm[16];
	__u64 frame[TIPME_LATENCY_FRAMES]; /* innermost first */
};

/*
 * Takes the causes of the oldest latency over the threshold of a CPU that nobody has taken.
 * ENODATA: there is none.
 */
struct tipme_latency_causes {
	__u32 cpu;
	__u32 max; /* room for samples */
	__u64 samples; /* address of struct tipme_latency_sample[] */
	/* From the kernel. */
	__u32 count;
	__u32 lost; /* samples that had no room, there or here */
	__u64 expiry_ns;
	__u32 irq_ns, deferred_ns, thread_ns;
	__u32 stage; /* the thread: HIGH, MEDIUM, USER */
};

#define TIPME_IOC_LATENCY_START _IOWR('t', 0xe8, struct tipme_latency_start)
#define TIPME_IOC_LATENCY_READ _IOWR('t', 0xe9, struct tipme_latency_read)
#define TIPME_IOC_LATENCY_WAIT _IOWR('t', 0xea, struct tipme_latency_wait)
#define TIPME_IOC_LATENCY_CAUSES _IOWR('t', 0xeb, struct tipme_latency_causes)

#endif
