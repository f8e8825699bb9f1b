// SPDX-License-Identifier: GPL-2.0-only
/* The history of processes: what many have alike is kept once, and all of it goes when they do. */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "daemon-tap.h"
#include "identity.h"

#define PROCESSES 2000U
#define ENV_BYTES 3000U
#define S 1000000000ULL

static struct tipme_life_exec life;

static void born(struct tipmed_identity *id, uint32_t pid, char env)
{
	int n;

	life.head = (struct tipme_life){ .ts_ns = S,
					 .start_ns = pid,
					 .kind = TIPME_LIFE_EXEC,
					 .pid = pid,
					 .ppid = 1,
					 .env_len = ENV_BYTES,
					 .env_total = ENV_BYTES };
	n = snprintf(life.args, sizeof(life.args), "tool%c%u", 0, pid);
	life.head.args_len = life.head.args_total = (uint32_t)n;
	memset(life.env, env, ENV_BYTES - 1);
	memcpy(life.env, "LANG=", 5);
	life.env[ENV_BYTES - 1] = '\0';
	tipmed_identity_add(id, &life.head);
}

static void ended(struct tipmed_identity *id, uint32_t pid)
{
	const struct tipme_life end = {
		.ts_ns = 2 * S, .start_ns = pid, .kind = TIPME_LIFE_EXIT, .pid = pid, .ppid = 1
	};

	tipmed_identity_add(id, &end);
}

static struct tipmed_identity_facts facts_of(struct tipmed_identity *id)
{
	struct tipmed_identity_facts facts;

	tipmed_identity_facts(id, &facts);
	return facts;
}

struct environments {
	unsigned int whole, other;
};

/* The first record of an environment begins with what stands in all of them. */
static int count(void *arg, const void *rec, size_t len)
{
	const struct tipme_exec_environment *env = rec;
	struct environments *n = arg;

	if (env->type != TIPME_EXEC_ENVIRONMENT || len < sizeof(*env) + 8)
		return 0;
	if (!memcmp((const char *)rec + offsetof(struct tipme_exec_environment, text), "LANG=aaa",
		    8))
		n->whole++;
	else if (!memcmp((const char *)rec + offsetof(struct tipme_exec_environment, text),
			 "LANG=", 5))
		n->other++;
	return 0;
}

static void test_alike(struct tipmed_identity *id)
{
	uint64_t before = facts_of(id).bytes;
	struct environments n = { 0 };

	for (uint32_t pid = 1; pid <= PROCESSES; pid++)
		born(id, pid, 'a');
	uint64_t each = (facts_of(id).bytes - before) / PROCESSES;

	ok(facts_of(id).processes == PROCESSES && !facts_of(id).lost, "%u processes", PROCESSES);
	ok(each < ENV_BYTES / 10, "of one environment: %llu bytes each", (unsigned long long)each);
	tipmed_identity_emit(id, 0, 0, count, &n);
	ok(n.whole == PROCESSES && !n.other, "and each tells it: %u, %u others", n.whole, n.other);
	born(id, PROCESSES + 1, 'b');
	memset(&n, 0, sizeof(n));
	tipmed_identity_emit(id, 0, 0, count, &n);
	ok(n.whole == PROCESSES && n.other == 1, "one has another");
	for (uint32_t pid = 1; pid <= PROCESSES + 1; pid++)
		ended(id, pid);
	tipmed_identity_age(id, 3 * S + TIPMED_IDENTITY_KEEP_S * S);
	ok(!facts_of(id).processes && facts_of(id).bytes == before,
	   "when all are forgotten, nothing is kept: %llu bytes as before",
	   (unsigned long long)facts_of(id).bytes);
}

/* Each has its own: then those go first that ended longest ago. */
static void test_full(struct tipmed_identity *id)
{
	for (uint32_t pid = 1; pid <= PROCESSES; pid++) {
		born(id, pid, (char)('!' + pid % 90));
		ended(id, pid);
	}
	struct tipmed_identity_facts f = facts_of(id);

	ok(f.bytes <= f.bytes_max && !f.lost, "a full one stays within its memory: %llu of %llu",
	   (unsigned long long)f.bytes, (unsigned long long)f.bytes_max);
}

int main(void)
{
	struct tipmed_identity *id;

	ok(!tipmed_identity_new(&id, 0, false), "made");
	test_alike(id);
	tipmed_identity_free(id);
	ok(!tipmed_identity_new(&id, 400000, false), "made with little memory");
	test_full(id);
	tipmed_identity_free(id);
	return tap_end();
}
