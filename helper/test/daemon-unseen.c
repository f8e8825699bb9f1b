// SPDX-License-Identifier: GPL-2.0-only
/* Who runs in records and is in no picture is looked at in /proc, where that is safe. */
#include "config.h"

#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "daemon-tap.h"
#include "unseen.h"

static struct tipme_sched_switch to(uint32_t tid)
{
	return (struct tipme_sched_switch){ .type = TIPME_SCHED_SWITCH,
					    .len8 = sizeof(struct tipme_sched_switch) / 8,
					    .next_tid = tid };
}

/* Somebody else gets the CPU before each look at this clock, so many times. */
static int kept_away;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	long err = syscall(SYS_clock_gettime, clock, ts);

	if (clock == CLOCK_BOOTTIME && kept_away && kept_away--)
		ts->tv_sec += 3;
	return (int)err;
}

static uint32_t own_tid;
static pthread_barrier_t there, done;

static void *sleeper(void *arg)
{
	(void)arg;
	own_tid = (uint32_t)syscall(SYS_gettid);
	prctl(PR_SET_NAME, "un) (seen");
	pthread_barrier_wait(&there);
	pthread_barrier_wait(&done);
	return NULL;
}

int main(void)
{
	struct tipme_thread found[4] = { 0 };
	pthread_t thread;

	pthread_barrier_init(&there, NULL, 2);
	pthread_barrier_init(&done, NULL, 2);
	uint64_t before_ns = tipme_clock_ns();

	pthread_create(&thread, NULL, sleeper, NULL);
	pthread_barrier_wait(&there);

	struct tipme_sched_switch recs[] = { to(0), to(own_tid), to(4194305), to(own_tid),
					     to(2147483647) };
	struct tipmed_unseen *u = tipmed_unseen_new();
	/* Starts are told to a clock tick. */
	unsigned int n = tipmed_unseen_look(u, recs, sizeof(recs), tipme_clock_ns() + 1, found, 4);

	ok(n == 1, "one thread that nobody knew, named twice, is found once");
	ok(found[0].tid == own_tid && found[0].pid == (uint32_t)getpid() &&
		   found[0].ppid == (uint32_t)getppid(),
	   "it is the one, of its process");
	ok(!strcmp(found[0].comm, "un) (seen"), "by its own name, not its process's");
	ok(found[0].uid == getuid() &&
		   (found[0].state == TIPME_TASK_STATE_SLEEPING ||
		    found[0].state == TIPME_TASK_STATE_RUNNABLE) &&
		   found[0].prio >= 100,
	   "user, state (it may not sleep yet), priority");
	ok(found[0].start_ns + 20000000 > before_ns && found[0].start_ns < tipme_clock_ns(),
	   "its start");
	ok(found[0].len8 == sizeof(found[0]) / 8 && found[0].type == TIPME_THREAD, "as a record");
	ok(!tipmed_unseen_look(u, recs, sizeof(recs), tipme_clock_ns() + 1, found, 4),
	   "then it is known");
	tipmed_unseen_free(u);

	struct tipme_thread again[4] = { 0 };

	u = tipmed_unseen_new();
	kept_away = 3;
	ok(tipmed_unseen_look(u, recs, sizeof(recs), tipme_clock_ns() + 1, again, 4) == 1 &&
		   again[0].start_ns + 1000000 > found[0].start_ns,
	   "its start is the same where we were kept from our CPU meanwhile");
	tipmed_unseen_free(u);
	kept_away = 0;

	u = tipmed_unseen_new();
	ok(!tipmed_unseen_look(u, recs, sizeof(recs), found[0].start_ns - 1000000, found, 4),
	   "one that began later than the records is another of the same number");
	tipmed_unseen_free(u);

	struct tipme_fork born = { .type = TIPME_FORK,
				   .len8 = sizeof(born) / 8,
				   .child_tid = own_tid };
	struct tipme_thread seen = { .type = TIPME_THREAD,
				     .len8 = sizeof(seen) / 8,
				     .tid = own_tid };

	u = tipmed_unseen_new();
	tipmed_unseen_known(u, &born, sizeof(born));
	ok(!tipmed_unseen_look(u, recs, sizeof(recs), UINT64_MAX, found, 4),
	   "whose birth was recorded is known");
	tipmed_unseen_free(u);
	u = tipmed_unseen_new();
	tipmed_unseen_known(u, &seen, sizeof(seen));
	ok(!tipmed_unseen_look(u, recs, sizeof(recs), UINT64_MAX, found, 4),
	   "and who was in a picture");
	tipmed_unseen_free(u);

	u = tipmed_unseen_new();
	recs[1].len8 = 0;
	ok(!tipmed_unseen_look(u, recs, sizeof(recs), UINT64_MAX, found, 4),
	   "a record without length ends it");
	ok(!tipmed_unseen_look(u, recs, 40, UINT64_MAX, found, 4), "so does half a record");
	tipmed_unseen_free(u);
	pthread_barrier_wait(&done);
	pthread_join(thread, NULL);
	return tap_end();
}
