// SPDX-License-Identifier: GPL-2.0-only
/* The ring of pictures: what changed is kept, names of the dead last, memory is bounded. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "daemon-tap.h"
#include "pictures.h"

static struct tipme_kernel_thread threads[3000];
static char *buf;

static struct tipme_kernel_thread thread_of(uint32_t tid, uint64_t switches)
{
	struct tipme_kernel_thread t = {
		.rec = { .type = TIPME_THREAD,
			 .len8 = sizeof(t.rec) / 8,
			 .tid = tid,
			 .pid = tid,
			 .start_ns = tid * 10ULL,
			 .state = TIPME_TASK_STATE_SLEEPING },
		.switches = switches,
	};

	snprintf(t.rec.comm, sizeof(t.rec.comm), "thread-%u", tid);
	return t;
}

static void take(struct tipmed_pictures *p, uint64_t ts_ns, unsigned int count)
{
	struct tipme_picture picture = { .ts_ns = ts_ns,
					 .type = TIPME_PICTURE,
					 .len8 = sizeof(picture) / 8,
					 .threads = count,
					 .end_ns = ts_ns + 1 };

	for (unsigned int i = 0; i < count; i++)
		threads[i].rec.ts_ns = ts_ns;
	tipmed_pictures_add(p, &picture, threads, count);
}

/* Finds the last record of a thread with this state; 0: none. */
static const struct tipme_thread *find(size_t len, uint32_t tid, int state)
{
	const struct tipme_thread *found = NULL;

	for (size_t at = 0; at < len; at += ((struct tipme_head *)(buf + at))->len8 * 8U) {
		const struct tipme_thread *t = (void *)(buf + at);

		if (t->type == TIPME_THREAD && t->tid == tid && t->state == state)
			found = t;
	}
	return found;
}

static void test_changes(struct tipmed_pictures *p)
{
	uint64_t count, first_ns;

	for (uint32_t i = 0; i < 10; i++)
		threads[i] = thread_of(i + 1, 5);
	take(p, 1000, 10);
	take(p, 2000, 10);
	tipmed_pictures_copy(p, buf, &count, &first_ns);
	ok(count == 12 && first_ns == 1000,
	   "ten threads, then nothing new: 10 records and 2 pictures (%llu)",
	   (unsigned long long)count);
	threads[3].switches++;
	take(p, 3000, 10);
	tipmed_pictures_copy(p, buf, &count, &first_ns);
	ok(count == 14, "one moved: one record more");
	strcpy(threads[4].rec.comm, "renamed");
	take(p, 4000, 10);
	size_t len = tipmed_pictures_copy(p, buf, &count, &first_ns);
	const struct tipme_thread *t = find(len, 5, TIPME_TASK_STATE_SLEEPING);

	ok(count == 16 && t && !strcmp(t->comm, "renamed"), "one was renamed");
	threads[9].rec.start_ns++;
	take(p, 5000, 10);
	len = tipmed_pictures_copy(p, buf, &count, &first_ns);
	t = find(len, 10, TIPME_TASK_STATE_DEAD);
	ok(count == 19 && t && t->start_ns == 100 && t->ts_ns == 5000,
	   "the same tid with another start is another thread: one came, one is dead");
}

/* The last record of a type; NULL: none. */
static const void *find_type(size_t len, int type)
{
	const void *found = NULL;

	for (size_t at = 0; at < len; at += ((struct tipme_head *)(buf + at))->len8 * 8U)
		if (((struct tipme_head *)(buf + at))->type == type)
			found = buf + at;
	return found;
}

static void test_affinity(struct tipmed_pictures *p)
{
	uint64_t count, first_ns;

	for (uint32_t i = 0; i < 3; i++) {
		threads[i] = thread_of(i + 1, 5);
		threads[i].rec.cpus_allowed = i < 2 ? 3 : 0;
	}
	take(p, 6000, 3);
	threads[0].rec.cpus_allowed = 2;
	take(p, 7000, 3);
	size_t len = tipmed_pictures_copy(p, buf, &count, &first_ns);
	const struct tipme_thread *t = find(len, 1, TIPME_TASK_STATE_SLEEPING);

	ok(t && t->cpus_allowed == 2 && t->ts_ns == 7000,
	   "a thread that sleeps and may run elsewhere now is told anew");
	ok(!find_type(len, TIPME_AFFINITY), "nobody asked to be told of that as a change");
	tipmed_pictures_note_affinity(p, true);
	threads[0].rec.cpus_allowed = 1;
	threads[2].rec.cpus_allowed = 3;
	take(p, 9000, 3);
	len = tipmed_pictures_copy(p, buf, &count, &first_ns);
	const struct tipme_affinity *a = find_type(len, TIPME_AFFINITY);

	ok(a && a->tid == 1 && a->cpus_allowed == 1 && !a->changer_tid && a->ts_ns == 9000 &&
		   a->within_ns == 2000,
	   "now somebody does: within the time since the last picture; what was not known before is no change");
	ok(((const struct tipme_picture *)find_type(len, TIPME_PICTURE))->changed == 2,
	   "the picture counts threads, not changes");
	tipmed_pictures_note_affinity(p, false);
}

