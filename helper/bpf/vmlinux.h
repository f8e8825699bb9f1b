/* SPDX-License-Identifier: GPL-2.0-only */
/* The few kernel types that the tracing programs read; libbpf finds the fields' places in the running kernel's BTF. */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
enum { false, true };
typedef __u64 u64;
typedef __u32 u32;
typedef __u16 u16;
typedef __u8 u8;

/* From the user API of BPF; they are numbers for ever. */
enum bpf_map_type { BPF_MAP_TYPE_ARRAY = 2 };
#define BPF_F_MMAPABLE (1U << 10)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info {
	__u32 cpu;
};

struct sched_entity {
	unsigned char sched_delayed; /* since 6.12: sleeps, but still stands in the run queue */
};

struct kuid {
	__u32 val;
};

struct cred {
	struct kuid uid;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	int on_rq;
	int prio;
	struct sched_entity se;
	int exit_state;
	int exit_code;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 start_time;
	const struct cred *real_cred;
	char comm[16];
};

struct work_struct {
	void *func;
};

struct worker_pool {
	int cpu;
};

struct pool_workqueue {
	struct worker_pool *pool;
};

struct pcpu_hot {
	int preempt_count;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

/* Opaque arguments of tracepoints. */
struct linux_binprm;
struct irqaction;

#pragma clang attribute pop

#endif
