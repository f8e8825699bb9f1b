// SPDX-License-Identifier: GPL-2.0-only
/* Threads that records name and no picture has shown. */
#include "config.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "proc_stat.h"
#include "unseen.h"

/* The kernel gives no larger number (PID_MAX_LIMIT). */
#define TIDS (4U << 20)
/* A storm of short threads, of which nothing is left to look at, is not looked for one by one. */
#define LOOKS_MAX 2048U

struct tipmed_unseen {
	unsigned int looks;
	uint8_t known[TIDS / 8];
};

struct tipmed_unseen *tipmed_unseen_new(void)
{
	return calloc(1, sizeof(struct tipmed_unseen));
}

void tipmed_unseen_free(struct tipmed_unseen *unseen)
{
	free(unseen);
}

/* Returns whether it was known; the idle threads, and what cannot be a thread, are. */
static bool learn(struct tipmed_unseen *u, uint32_t tid)
{
	if (!tid || tid >= TIDS)
		return true;
	bool known = u->known[tid / 8] >> tid % 8 & 1;

	u->known[tid / 8] |= (uint8_t)(1 << tid % 8);
	return known;
}

/* The one after `at`, whole, or NULL. */
static const struct tipme_head *record_at(const char *recs, size_t len, size_t at)
{
	const struct tipme_head *rec = (const void *)(recs + at);

	if (len - at < sizeof(*rec) || rec->len8 * 8U < sizeof(*rec) || rec->len8 * 8U > len - at)
		return NULL;
	return rec;
}

void tipmed_unseen_known(struct tipmed_unseen *u, const void *recs, size_t len)
{
	const struct tipme_head *rec;

	for (size_t at = 0; at < len && (rec = record_at(recs, len, at)); at += rec->len8 * 8U) {
		if (rec->type == TIPME_THREAD)
			learn(u, rec->tid);
		else if (rec->type == TIPME_FORK)
			learn(u, ((const struct tipme_fork *)rec)->child_tid);
	}
}

static bool look(uint32_t tid, uint64_t from_ns, struct tipme_thread *rec)
{
	char path[64], text[1024];
	struct tipme_proc_stat f;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/stat", tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	bool owned = fd >= 0 && !fstat(fd, &st);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	*rec = (struct tipme_thread){ .ts_ns = tipme_clock_ns(),
				      .type = TIPME_THREAD,
				      .len8 = sizeof(*rec) / 8,
				      .tid = tid,
				      .uid = owned ? st.st_uid : 0 };
	if (!tipme_proc_stat_parse(text, &f, rec->comm, sizeof(rec->comm)))
		return false;
	tipme_proc_stat_apply(&f, tipme_clock_slept_ns(), rec);
	rec->pid = tipme_proc_pid_of(tid);
	return rec->start_ns < from_ns && rec->pid;
}

unsigned int tipmed_unseen_look(struct tipmed_unseen *u, const void *recs, size_t len,
				uint64_t from_ns, struct tipme_thread *found, unsigned int max)
{
	const struct tipme_head *rec;
	unsigned int n = 0;

	for (size_t at = 0; at < len && n < max && (rec = record_at(recs, len, at));
	     at += rec->len8 * 8U) {
		if (rec->type != TIPME_SCHED_SWITCH ||
		    learn(u, ((const struct tipme_sched_switch *)rec)->next_tid))
			continue;
		if (u->looks++ >= LOOKS_MAX)
			break;
		n += look(((const struct tipme_sched_switch *)rec)->next_tid, from_ns, &found[n]);
	}
	return n;
}
