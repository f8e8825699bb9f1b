/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few kernel types that the tracing programs read; libbpf finds the fields' places in the
 * running kernel's BTF.
 */
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
enum bpf_map_type {
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27
};
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2, BPF_RB_AVAIL_DATA = 0 };
#define BPF_F_MMAPABLE (1U << 10)
#define BPF_F_USER_STACK (1ULL << 8)

/* As a probe in a program of user space finds them on x86_64: not a kernel's private matter. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip,
		cs, flags, sp, ss;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info {
	__u32 cpu;
};

typedef struct {
	__s64 counter;
} atomic_long_t;

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct task_group {
	struct cgroup_subsys_state css;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct rq {
	int cpu;
	__u64 clock;
};

struct cfs_rq {
	struct rq *rq;
	struct task_group *tg;
	__u64 throttled_clock;
};

struct cpumask {
	unsigned long bits[1];
};

struct mm_rss_stat { /* up to 6.1 */
	atomic_long_t count[4];
};

struct mm_struct___before_6_2 {
	struct mm_rss_stat rss_stat;
};

struct percpu_counter {
	__s64 count;
};

struct mm_struct {
	unsigned long arg_start, arg_end, env_start, env_end;
	struct percpu_counter rss_stat[4];
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct mutex {
	atomic_long_t owner;
};

struct rw_semaphore {
	atomic_long_t owner;
};

struct rt_mutex_base {
	struct task_struct *owner;
};

struct list_head {
	struct list_head *next;
};

/* Locks of files, since 6.9 and (___old) before */
struct file_lock_core {
	struct list_head flc_list;
	void *flc_owner;
	unsigned char flc_type;
	int flc_pid;
};

struct file_lock {
	struct file_lock_core c;
	long long fl_start, fl_end;
};

struct file_lock___old {
	struct list_head fl_list;
	void *fl_owner;
	unsigned char fl_type;
	unsigned int fl_pid;
	long long fl_start, fl_end;
};

struct file_lock_context {
	struct list_head flc_flock, flc_posix;
};

struct gendisk {
	int major;
	int first_minor;
};

struct block_device {
	struct gendisk *bd_disk;
};

struct bvec_iter {
	__u64 bi_sector;
	unsigned int bi_size;
};

struct bio {
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	struct bvec_iter bi_iter;
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	__u64 __sector;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
	int group_exit_code;
	unsigned int flags;
};

struct sched_entity {
	__u64 sum_exec_runtime;
	unsigned char sched_delayed; /* since 6.12: sleeps, but still stands in the run queue */
};

struct kuid {
	__u32 val;
};

struct cred {
	struct kuid uid;
};

struct thread_struct {
	unsigned long sp;
};

struct task_struct {
	struct thread_info thread_info;
	struct thread_struct thread;
	void *stack;
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	int on_rq;
	int prio;
	int normal_prio;
	unsigned int policy;
	struct sched_entity se;
	struct task_group *sched_task_group;
	struct cpumask cpus_mask;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct css_set *cgroups;
	struct pid *thread_pid;
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

struct hrtimer {
	long long _softexpires;
	unsigned char is_soft;
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

struct linux_binprm {
	const char *filename;
};

struct dentry;

struct path {
	struct dentry *dentry;
};

struct inode {
	long long i_size;
	struct file_lock_context *i_flctx;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff, vm_flags;
	struct file *vm_file;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

struct in6_addr {
	union {
		__u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
};

struct net_device {
	unsigned int flags;
};

struct sk_buff {
	struct sock *sk;
	struct net_device *dev;
	unsigned int len;
	unsigned int truesize;
	__be16 protocol;
	__u16 transport_header;
	__u16 network_header;
	unsigned char *head;
};

struct input_dev {
	unsigned long evbit[1];
	unsigned long keybit[12];
	unsigned long key[12];
};

/* Opaque arguments of tracepoints. */
struct irqaction;

#pragma clang attribute pop

/* From the user API, too; its first member is struct pt_regs of x86-64. */
struct bpf_perf_event_data {
	__u64 regs[21];
	__u64 sample_period;
	__u64 addr;
};

#endif
