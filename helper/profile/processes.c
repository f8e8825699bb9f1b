// SPDX-License-Identifier: GPL-2.0-only
/* What anybody may know of a process: its name, its CPU time, what its main thread does. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "profile.h"
#include "small_file.h"
#include "text.h"

static ssize_t file_read(uint32_t pid, const char *name, char *buf, size_t cap)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	return tipme_file_read(path, buf, cap);
}

void tipme_process_name(uint32_t pid, char *name, size_t cap)
{
	char comm[32];
	ssize_t n = pid ? file_read(pid, "comm", comm, sizeof(comm)) : 0;

	if (!pid)
		snprintf(name, cap, "(not local)");
	else if (n <= 0)
		snprintf(name, cap, "(gone)");
	else
		tipme_text_clean(name, cap, comm, strcspn(comm, "\n"));
}

uint64_t tipme_process_ran_ns(uint32_t pid)
{
	clockid_t clock;
	struct timespec ts;

	if (clock_getcpuclockid((pid_t)pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * TIPME_NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* State and parent stand behind the name, which may hold anything. */
static const char *behind_name(const char *stat)
{
	const char *end = strrchr(stat, ')');

	return end && end[1] == ' ' ? end + 2 : NULL;
}

bool tipme_process_rests(uint32_t pid)
{
	char text[512];
	const char *at = file_read(pid, "stat", text, sizeof(text)) > 0 ? behind_name(text) : NULL;

	if (!at || *at == 'Z' || *at == 'X')
		return true;
	if (*at != 'S')
		return false;
	/* Who may not be told has "0" there, or nothing. */
	if (file_read(pid, "wchan", text, sizeof(text)) <= 0 || !strcmp(text, "0"))
		return true;
	return strstr(text, "poll") || strstr(text, "select");
}

struct tipme_seen tipme_process_see(uint32_t pid, uint64_t *ran_ns, uint64_t now_ns)
{
	uint64_t before = *ran_ns;

	*ran_ns = tipme_process_ran_ns(pid);
	return (struct tipme_seen){ .pid = pid,
				    .rests = tipme_process_rests(pid),
				    .ran_ns = *ran_ns > before ? *ran_ns - before : 0,
				    .now_ns = now_ns };
}

/* Unit: processes. A chain of parents longer than that is none. */
#define GENERATIONS 64

bool tipme_process_is_below(uint32_t pid, uint32_t ancestor)
{
	for (int i = 0; i < GENERATIONS && pid > 1; i++) {
		char text[512];

		if (pid == ancestor)
			return true;
		const char *at =
			file_read(pid, "stat", text, sizeof(text)) > 0 ? behind_name(text) : NULL;

		pid = at ? (uint32_t)strtoul(at + 1, NULL, 10) : 0;
	}
	return false;
}
