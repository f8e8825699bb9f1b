/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes that talk with the user on our behalf: what is typed into their windows is never
 * the problem. Only the trigger thread uses it.
 */
#ifndef TIPMED_AGENTS_H
#define TIPMED_AGENTS_H

#include <stdint.h>
#include <sys/types.h>

#define TIPMED_AGENTS_MAX 16

struct tipmed_agents {
	struct tipmed_agent {
		pid_t pid; /* 0: no entry */
		unsigned int connections;
		uint64_t gone_ns;
	} agent[TIPMED_AGENTS_MAX];
};

/* A process that watches; one that came and went often is one entry. */
void tipmed_agents_add(struct tipmed_agents *agents, pid_t pid);
void tipmed_agents_gone(struct tipmed_agents *agents, pid_t pid, uint64_t now_ns);

/*
 * The agents there are, and those that went since `since_ns`. Fills at most TIPMED_AGENTS_MAX;
 * returns how many.
 */
unsigned int tipmed_agents_list(const struct tipmed_agents *agents, uint64_t since_ns, pid_t *pids);

#endif
