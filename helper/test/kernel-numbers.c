// SPDX-License-Identifier: GPL-2.0-only
/*
 * Numbers in place of addresses: by first appearance, the same for the same, none that tells where
 * anything lies.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_numbers.h"
#include "tipme_records.h"

#define FUNCTION 0xffffffff81234560ULL
#define ITEM 0xffff888100000000ULL
#define MANY 100000U

static int tests, failures;

static void ok(int good, const char *what)
{
	failures += !good;
	printf("%s %d - %s\n", good ? "ok" : "not ok", ++tests, what);
}

static struct tipme_work_queued queued(unsigned int item, unsigned int function)
{
	return (struct tipme_work_queued){ .type = TIPME_WORK_QUEUED,
					   .len8 = sizeof(struct tipme_work_queued) / 8,
					   .tid = 1,
					   .work = ITEM + 64ULL * item,
					   .function = (uint32_t)(FUNCTION + 16 * function) };
}

static void test_first_appearance(void)
{
	struct tipme_numbers *n = NULL;
	struct tipme_work_queued r[] = { queued(7, 3), queued(5, 3), queued(7, 1), queued(6, 3) };

	r[3].work = 0;
	ok(!tipme_numbers_new(&n) && !tipme_numbers_apply(n, r, sizeof(r)), "records get numbers");
	ok(r[0].work == 1 && r[1].work == 2 && r[2].work == 1,
	   "1 for the first, 2 for the next, the same for the same");
	ok(r[0].function == 1 && r[1].function == 1 && r[2].function == 2, "each kind by itself");
	ok(r[3].work == 0, "nothing stays nothing");
	ok(tipme_numbers_count(n, TIPME_NUMBERED_FUNCTION) == 2 &&
		   tipme_numbers_what(n, TIPME_NUMBERED_FUNCTION, 2) == (uint32_t)(FUNCTION + 16),
	   "what a number was, the recorder knows");
	ok(tipme_numbers_find(n, TIPME_NUMBERED_WORK, ITEM + 64 * 5) == 2 &&
		   !tipme_numbers_find(n, TIPME_NUMBERED_WORK, ITEM),
	   "and finds it");
	tipme_numbers_free(n);
}

static void test_all_fields(void)
{
	struct {
		struct tipme_sched_waking waking;
		struct tipme_lock_contention lock;
		struct tipme_sample sample;
		struct tipme_work_start start;
		struct tipme_thread thread;
		struct tipme_network network;
	} r = {
		.waking = { .type = TIPME_SCHED_WAKING,
			    .len8 = sizeof(r.waking) / 8,
			    .stack_id = 0x30f01 },
		.lock = { .type = TIPME_LOCK_CONTENTION, .len8 = sizeof(r.lock) / 8, .lock = ITEM },
		.sample = { .type = TIPME_SAMPLE,
			    .len8 = sizeof(r.sample) / 8,
			    .kernel_stack_id = 0x30f02,
			    .user_stack_id = 0x30f01 },
		.start = { .type = TIPME_WORK_START,
			   .len8 = sizeof(r.start) / 8,
			   .work = ITEM,
			   .function = (uint32_t)FUNCTION },
		.thread = { .type = TIPME_THREAD,
			    .len8 = sizeof(r.thread) / 8,
			    .stack_id = 0x30f01 },
		.network = { .type = TIPME_NETWORK, .len8 = sizeof(r.network) / 8, .socket = ITEM },
	};
	struct tipme_numbers *n = NULL;

	ok(!tipme_numbers_new(&n) && !tipme_numbers_apply(n, &r, sizeof(r)),
	   "records of all kinds that have addresses, or places that are a hash of them");
	ok(r.waking.stack_id == 1 && r.sample.kernel_stack_id == 2 && r.thread.stack_id == 1,
	   "stacks");
	ok(r.sample.user_stack_id == 1, "user stacks");
	ok(r.lock.lock == 1 && r.start.work == 1 && r.start.function == 1 && r.network.socket == 1,
	   "locks, work items, functions, sockets");
	r.thread.len8 = 0;
	ok(tipme_numbers_apply(n, &r.thread, sizeof(r.thread)) == -EINVAL,
	   "a record without a length is refused");
	tipme_numbers_free(n);
}

static void test_many(void)
{
	struct tipme_work_queued *r = calloc(MANY, sizeof(*r));
	struct tipme_numbers *n = NULL;
	unsigned int wrong = 0;

	for (unsigned int i = 0; r && i < MANY; i++)
		r[i] = queued(i * 7919U, i % 1000);
	ok(r && !tipme_numbers_new(&n) && !tipme_numbers_apply(n, r, MANY * sizeof(*r)),
	   "a hundred thousand work items");
	for (unsigned int i = 0; r && i < MANY; i++)
		wrong += r[i].work != i + 1 || r[i].function != i % 1000 + 1;
	ok(!wrong, "each has its number");
	tipme_numbers_free(n);
	free(r);
}

static int in_order(void *arg, const void *rec, size_t len)
{
	uint32_t *last = arg;
	const struct tipme_stack *s = rec;
	int good = s->stack_id > *last && len == (size_t)s->len8 * 8;

	*last = s->stack_id;
	return good ? 0 : -1;
}

static void test_order(void)
{
	struct tipme_stack s = { .type = TIPME_STACK, .len8 = sizeof(s) / 8 };
	struct tipme_number_sorter sorter;
	uint32_t last = 0;

	ok(!tipme_number_sorter_new(&sorter, 5), "records are kept for their turn");
	for (s.stack_id = 5; s.stack_id; s.stack_id -= 2 - (s.stack_id == 1)) /* 5, 3, 1 */
		tipme_number_sorter_put(&sorter, s.stack_id, &s);
	s.stack_id = 6;
	ok(tipme_number_sorter_put(&sorter, 6, &s) == -EINVAL &&
		   tipme_number_sorter_put(&sorter, 0, &s) == -EINVAL,
	   "one that has no number is refused");
	ok(!tipme_number_sorter_emit(&sorter, in_order, &last) && last == 5,
	   "and come by their numbers, in whatever order they were found");
	tipme_number_sorter_free(&sorter);
}

int main(void)
{
	test_first_appearance();
	test_all_fields();
	test_many();
	test_order();
	printf("1..%d\n", tests);
	return failures != 0;
}
