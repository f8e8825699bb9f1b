// SPDX-License-Identifier: GPL-2.0-only
/* Programs that are there, and those that run. */
#include "config.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "processes.h"

static bool runs(pid_t pid, uid_t uid, const char *program)
{
	char path[64], target[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) || st.st_uid != uid)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n < 0)
		return false;
	target[n] = '\0';
	return !strcmp(target, program);
}

void cli_processes_end(uid_t uid, const char *program)
{
	char real[PATH_MAX];
	DIR *proc = realpath(program, real) ? opendir("/proc") : NULL;

	for (struct dirent *e; proc && (e = readdir(proc));) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (pid > 0 && runs(pid, uid, real))
			kill(pid, SIGTERM);
	}
	if (proc)
		closedir(proc);
}

bool cli_program_there(const char *name)
{
	const char *at = getenv("PATH");
	char path[PATH_MAX];

	while (at && *at) {
		size_t len = strcspn(at, ":");

		snprintf(path, sizeof(path), "%.*s/%s", (int)len, at, name);
		if (len && !access(path, X_OK))
			return true;
		at += len + (at[len] == ':');
	}
	return false;
}
