// SPDX-License-Identifier: GPL-2.0-only
/* The processes that talk with the user on our behalf. */
#include "config.h"

#include <stddef.h>

#include "agents.h"

static struct tipmed_agent *find(struct tipmed_agents *agents, pid_t pid)
{
	for (int i = 0; i < TIPMED_AGENTS_MAX; i++)
		if (agents->agent[i].pid == pid)
			return &agents->agent[i];
	return NULL;
}

/* A free place, else that of the one that has been gone for longest. */
static struct tipmed_agent *place(struct tipmed_agents *agents)
{
	struct tipmed_agent *best = find(agents, 0);

	for (int i = 0; !best && i < TIPMED_AGENTS_MAX; i++)
		if (!agents->agent[i].connections)
			best = &agents->agent[i];
	for (int i = 0; best && best->pid && i < TIPMED_AGENTS_MAX; i++)
		if (!agents->agent[i].connections && agents->agent[i].gone_ns < best->gone_ns)
			best = &agents->agent[i];
	return best;
}

void tipmed_agents_add(struct tipmed_agents *agents, pid_t pid)
{
	struct tipmed_agent *a = pid > 0 ? find(agents, pid) : NULL;

	if (!a && pid > 0 && (a = place(agents)))
		*a = (struct tipmed_agent){ .pid = pid };
	if (a)
		a->connections++;
}

void tipmed_agents_gone(struct tipmed_agents *agents, pid_t pid, uint64_t now_ns)
{
	struct tipmed_agent *a = pid > 0 ? find(agents, pid) : NULL;

	if (!a || !a->connections)
		return;
	a->connections--;
	a->gone_ns = now_ns;
}

unsigned int tipmed_agents_list(const struct tipmed_agents *agents, uint64_t since_ns, pid_t *pids)
{
	unsigned int n = 0;

	for (int i = 0; i < TIPMED_AGENTS_MAX; i++)
		if (agents->agent[i].pid &&
		    (agents->agent[i].connections || agents->agent[i].gone_ns >= since_ns))
			pids[n++] = agents->agent[i].pid;
	return n;
}
