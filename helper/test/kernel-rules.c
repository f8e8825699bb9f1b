// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rules that tracing programs and kernel module share: states, contexts, who raised a softirq,
 * stacks and their age.
 */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "daemon-tap.h"
#include "kernel_tables.h"
#include "rules.h"
#include "services.h"

static void states(void)
{
	static const struct {
		uint32_t flags;
		uint8_t state;
	} known[] = {
		{ 0x1, TIPME_TASK_STATE_SLEEPING },	{ 0x2, TIPME_TASK_STATE_DISK_SLEEP },
		{ 0x402, TIPME_TASK_STATE_IDLE },	{ 0x4, TIPME_TASK_STATE_STOPPED },
		{ 0x8, TIPME_TASK_STATE_TRACED },	{ 0x40, TIPME_TASK_STATE_PARKED },
		{ 0x80, TIPME_TASK_STATE_DEAD },	{ 0x10, TIPME_TASK_STATE_DEAD },
		{ 0x20, TIPME_TASK_STATE_DEAD },	{ 0x8000, TIPME_TASK_STATE_FROZEN },
		{ 0x1000, TIPME_TASK_STATE_LOCK_WAIT }, { 0, TIPME_TASK_STATE_UNKNOWN },
		{ 0x102, TIPME_TASK_STATE_DISK_SLEEP }, /* killable */
	};
	unsigned int right = 0, blocked = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		right += tipme_rule_state_of_flags(known[i].flags) == known[i].state;
	ok(right == sizeof(known) / sizeof(*known), "%u states by their flags", right);
	for (uint32_t s = 0; s < 256; s++)
		blocked += !tipme_rule_is_blocked((uint8_t)s);
	ok(blocked == 3, "three states are not blocked: running, runnable, dead");
}

static void services(void)
{
	static const uint16_t ports[][2] = {
		{ 53, TIPME_NET_SERVICE_DNS },	      { 443, TIPME_NET_SERVICE_WEB },
		{ 993, TIPME_NET_SERVICE_MAIL },      { 2049, TIPME_NET_SERVICE_FILES },
		{ 389, TIPME_NET_SERVICE_DIRECTORY }, { 631, TIPME_NET_SERVICE_PRINT },
		{ 22, TIPME_NET_SERVICE_SSH },	      { 6063, TIPME_NET_SERVICE_X11 },
		{ 6064, TIPME_NET_SERVICE_OTHER },    { 5901, TIPME_NET_SERVICE_DESKTOP },
		{ 5432, TIPME_NET_SERVICE_DATABASE }, { 5353, TIPME_NET_SERVICE_LOCAL_NAMES },
	};
	unsigned int right = 0, n = sizeof(ports) / sizeof(*ports);

	for (unsigned int i = 0; i < n; i++)
		right += tipme_service_of_port(ports[i][0]) == ports[i][1];
	ok(right == n, "%u services by their ports", right);
	ok(!tipme_service_is_own(40000, 53) && tipme_service_is_own(53, 40000),
	   "who has port 53 answers, who has asked for it asks");
	ok(!tipme_service_is_own(0, 40000) && !tipme_service_is_own(40001, 40000),
	   "no port yet, or one of its own choice: asks");
	ok(tipme_service_is_own(8000, 40000) && !tipme_service_is_own(53, 53),
	   "a port that was asked for: answers; the same at both ends: asks");
}

static void raisers(void)
{
	uint64_t by = tipme_rule_raised(0, TIPME_CONTEXT_TASK, 42, 0);

	ok(by == (TIPME_RAISED_BY_TASK | 42) &&
		   tipme_rule_softirq_context(by) == TIPME_CONTEXT_SOFTIRQ_TASK,
	   "raised by one task");
	ok(tipme_rule_raised(by, TIPME_CONTEXT_TASK, 42, 0) == by, "... once more by the same");
	uint64_t two = tipme_rule_raised(by, TIPME_CONTEXT_TASK, 43, 0);

	ok(two & TIPME_RAISED_BY_SEVERAL && (uint32_t)two == 43 &&
		   tipme_rule_softirq_context(two) == TIPME_CONTEXT_SOFTIRQ_MIXED,
	   "... and by another");
	uint64_t mixed = tipme_rule_raised(by, TIPME_CONTEXT_HARDIRQ, 7, 0);

	ok((uint32_t)mixed == 42 &&
		   tipme_rule_softirq_context(mixed) == TIPME_CONTEXT_SOFTIRQ_MIXED,
	   "a task and an interrupt: the task's number stays");
	ok(tipme_rule_softirq_context(tipme_rule_raised(0, TIPME_CONTEXT_HARDIRQ, 7, 0)) ==
		   TIPME_CONTEXT_SOFTIRQ_IRQ,
	   "an interrupt alone has no task");
	ok(tipme_rule_raised(0, TIPME_CONTEXT_SOFTIRQ_TASK, 9, by) == by,
	   "a softirq passes on who raised it");
}

static void stacks(void)
{
	__u64 a[4] = { 1, 2, 3, 4 }, b[4] = { 1, 2, 3, 5 };
	__u64 short_a[4] = { 1, 2, 3, 99 };

	ok(tipme_rule_stack_hash(a, 4, 4, 0) != tipme_rule_stack_hash(b, 4, 4, 0),
	   "other frames, another key");
	ok(tipme_rule_stack_hash(a, 3, 4, 0) == tipme_rule_stack_hash(short_a, 3, 4, 0),
	   "what lies behind the last frame does not count");
	ok(tipme_rule_stack_hash(a, 4, 4, 0) != tipme_rule_stack_hash(a, 4, 4, 1),
	   "the same addresses of another process, another key");
	ok(tipme_rule_stack_hash(a, 0, 4, 0) > TIPME_STACK_BUSY,
	   "no key is one that an entry shows while it is free or written");
	ok(!tipme_rule_stack_is_old(100, 200, 100, 1000),
	   "named since what the pool reaches: it stays");
	ok(tipme_rule_stack_is_old(99, 200, 100, 1000),
	   "named before that: it makes room, however short ago");
	ok(tipme_rule_stack_is_old(100, 1101, 0, 1000) &&
		   !tipme_rule_stack_is_old(100, 1100, 0, 1000),
	   "nobody says what the pool reaches: by time");
	ok(tipme_rule_stack_id(3, 0, 0) == (3 << 16 | 1) &&
		   tipme_rule_stack_id(3, 4, 0x8000) == (3U << 16 | 0x8005),
	   "numbers: claims above, place below");
}

int main(void)
{
	states();
	raisers();
	services();
	stacks();
	return tap_end();
}