static void test_bounds(struct tipmed_pictures *p)
{
	uint64_t count, first_ns, last = 0;
	bool sorted = true;

	threads[0] = thread_of(100000, 1);
	for (unsigned int round = 0; round < 40; round++) {
		for (uint32_t i = 1; i < 3000; i++)
			threads[i] = thread_of(i, round);
		take(p, 10000 + round * 1000, 3000);
	}
	size_t len = tipmed_pictures_copy(p, buf, &count, &first_ns);

	ok(len <= tipmed_pictures_bytes() && count <= TIPMED_PICTURE_SLOTS &&
		   count > TIPMED_PICTURE_SLOTS - 3002,
	   "120000 changes: the ring is full, no more");
	ok(((struct tipme_head *)buf)->type == TIPME_PICTURE && first_ns > 10000,
	   "it begins with a whole picture");
	for (size_t at = 0; at < len; at += ((struct tipme_head *)(buf + at))->len8 * 8U) {
		sorted = sorted && ((struct tipme_head *)(buf + at))->ts_ns >= last;
		last = ((struct tipme_head *)(buf + at))->ts_ns;
	}
	ok(sorted, "in order of time");
	ok(!find(len, 100000, TIPME_TASK_STATE_SLEEPING),
	   "who did not move for longer than the ring is not in it");
	threads[0].switches++;
	threads[0].rec.state = TIPME_TASK_STATE_DISK_SLEEP;
	take(p, 60000, 3000);
	len = tipmed_pictures_copy(p, buf, &count, &first_ns);
	const struct tipme_thread *t = find(len, 100000, TIPME_TASK_STATE_SLEEPING);

	ok(t && t->ts_ns == 49000,
	   "when it moves, what it did before is told, with the time of the picture before");
	ok(find(len, 100000, TIPME_TASK_STATE_DISK_SLEEP) != NULL, "and what it does now");
	take(p, 61000, 0);
	len = tipmed_pictures_copy(p, buf, &count, &first_ns);
	ok(find(len, 100000, TIPME_TASK_STATE_DEAD) != NULL, "all ended: their names are kept");
}

/*
 * A picture of 100 threads that all moved, each second for so many seconds; `back_s`: as far back
 * as somebody may ask. Returns how far back the ring goes at the end.
 */
static uint64_t kept_s(uint64_t seconds, uint64_t back_s, uint64_t *count)
{
	const uint64_t s = 1000000000;
	uint64_t first_ns = 0, last_ns = 0, whole = 1;
	struct tipmed_pictures *p;

	if (tipmed_pictures_new(&p))
		return 0;
	for (uint64_t now = 100; now < 100 + seconds; now++) {
		for (uint32_t i = 0; i < 100; i++)
			threads[i] = thread_of(i + 1, now);
		take(p, now * s, 100);
		tipmed_pictures_keep_from(p, (now - back_s) * s);
	}
	size_t len = tipmed_pictures_copy(p, buf, count, &first_ns);

	for (size_t at = 0; at < len; at += ((struct tipme_head *)(buf + at))->len8 * 8U) {
		const struct tipme_picture *head = (void *)(buf + at);

		whole = whole && (head->type != TIPME_PICTURE || head->changed == 100) &&
			(!last_ns || head->ts_ns - last_ns <= s);
		last_ns = head->ts_ns;
	}
	tipmed_pictures_free(p);
	return whole ? (last_ns - first_ns) / s : 0;
}

static void test_memory(void)
{
	uint64_t few, more, all;
	uint64_t few_s = kept_s(1000, 20, &few), more_s = kept_s(1000, 60, &more),
		 all_s = kept_s(1000, 500, &all);

	ok(few_s >= 30 && few <= 4096, "20 s are asked for: %llu s in %llu slots",
	   (unsigned long long)few_s, (unsigned long long)few);
	ok(more_s >= 70 && more > 4096 && more <= 8192,
	   "60 s do not fit there: all of them in %llu slots more",
	   (unsigned long long)(more - few));
	ok(all_s >= 320 && all > 32000, "500 s do not fit at all: the last %llu s",
	   (unsigned long long)all_s);
}

int main(void)
{
	struct tipmed_pictures *p;

	if (tipmed_pictures_new(&p))
		return 99;
	buf = malloc(tipmed_pictures_bytes());
	if (!buf)
		return 99;
	test_changes(p);
	test_affinity(p);
	test_bounds(p);
	test_memory();
	free(buf);
	tipmed_pictures_free(p);
	return tap_end();
}
