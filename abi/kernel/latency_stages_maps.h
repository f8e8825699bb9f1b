/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tracing programs of the stages share with tipme-latency, by mmap: a slot for each CPU.
 */
#ifndef TIPME_LATENCY_STAGES_MAPS_H
#define TIPME_LATENCY_STAGES_MAPS_H

/*
 * How far the thread of a CPU is on its way. User space writes the first three, the programs the
 * rest.
 */
enum tipme_stages_phase {
	TIPME_PHASE_NONE,
	TIPME_PHASE_ARMING, /* the deferred timer is being started: its expiry becomes `due_ns` */
	TIPME_PHASE_SLEEPING, /* the thread is about to sleep until `due_ns` */
	TIPME_PHASE_WAITING, /* its timer runs */
	TIPME_PHASE_EXPIRED,
	TIPME_PHASE_WOKEN,
	TIPME_PHASE_ON_CPU,
};

/* Only its own CPU touches a slot. Times are CLOCK_MONOTONIC; 0: not seen. */
struct tipme_stages_slot {
	__u32 phase; /* enum tipme_stages_phase */
	__u32 tid; /* as the kernel numbers it */
	__u64 due_ns;
	__u64 timer; /* address of the one that the thread sleeps on */
	__u64 interrupt_ns; /* entry of the timer interrupt that is going on */
	__u64 entry_ns; /* ... of that in which our timer expired */
	__u64 irq_ns; /* our timer's handler is about to be called */
	__u64 waking_ns; /* it wakes the thread */
	__u64 switch_ns; /* the CPU goes to the thread */
	__u64 deferred_ns; /* the deferred work began */
	__u64 pad[6]; /* two lines of the cache */
};

/* What user space asks the program for that starts the deferred timer. */
struct tipme_stages_arm {
	__u64 expiry_ns;
};

#endif
