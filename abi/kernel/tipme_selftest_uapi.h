/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What helper/test/ring-selftest asks of a tipme.ko that was built with TIPME_SELFTEST=1. No other
 * has it.
 */
#ifndef TIPME_SELFTEST_UAPI_H
#define TIPME_SELFTEST_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum tipme_selftest_context {
	TIPME_SELFTEST_THREAD,
	TIPME_SELFTEST_SOFTIRQ,
	TIPME_SELFTEST_HARDIRQ,
	TIPME_SELFTEST_NMI,
	TIPME_SELFTEST_CONTEXTS,
};

#define TIPME_SELFTEST_CPUS 64

/*
 * Writes so many records from all of these at once, on all CPUs, and tells how many each has tried.
 */
struct tipme_selftest {
	__u64 records;
	__u64 written[TIPME_SELFTEST_CPUS][TIPME_SELFTEST_CONTEXTS];
};

/*
 * A record that proves itself. Its type is one that the kernel never writes. tid: context and CPU.
 */
struct tipme_selftest_record {
	__u64 ts_ns;
	__u8 type, len8;
	__u16 gen;
	__u32 tid;
	__u64 number; /* one by one, of its CPU and context */
	__u64 proof;
};

#define TIPME_SELFTEST_TID(context, cpu) ((__u32)(context) << 16 | (cpu))
#define TIPME_SELFTEST_PROOF(tid, number) \
	(((number) + 1) * 0x9e3779b97f4a7c15ULL ^ (__u64)(tid) << 32)

#define TIPME_IOC_SELFTEST _IOWR('t', 0xef, struct tipme_selftest)

#endif
