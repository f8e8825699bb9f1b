// SPDX-License-Identifier: GPL-2.0-only
/* Tasks without a peer: reading the counters, system calls, exec, memory. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "task.h"

/* --- null: what reading the counters costs; section 4.1 of the paper --- */

static int run_null(struct tipme_task_run *r)
{
	/* The runner's own start() and stop() are of this very struct, so a copy is read. */
	static struct tipme_counters copy;

	copy = r->counters;
	for (unsigned int i = 0; i < r->references; i++) {
		tipme_counters_start(&copy);
		tipme_counters_stop(&copy);
	}
	return 0;
}

/* --- system calls; section 4.2 --- */

static int run_getppid(struct tipme_task_run *r)
{
	for (unsigned int i = 0; i < r->references; i++)
		syscall(SYS_getppid);
	return 0;
}

/* The paper's dup(), onto the same number each time, so that no close() is timed beside it. */
static int run_dup(struct tipme_task_run *r)
{
	int fd = dup(STDERR_FILENO);

	if (fd < 0)
		return -errno;
	for (unsigned int i = 0; i < r->references; i++)
		dup2(STDERR_FILENO, fd);
	close(fd);
	return 0;
}

/* --- exec; section 4.3 --- */

static int prepare_exec(struct tipme_task_run *r)
{
	char *path;

	if (asprintf(&path, "%s/tipme-bench-%s", r->programs, r->variant) < 0)
		return -ENOMEM;
	r->state = path;
	if (access(path, X_OK))
		return tipme_task_fail(r, -ENOTSUP, "%s: %s: install all of tipme", path,
				       strerror(errno));
	return 0;
}

static int run_exec(struct tipme_task_run *r)
{
	char *argv[] = { r->state, NULL };

	for (unsigned int i = 0; i < r->references && !tipme_task_interrupted; i++) {
		int pid = tipme_task_spawn(argv, NULL), err = pid < 0 ? pid : tipme_task_wait(pid);

		if (err)
			return err;
	}
	return 0;
}

static void finish_free(struct tipme_task_run *r)
{
	free(r->state);
}

/* --- memory; section 4.4: the chase of lmbench (McVoy and Staelin, USENIX 1996) --- */

#define STRIDE 128

struct memory {
	char *at;
	uint64_t bytes;
	void *end; /* where the last repeat stopped: also keeps the compiler from leaving it out */
};

static void link_ring(struct memory *m, const uint32_t *order, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		*(void **)(m->at + (uint64_t)order[i] * STRIDE) =
			m->at + (uint64_t)order[(i + 1) % count] * STRIDE;
}

/*
 * Sattolo's shuffle, always the same one: one ring through all of it that no prefetcher foresees.
 */
static void shuffle(uint32_t *order, uint64_t count)
{
	uint64_t x = 88172645463325252ULL;

	for (uint64_t i = count; i > 1; i--) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		uint64_t j = x % (i - 1);
		uint32_t other = order[j];

		order[j] = order[i - 1];
		order[i - 1] = other;
	}
}

static int prepare_ring(struct tipme_task_run *r, int shuffled)
{
	struct memory *m = calloc(1, sizeof(*m));
	uint64_t count = r->size / STRIDE;
	uint32_t *order = malloc(count * sizeof(*order));

	r->state = m;
	if (!m || !order) {
		free(order);
		return -ENOMEM;
	}
	m->bytes = r->size < 4096 ? 4096 : r->size;
	m->at = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (m->at == MAP_FAILED) {
		m->at = NULL;
		free(order);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	if (shuffled)
		shuffle(order, count);
	link_ring(m, order, count);
	m->end = m->at;
	free(order);
	return 0;
}

static int prepare_stride(struct tipme_task_run *r)
{
	return prepare_ring(r, 0);
}

static int prepare_chase(struct tipme_task_run *r)
{
	return prepare_ring(r, 1);
}

static int run_memory(struct tipme_task_run *r)
{
	struct memory *m = r->state;
	void *volatile *p = m->end;

	for (unsigned int i = 0; i < r->references; i++)
		p = *p;
	m->end = (void *)p;
	return 0;
}

static void finish_memory(struct tipme_task_run *r)
{
	struct memory *m = r->state;

	if (m && m->at)
		munmap(m->at, m->bytes);
	free(m);
}

#define MEMORY "one word, each 128 bytes, of so much memory"
#define STRIDES "memory-access/512/4K/16K/32K/64K/256K/1M/4M/16M/64M/256M"
#define CHASE "one word of so much memory, in an order that nothing foresees"
#define CHASES "memory-chase/16K/256K/4M/64M/256M"

const struct tipme_task tipme_tasks_cpu[] = {
	{ .name = "null",
	  .what = "reading all counters twice",
	  .unit = "pair",
	  .references = 50,
	  .repeats = 20,
	  .run = run_null },
	{ .name = "syscall/getppid",
	  .what = "the least system call",
	  .unit = "call",
	  .references = 20000,
	  .repeats = 10,
	  .run = run_getppid },
	{ .name = "syscall/dup",
	  .what = "a system call that does something",
	  .unit = "call",
	  .references = 20000,
	  .repeats = 10,
	  .run = run_dup },
	{ .name = "exec/static/dynamic",
	  .what = "a trivial program, started and waited for",
	  .unit = "program",
	  .references = 10,
	  .repeats = 8,
	  .prepare = prepare_exec,
	  .run = run_exec,
	  .finish = finish_free },
	{ .name = STRIDES,
	  .what = MEMORY,
	  .unit = "reference",
	  .references = 200000,
	  .repeats = 8,
	  .prepare = prepare_stride,
	  .run = run_memory,
	  .finish = finish_memory },
	{ .name = CHASES,
	  .what = CHASE,
	  .unit = "reference",
	  .references = 100000,
	  .repeats = 8,
	  .prepare = prepare_chase,
	  .run = run_memory,
	  .finish = finish_memory },
	{ 0 },
};
