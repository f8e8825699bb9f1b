/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kernel pool in ordinary memory, with the writer of pool.h and the reader of kernel_copy.c, for
 * tests.
 */
#ifndef TIPME_POOL_TEST_H
#define TIPME_POOL_TEST_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel_copy.h"
#include "pool.h"
#include "tipme_records.h"

#ifndef TEST_CPUS
#define TEST_CPUS 16
#endif

static struct {
	char *base;
	uint32_t subs, subbuf_bytes, cell_mask;
	uint64_t *cells;
	struct tipme_pool_queue queue __attribute__((aligned(64)));
	struct tipme_pool_queue spare __attribute__((aligned(64)));
	uint64_t *spare_cells;
	struct tipme_pool_cpu cpus[TEST_CPUS] __attribute__((aligned(64)));
} pool;

static uint32_t tipme_pool_slots;

static inline struct tipme_pool_header *tipme_pool_sub(__u32 sub)
{
	return sub < pool.subs ? (void *)(pool.base + (size_t)sub * pool.subbuf_bytes) : NULL;
}

static inline struct tipme_pool_header *tipme_pool_sub_there(__u32 sub)
{
	return tipme_pool_sub(sub);
}

static inline __u64 *tipme_pool_cell(__u64 pos)
{
	return (__u64 *)&pool.cells[pos & pool.cell_mask];
}

static inline struct tipme_pool_queue *tipme_pool_queue(void)
{
	return &pool.queue;
}

static inline __u64 *tipme_pool_spare_cell(__u64 pos)
{
	return (__u64 *)&pool.spare_cells[pos & pool.cell_mask];
}

static inline struct tipme_pool_queue *tipme_pool_spare(void)
{
	return &pool.spare;
}

static uint64_t test_clock_ns; /* 0: the real one */

static inline uint64_t test_now(void)
{
	struct timespec ts;

	if (test_clock_ns)
		return test_clock_ns;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static inline __u64 tipme_pool_clock(void)
{
	return test_now();
}

#define TIPME_POOL_WRITER
#include "pool.h"

/*
 * `gen` is what all sub-buffers begin with: near 65535 the slots' numbers begin anew in the middle
 * of a test.
 */
static void pool_setup(uint32_t subs, uint32_t subbuf_bytes, uint64_t gen)
{
	uint32_t cells = 1;

	while (cells < subs)
		cells *= 2;
	free(pool.base);
	free(pool.cells);
	free(pool.spare_cells);
	memset(&pool, 0, sizeof(pool));
	pool.base = calloc(subs, subbuf_bytes);
	pool.cells = calloc(cells, sizeof(*pool.cells));
	pool.spare_cells = calloc(cells, sizeof(*pool.spare_cells));
	if (!pool.base || !pool.cells || !pool.spare_cells)
		abort();
	pool.subs = subs;
	pool.subbuf_bytes = subbuf_bytes;
	pool.cell_mask = cells - 1;
	tipme_pool_slots =
		(subbuf_bytes - sizeof(struct tipme_pool_header)) / TIPME_POOL_SLOT_BYTES;
	for (uint32_t i = 0; i < subs; i++) {
		pool.cells[i] = TIPME_POOL_CELL((uint64_t)i, i);
		tipme_pool_sub(i)->gen = gen;
	}
	pool.queue.tail = subs;
	for (int i = 0; i < TEST_CPUS; i++)
		pool.cpus[i].cursor = TIPME_POOL_CURSOR_START;
}

static struct tipme_pool_view pool_view(unsigned int cpus, uint64_t start_ns)
{
	return (struct tipme_pool_view){ .base = pool.base,
					 .subs = pool.subs,
					 .subbuf_bytes = pool.subbuf_bytes,
					 .cpus = cpus,
					 .start_ns = start_ns };
}

/* A record that proves itself: each word follows from CPU and number. */
struct test_record {
	__u64 ts_ns;
	__u8 type, len8;
	__u16 gen;
	__u32 tid;
	__u64 number;
	__u64 proof;
};

static inline uint64_t test_proof(uint32_t cpu, uint64_t number)
{
	return (number + 1) * 0x9e3779b97f4a7c15ULL ^ (uint64_t)cpu << 56;
}

static inline void test_fill(uint32_t cpu, uint64_t now, uint64_t number, struct test_record *r,
			     __u16 gen)
{
	if (!r)
		return;
	r->ts_ns = now;
	r->type = TIPME_FORK;
	r->len8 = sizeof(*r) / 8;
	r->tid = (uint32_t)(number * 2654435761U);
	r->number = number;
	r->proof = test_proof(cpu, number);
	tipme_pool_commit((struct tipme_head *)r, gen);
}

static inline void test_write(uint32_t cpu, uint64_t now, uint64_t number)
{
	struct tipme_pool_cpu *c = &pool.cpus[cpu];
	__u16 gen = 0;
	struct test_record *r = tipme_pool_begin(c, cpu, &gen);

	test_fill(cpu, now, number, r, gen);
	tipme_pool_end(c);
}

static inline void test_write_irqs_off(uint32_t cpu, uint64_t now, uint64_t number)
{
	__u16 gen = 0;
	struct test_record *r = NULL;

#ifdef TIPME_POOL_NMI
	r = tipme_pool_try_irqs_off(&pool.cpus[cpu], TIPME_FORK, &gen);
#else
	/*
	 * As the tracing programs do: their short way first, and the other by itself where that is
	 * not asked.
	 */
	r = number & 1 ? tipme_pool_try_begin_irqs_off(&pool.cpus[cpu], &gen) : NULL;
#endif
	r = r ? r : tipme_pool_begin_irqs_off(&pool.cpus[cpu], cpu, &gen);
	test_fill(cpu, now, number, r, gen);
}

#ifdef TIPME_POOL_NMI
static inline void test_write_nmi(uint32_t cpu, uint64_t now, uint64_t number)
{
	struct tipme_pool_cpu *c = &pool.cpus[cpu];
	__u16 gen = 0;
	struct test_record *r = tipme_pool_begin(c, cpu, &gen);

	test_fill(cpu, now, number, r, gen);
	tipme_pool_end_nmi(c);
}
#endif

static inline int test_holds(uint32_t cpu, const struct test_record *r)
{
	return r->type == TIPME_FORK && r->len8 == 4 && !r->gen &&
	       r->tid == (uint32_t)(r->number * 2654435761U) &&
	       r->proof == test_proof(cpu, r->number);
}

#endif
