/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables that the tracing programs share with the library, by mmap. */
#ifndef TIPME_KERNEL_MAPS_H
#define TIPME_KERNEL_MAPS_H

#include "tipme_records.h"
#include "pool.h"

#define TIPME_SOFTIRQS 16 /* the kernel has 10 */
#define TIPME_STACK_FRAMES 16
/*
 * Of a sleeper's stack with more frames both ends are kept: so many outer ones, and before them one
 * that stands for all in between. What lies beyond the deepest is not looked at.
 */
#define TIPME_STACK_OUTER 5
#define TIPME_STACK_GAP 2ULL
#define TIPME_STACK_DEEPEST 64
#define TIPME_SLEEPS 32768
#define TIPME_SPINS 4 /* task, softirq, interrupt, one more */
#define TIPME_IDLE_STATES 16
#define TIPME_MEMORY_WAITS 1024
#define TIPME_DISK_SLEEPS 4096
#define TIPME_PRIORITIES 256
#define TIPME_AFFINITIES 256
#define TIPME_SUSPENDS 16
#define TIPME_ASKED 2048 /* connections; a power of two */

/* Who raised a softirq: tid, and these. */
#define TIPME_RAISED_BY_TASK (1ULL << 32)
#define TIPME_RAISED_BY_IRQ (1ULL << 33)
#define TIPME_RAISED_BY_SEVERAL (1ULL << 34) /* two tasks: tid is the last one */

/*
 * One for each possible CPU; written on that CPU only. What each record of the scheduler looks at
 * is in the first 64 bytes, the pool's cursor and list among it.
 */
struct tipme_kernel_cpu {
	/*
	 * time in interrupts since the last switch, without what they were themselves interrupted
	 * by
	 */
	__u64 irq_mark_ns; /* up to here it is charged */
	__u64 irq_ns;
	__u64 softirq_ns;
	__u32 irq_depth;
	__u32 softirq_depth;
	__u64 switch_ns; /* last switch */
	__u32 running_tid; /* since then */
	__u32 pad0;
	struct tipme_pool_cpu pool;
	__u64 serving; /* who raised the softirq that is being served; 0: none is */
	__u64 lost_stack;
	__u64 lost_sleep;
	/*
	 * the interrupt and the softirq that go on: since when, and what the sums above were then
	 */
	__u64 irq_begin_ns;
	__u64 irq_before_ns;
	__u64 softirq_begin_ns;
	__u64 softirq_before_ns;
	__u64 idle_begin_ns; /* 0: not idle, or not in a state worth telling */
	__u32 idle_state;
	__u32 spins; /* locks that this CPU spins for; index into spin, modulo size */
	__u64 lost_life; /* births, programs and ends of processes that found no room */
	__u64 raised[TIPME_SOFTIRQS];
	struct {
		__u64 lock;
		__u64 begin_ns;
	} spin[TIPME_SPINS];
};
TIPME_ASSERT(sizeof(struct tipme_kernel_cpu) % 64 == 0);

/* When the machine slept; no more is written while nobody can look. */
struct tipme_suspended {
	__u64 from_ns;
	__u64 to_ns; /* 0: it did not come to that */
};

/* What a thread did when it left the CPU, or since; found by tid modulo size. */
struct tipme_sleep {
	__u32 tid; /* 0: nothing known */
	__u16 state; /* enum tipme_task_state */
	__u16 known; /* where the stack is known that it slept on, see known.bpf.h; 0: nowhere */
	__u64 since_ns;
};

/*
 * Table of stacks. An entry is claimed by setting key to BUSY, and used again only when nothing has
 * named it for as long as the pool reaches back, or is meant to; its id has the times it was
 * claimed in the upper half, so a name that outlived its stack finds nothing.
 */
#define TIPME_STACK_BUSY 1ULL
#define TIPME_STACK_PROBES 8

struct tipme_stack_entry {
	__u64 key; /* hash of the frames; 0: never used */
	__u32 gen;
	__u32 count;
	__u64 used_ns;
	__u64 pad0;
	__u64 frames[TIPME_STACK_FRAMES];
};

/* Where the kernel's code is: the scheduler's, the locks', and what begins system calls. */
struct tipme_known_code {
	__u64 sched[2];
	__u64 lock[2];
	__u64 syscall[2];
};

/* How often a sleeper's stack was known again, see known.bpf.h; counted by a test alone. */
struct tipme_known_counts {
	__u64 known;
	__u64 unknown;
	__u64 wrong;
};

/*
 * The same for user stacks. What their addresses mean depends on the address space of the process.
 */
#define TIPME_USER_FRAMES 24

struct tipme_user_stack_entry {
	__u64 key;
	__u32 gen;
	__u32 count;
	__u64 used_ns;
	__u64 first_ns;
	__u32 pid;
	__u32 pad0;
	__u64 space; /* see tipme_space_of() */
	__u64 frames[TIPME_USER_FRAMES];
};

/* A thread that reclaims or compacts, found by tid modulo size. */
struct tipme_memory_begun {
	__u32 tid;
	__u32 kind;
	__u64 begin_ns;
};

/*
 * A connection over which something was sent, found by its address. One that another takes the
 * place of is told more often, no more.
 */
struct tipme_asked {
	__u64 socket;
	__u64 asked_ns; /* the record that was made last, and of sending again */
	__u64 again_ns;
	__u32 tid;
	__u32 pad0;
};

/* The last sleep of a thread in state disk_sleep, found by tid modulo size. */
struct tipme_disk_sleep {
	__u32 tid;
	__u32 pad0;
	__u64 begin_ns;
	__u64 end_ns;
};

/*
 * A thread whose priority is about to be changed, found by the tid of who changes it modulo size.
 */
struct tipme_priority_before {
	__u32 changer;
	__u32 tid;
	__u32 prio;
	__u32 policy;
};

/* The same for the CPUs on which it may run. */
struct tipme_affinity_before {
	__u32 changer;
	__u32 tid;
	__u64 cpus;
};

#define TIPME_LIVES_BYTES (2U << 20)
/* Of a program that begins: its texts, one after the other */
#define TIPME_LIFE_EXE_BYTES 256
#define TIPME_LIFE_ARGS_BYTES 2048
#define TIPME_LIFE_ENV_BYTES 12288
#define TIPME_LIFE_ENV_AT 4096 /* at most: a power of two, from the others' bytes */
#define TIPME_LIFE_TEXT_BYTES (TIPME_LIFE_ENV_AT + TIPME_LIFE_ENV_BYTES)

#ifdef __bpf__
/* As in kernel_source.h, for programs that have no C library. */
enum { TIPME_LIFE_FORK = 1, TIPME_LIFE_EXEC = 2, TIPME_LIFE_EXIT = 3 };

struct tipme_life {
	__u64 ts_ns;
	__u64 start_ns;
	__u32 kind, pid, ppid, uid;
	__u32 exit_code;
	__u32 args_len, args_total, env_len, exe_len;
	__u32 env_total;
};

struct tipme_mapping {
	__u64 start, end, offset, bytes, space;
	char path[224];
};
#endif

/* The module, which includes this, too, does not know them. */
#ifndef __KERNEL__
TIPME_ASSERT(sizeof(struct tipme_life) == 56);
TIPME_ASSERT(sizeof(struct tipme_mapping) == 264);
#endif

/* What the picture's iterator writes for each thread. */
struct tipme_picture_entry {
	struct tipme_thread rec;
	__u64 switches;
};

#endif
