/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What user space and tipme.ko say to each other through /dev/tipme: see
 * kernel-patch/docs/abi/dev-tipme.
 */
#ifndef TIPME_UAPI_H
#define TIPME_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * The device's memory, mapped read-only from offset 0 as soon as recording has begun, begins with
 * this. What the tables hold is in tables.h, what the pool holds and how to read it while it is
 * written, in pool.h and docs/formats.md.
 */
#define TIPME_MAP_MAGIC "TIPMEMAP"

struct tipme_map_header {
	char magic[8];
	__u32 byte_order; /* 0x01020304 */
	__u16 major, minor; /* format of the records */
	__u32 header_bytes;
	__u32 cpus; /* possible CPUs */
	__u32 cpu_bytes; /* size of struct tipme_kernel_cpu */
	__u32 subs;
	__u32 subbuf_bytes;
	__u32 stack_entries;
	__u32 stack_bytes; /* size of struct tipme_stack_entry */
	__u32 stack_frames;
	__u64 cpus_offset, stacks_offset, pool_offset;
	__u64 map_bytes;
	__u64 start_ns; /* recording began, CLOCK_MONOTONIC */
};

/*
 * Begins to record into this file's memory; ends when the last descriptor and mapping of the file
 * are gone. One file at a time.
 */
struct tipme_start {
	__u32 subs;
	__u32 subbuf_bytes; /* a power of two from 4096 to 1 MB */
	__u32 stack_entries; /* a power of two up to 32768 */
	__u32 stack_min_us; /* sleeps as long as this get their stack recorded */
	__u32 window_s; /* stacks are kept for more than twice this */
	__u32 classes; /* bits, see enum tipme_class_number */
	/* functions of the scheduler, left out of sleeping stacks; 0: none are */
	__u64 sched_text_start, sched_text_end;
	__u64 map_bytes; /* from the kernel: how much there is to map */
};

#define TIPME_INFO_RECORDING (1U << 0)
#define TIPME_INFO_HOTKEYS (1U << 1) /* console keys are taken */
/* this kernel's workqueues are not known: work records do not tell their CPU */
#define TIPME_INFO_NO_WORK_CPU (1U << 16)
/* some tracepoint of what is always recorded is missing: the kernel's log says which */
#define TIPME_INFO_NO_PROBE (1U << 17)

struct tipme_info {
	__u32 version; /* of this interface: TIPME_INTERFACE */
	__u32 flags;
	__u32 classes_able;
	__u32 classes; /* on */
	__u32 probes; /* registered */
	__u32 pad0;
	__u64 triggers; /* taken since the module was loaded */
	__u64 triggers_refused; /* by the limit on the sysctl */
};

#define TIPME_INTERFACE 1

/* Looks at all threads: an array of struct tipme_picture_entry. */
struct tipme_picture_request {
	__u64 entries; /* address */
	__u32 max;
	__u32 seen; /* from the kernel, as all that follow */
	__u32 filled;
	__u32 pad0;
	__u64 begin_ns, end_ns;
};

#define TIPME_IOC_INFO _IOR('t', 0xe0, struct tipme_info)
#define TIPME_IOC_START _IOWR('t', 0xe1, struct tipme_start)
#define TIPME_IOC_CLASSES _IOW('t', 0xe2, __u32)
#define TIPME_IOC_PICTURE _IOWR('t', 0xe3, struct tipme_picture_request)
/*
 * Stacks that were last named before this time (CLOCK_MONOTONIC) may make room for others: no
 * record that the pool keeps names them.
 */
#define TIPME_IOC_STACKS_OLD _IOW('t', 0xe4, __u64)
/* 0xe8 to 0xef: the latency driver */

/*
 * What read() gives, one at a time; poll() and SIGIO (or what F_SETSIG chose) tell that there is
 * one.
 */
enum tipme_trigger_reason {
	TIPME_TRIGGER_KEY = 1, /* value: enum tipme_chord_action */
	TIPME_TRIGGER_SYSCTL = 2, /* value: uid */
	TIPME_TRIGGER_WAKEUP = 3, /* a thread waited too long for a CPU; value: its tid */
	TIPME_TRIGGER_LATENCY = 4, /* the latency driver; value: CPU */
};

struct tipme_trigger_event {
	__u64 ts_ns;
	__u32 reason;
	__u32 value;
	__u64 measured_ns; /* what was over a threshold; 0: nothing was measured */
};

#endif
