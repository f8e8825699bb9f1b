/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Intervals between time stamps, as the interactive microbenchmarks collect them: each excess over
 * what it should be, with its place.
 */
#ifndef TIPME_INTERVALS_H
#define TIPME_INTERVALS_H

#include <stdint.h>
#include <stdio.h>

#include <json-c/json.h>

struct tipme_interval {
	uint64_t from_ns; /* CLOCK_MONOTONIC */
	uint64_t to_ns;
};

struct tipme_intervals {
	struct tipme_interval *at;
	unsigned int count, room;
	uint64_t nominal_ns; /* how long one should be */
};

/*
 * Returns 0 or -ENOMEM; all memory is touched, so that recording never faults. Free with
 * tipme_intervals_free().
 */
int tipme_intervals_init(struct tipme_intervals *all, unsigned int room, uint64_t nominal_ns);
void tipme_intervals_free(struct tipme_intervals *all);

/* Adds one; those beyond `room` are not kept. Returns its length. */
uint64_t tipme_intervals_add(struct tipme_intervals *all, uint64_t from_ns, uint64_t to_ns);

/*
 * Length that `share` (0 to 1) of the intervals do not exceed: the smallest one of them that does;
 * 0 if there are none.
 */
uint64_t tipme_intervals_quantile(const struct tipme_intervals *all, double share);
/* The longest; NULL if there are none. */
const struct tipme_interval *tipme_intervals_worst(const struct tipme_intervals *all);

/* Histogram with buckets of 10 ms and a logarithmic bar, empty buckets left out. */
void tipme_intervals_print(const struct tipme_intervals *all, FILE *out);
struct json_object *tipme_intervals_json(const struct tipme_intervals *all);

#endif
