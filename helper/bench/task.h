/* SPDX-License-Identifier: GPL-2.0-only */
/* One small task that is timed: a row of a table, and what its functions get. */
#ifndef TIPME_BENCH_TASK_H
#define TIPME_BENCH_TASK_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "counters.h"

struct tipme_task_run {
	const struct tipme_task *task;
	struct tipme_counters counters;
	unsigned int references; /* of one repeat */
	uint64_t size; /* bytes, from the name's part after the slash; 0: none */
	const char *variant; /* that part as text; "" without */
	char folder[512]; /* its own, empty, removed at the end; "" if the task needs none */
	char programs[512]; /* where the programs of the tasks lie */
	char *const *more; /* words after the task's name, up to a NULL */
	void *state; /* the task's own */
	char why[300]; /* why something failed, and what to do; "" for the errno's words */
};

/*
 * All functions return 0 or -errno. -ENOTSUP: this machine cannot do it, and `why` says so; that is
 * a result, no failure. -EINTR: the run was interrupted. Only run() is timed; NULL: nothing to do.
 */
struct tipme_task {
	const char *name; /* "a/b/c": variants of a, all in the list */
	const char *what; /* for people */
	const char *unit; /* what one reference is */
	unsigned int references;
	unsigned int repeats; /* of one process */
	unsigned int once; /* 1: preparing takes long, so that one process makes all repeats */
	uint64_t disk_bytes; /* that it writes at most; 0: needs no folder */
	int (*prepare)(struct tipme_task_run *r);
	int (*before)(struct tipme_task_run *r); /* each repeat */
	int (*run)(struct tipme_task_run *r);
	int (*after)(struct tipme_task_run *r); /* each repeat */
	void (*finish)(struct tipme_task_run *r); /* also when prepare() failed */
};

/* Each ends with a row without a name. */
extern const struct tipme_task tipme_tasks_cpu[], tipme_tasks_files[], tipme_tasks_talk[];
extern const struct tipme_task tipme_tasks_x[], tipme_tasks_apps[], tipme_tasks_web[];
extern const struct tipme_task tipme_tasks_wayland[];

/* A signal asked for the end: tasks that wait look at it. */
extern volatile sig_atomic_t tipme_task_interrupted;

/* Says why in `r->why` and returns `err`. */
int tipme_task_fail(struct tipme_task_run *r, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Starts a program that ends with this process, its standard output and error to /dev/null or, if
 * `out` is not NULL, its output into *out. Returns its pid or -errno.
 */
int tipme_task_spawn(char *const argv[], int *out);
/* Waits for it. Returns 0 if it ended with 0, else -errno (-EIO: it ended otherwise). */
int tipme_task_wait(int pid);
/* Asks it to end, and waits. Takes a pid of 0 or less. */
void tipme_task_end(int pid);

#endif
