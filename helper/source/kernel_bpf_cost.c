// SPDX-License-Identifier: GPL-2.0-only
/* What a record costs: the kernel measures the tracing programs for some seconds. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "clock.h"
#include "kernel_bpf.h"

#define MEASURE_NS 2000000000ULL
#define MEASURE_RUNS 20 /* fewer tell nothing */
#define LOAD_ROUNDS TIPME_COST_ROUNDS
#define LOAD_TRIPS 60 /* each wakes two threads */
#define ECHO_STACK_BYTES (64 << 10)

/*
 * Programs of no class: those that count interrupts write no record, but are part of what one
 * costs.
 */
static int writes_record(const struct bpf_program *prog)
{
	static const char *const names[] = { "tipme_sched_", "tipme_fork",   "tipme_exit",
					     "tipme_exec",   "tipme_rename", "tipme_work_" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(bpf_program__name(prog), names[i], strlen(names[i])))
			return 1;
	return 0;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The median of the newest rounds and their quartiles. */
static struct tipme_record_cost cost_of(const struct tipme_bpf_rounds *r)
{
	unsigned int n = r->count < TIPME_COST_ROUNDS ? r->count : TIPME_COST_ROUNDS;
	uint32_t means[TIPME_COST_ROUNDS];

	memcpy(means, r->mean_ns, sizeof(means));
	qsort(means, n, sizeof(*means), by_size);
	return (struct tipme_record_cost){ .ns = means[n / 2],
					   .low_ns = means[n / 4],
					   .high_ns = means[n * 3 / 4] };
}

/* A round ends. Returns whether there were enough of any class in it; too few wait for the next. */
static int measure_take(struct bpf_source *src)
{
	uint64_t ns[TIPME_CLASSES + 1] = { 0 }, runs[TIPME_CLASSES + 1] = { 0 };
	struct bpf_program *prog;
	int any = 0;

	bpf_object__for_each_program(prog, src->skel->obj)
	{
		struct bpf_prog_info info = {};
		uint32_t len = sizeof(info);
		int which = tipme_bpf_class_of(prog), fd = bpf_program__fd(prog);

		/* Pictures are not part of what a record costs. */
		if (fd < 0 || bpf_program__expected_attach_type(prog) == BPF_TRACE_ITER ||
		    bpf_obj_get_info_by_fd(fd, &info, &len))
			continue;
		ns[which < 0 ? TIPME_CLASSES : which] += info.run_time_ns;
		if (which >= 0 || writes_record(prog))
			runs[which < 0 ? TIPME_CLASSES : which] += info.run_cnt;
	}
	for (int i = 0; i <= TIPME_CLASSES; i++) {
		struct tipme_bpf_rounds *r = &src->rounds[i];
		uint64_t more = runs[i] - r->runs;

		if (more < MEASURE_RUNS)
			continue;
		r->mean_ns[r->count++ % TIPME_COST_ROUNDS] = (ns[i] - r->ns) / more;
		r->ns = ns[i];
		r->runs = runs[i];
		src->cost[i] = cost_of(r);
		any = 1;
	}
	return any;
}

/* Of two threads that pass a byte to and fro: wakings and switches. */
static void *echo(void *arg)
{
	const int *fds = arg;
	char byte;

	while (read(fds[0], &byte, 1) == 1 && write(fds[1], &byte, 1) == 1)
		;
	return NULL;
}

/* One round: the byte goes there and back. Returns 0 or -EPIPE. */
static int round_trips(int there, int back)
{
	char byte = 0;

	for (int i = 0; i < LOAD_TRIPS; i++)
		if (write(there, &byte, 1) != 1 || read(back, &byte, 1) != 1)
			return -EPIPE;
	return 0;
}

/* So that the most frequent programs have something to be measured by, also on an idle machine. */
static void measure_load(struct bpf_source *src)
{
	int there[2], back[2], fds[2];
	pthread_attr_t attr;
	pthread_t thread;

	if (pipe2(there, O_CLOEXEC))
		return;
	if (pipe2(back, O_CLOEXEC)) {
		close(there[0]);
		close(there[1]);
		return;
	}
	fds[0] = there[0];
	fds[1] = back[1];
	/*
	 * A stack of the usual size would stay with the process, and be locked in memory with it.
	 */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, ECHO_STACK_BYTES);
	if (!pthread_create(&thread, &attr, echo, fds)) {
		for (int i = 0; i < LOAD_ROUNDS && !round_trips(there[1], back[0]); i++)
			measure_take(src);
		close(there[1]);
		there[1] = -1;
		pthread_join(thread, NULL);
	}
	pthread_attr_destroy(&attr);
	if (there[1] >= 0)
		close(there[1]);
	close(there[0]);
	close(back[0]);
	close(back[1]);
}

/*
 * Measuring costs a reading of the clock more in each program, so it ends soon. It takes
 * CAP_SYS_ADMIN: only now, while we may have it.
 */
void tipme_bpf_measure_begin(struct bpf_source *src)
{
	src->measure_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	src->measure_due_ns = tipme_clock_ns() + MEASURE_NS;
	if (src->measure_fd >= 0 && !src->beside)
		measure_load(src);
}

void tipme_bpf_measure_end(struct bpf_source *src)
{
	if (src->measure_fd >= 0)
		close(src->measure_fd);
	src->measure_fd = -1;
}

/*
 * Somebody else may have the kernel measure, too, at any time. Whoever comes first looks: the
 * writer asks as well as status.
 */
void tipme_bpf_measure_look(struct bpf_source *src)
{
	uint64_t now = tipme_clock_ns();

	if (now < src->measure_due_ns || __sync_lock_test_and_set(&src->measure_busy, 1))
		return;
	src->measure_due_ns = now + MEASURE_NS;
	if (measure_take(src))
		src->measured_ns = now;
	tipme_bpf_measure_end(src);
	__sync_lock_release(&src->measure_busy);
}
