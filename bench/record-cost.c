// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a record of the X server's hooks costs: the clock read and a slot written, all round the
 * ring; ns, median of runs.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "xclock.h"
#include "xring.h"

#define RUNS 31
#define ROUNDS 4

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double run(struct tipme_xring *ring, struct tipme_xclock *clock)
{
	uint64_t count = (uint64_t)ROUNDS << ring->log2;
	uint64_t begin_ns = tipme_xclock_tie(clock);

	for (uint64_t i = 0; i < count; i++) {
		struct tipme_x_deliver rec = {
			.ts_ns = tipme_xclock_ns(clock),
			.type = TIPME_X_DELIVER,
			.pid = (uint32_t)i,
			.window = 7,
			.client = 3,
		};

		tipme_xring_put(ring, &rec);
	}
	return (double)(tipme_xclock_tie(clock) - begin_ns) / (double)count;
}

int main(void)
{
	struct tipme_xring ring;
	struct tipme_xclock clock;
	double ns[RUNS];

	if (tipme_xring_open(&ring, TIPME_XRING_LOG2_DEFAULT, "bench"))
		return 1;
	tipme_xclock_init(&clock);
	for (int i = 0; i < RUNS; i++)
		ns[i] = run(&ring, &clock);
	qsort(ns, RUNS, sizeof(*ns), by_value);
	printf("%.1f\n", ns[RUNS / 2]);
	tipme_xring_close(&ring);
	return 0;
}
