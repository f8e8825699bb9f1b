/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pool that grows while it is written, so that the seconds asked for are kept at any rate, and
 * gives the memory back when the rate has fallen. One thread does all this; nobody waits for it.
 */
#ifndef TIPME_KERNEL_GROWTH_H
#define TIPME_KERNEL_GROWTH_H

#include "kernel_copy.h"
#include "pool.h"

/* Of one segment, and of all that is taken out of the pool at a time, so that it can be listed. */
#define TIPME_SEGMENT_SUBS_MAX 1024

struct tipme_growth {
	struct tipme_pool_view *view;
	/* the queues of the pool and their cells, of which there are mask + 1 in each */
	struct tipme_pool_queue *queue, *spare;
	const uint64_t *cells;
	uint64_t *spare_cells;
	uint64_t cell_mask;
	uint64_t window_ns; /* to be kept */
	/*
	 * Memory for a segment, and it is gone: called with its number and what view.base has
	 * there. Writers can use it when `add` has returned 0, and `remove` is called when they
	 * cannot any more.
	 */
	int (*add)(void *arg, unsigned int segment, void *at, size_t bytes);
	void (*remove)(void *arg, unsigned int segment, void *at, size_t bytes);
	void *arg;
	/*
	 * A copy that goes on in another thread: it reads what the pool had when it began, so
	 * nothing is removed meanwhile. See tipme_growth_hold().
	 */
	int held;

	/* its own */
	uint64_t taken, looked_ns; /* at the last look */
	unsigned int calm; /* looks in a row at which a segment was not needed */
	unsigned int withdraw_from; /* sub-buffers from this on are collected; 0: none are */
	unsigned int withdrawn; /* so many of them are nobody's any more */
	uint32_t held_back[TIPME_SEGMENT_SUBS_MAX];
	int refused; /* -errno of the last segment that could not be had; 0: none */
};

/* Looks that go by before memory is given back, about one a second. */
#define TIPME_GROWTH_CALM 60

/*
 * Once a second. `taken`: sub-buffers that became current since recording began, on all CPUs.
 * Returns by how many sub-buffers the pool has changed.
 */
int tipme_growth_look(struct tipme_growth *g, uint64_t taken, uint64_t now_ns);

/* Of the thread that copies: around all that it reads of the pool. */
void tipme_growth_hold(struct tipme_growth *g);
void tipme_growth_let_go(struct tipme_growth *g);

#endif
