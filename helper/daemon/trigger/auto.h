/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Triggers without a human: a response, or a wait for a CPU of the program in use, that was longer
 * than a threshold. Looked for ten times a second in what is recorded anyway; off, it costs
 * nothing. All in the trigger thread, but for the switch.
 */
#ifndef TIPMED_AUTO_H
#define TIPMED_AUTO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agents.h"
#include "snapshot.h"
#include "x_servers.h"

#define TIPMED_AUTO_WAITING 64
#define TIPMED_AUTO_TASKS 16

/* A client that was given a press, and has not changed the screen since. */
struct tipmed_auto_press {
	uint32_t pid; /* 0: free */
	uint16_t client; /* its number in the server */
	uint64_t ns;
	uint64_t ran_ns; /* its count at the last look */
	bool looked, idle;
};

/* A thread whose waits for a CPU are looked at: those of X servers, and the client in use. */
struct tipmed_auto_task {
	uint32_t pid;
	uint64_t ran_ns, waited_ns; /* as the kernel counted at the last look */
	/*
	 * for so long up to then, without having run: it is counted when a thread runs, and when it
	 * is moved while it waits
	 */
	uint64_t waits_ns;
	bool known, wanted;
};

struct tipmed_auto {
	_Atomic unsigned int threshold_ms; /* 0: off; any thread may set it */
	int timer_fd;
	struct tipmed_x_servers *x;
	const struct tipmed_agents *agents;
	struct {
		ino_t ino;
		uint64_t next;
	} follow[TIPMED_X_SERVERS_MAX];
	struct tipmed_auto_press press[TIPMED_AUTO_WAITING];
	struct tipmed_auto_task task[TIPMED_AUTO_TASKS];
	uint32_t in_use; /* the client that got the last press */
	uint64_t quiet_until_ns;
	/* what was worst in this look */
	uint64_t worst_ns;
	uint32_t worst_pid;
	const char *worst_what;
	unsigned int measured_ms; /* of the last trigger */
};

/* Returns 0 or -errno. */
int tipmed_auto_init(struct tipmed_auto *a, struct tipmed_x_servers *x,
		     const struct tipmed_agents *agents, unsigned int threshold_ms);
void tipmed_auto_free(struct tipmed_auto *a);

/* Any thread; 0: off. */
void tipmed_auto_set(struct tipmed_auto *a, unsigned int threshold_ms);

/* As an origin of triggers: see server.h. */
int tipmed_auto_take(void *arg, enum tipmed_trigger_kind *kind, uid_t *by, char *text, size_t len);

#endif
