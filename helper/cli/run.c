// SPDX-License-Identifier: GPL-2.0-only
/* Other programs and other users: what `tipme start --always` needs of the system. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

int cli_wait_for(pid_t pid)
{
	int status;

	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int cli_run(const char *const argv[])
{
	fflush(stdout);
	pid_t pid = fork();

	if (!pid) {
		execvp(argv[0], (char *const *)argv);
		_exit(CLI_NOT_THERE);
	}
	return cli_wait_for(pid);
}

int cli_run_quietly(const char *const argv[])
{
	fflush(stdout);
	pid_t pid = fork();

	if (!pid) {
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execvp(argv[0], (char *const *)argv);
		_exit(CLI_NOT_THERE);
	}
	return cli_wait_for(pid);
}

void cli_run_aside(const char *const argv[])
{
	fflush(stdout);
	pid_t pid = fork();

	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		setsid();
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		/* Its parent is the session's, not us. */
		if (!fork())
			execvp(argv[0], (char *const *)argv);
		_exit(0);
	}
	cli_wait_for(pid);
}

static uid_t uid_of(const char *variable)
{
	const char *text = getenv(variable);
	char *end;

	errno = 0;
	unsigned long n = text ? strtoul(text, &end, 10) : 0;

	return text && *text && !*end && !errno && n < UINT_MAX ? (uid_t)n : 0;
}

int cli_person_find(struct cli_person *person)
{
	uid_t uid = geteuid();

	if (!uid)
		uid = uid_of("SUDO_UID");
	if (!uid)
		uid = uid_of("PKEXEC_UID");
	struct passwd *entry = getpwuid(uid);

	if (!entry)
		return -ENOENT;
	*person = (struct cli_person){ .uid = uid, .gid = entry->pw_gid };
	snprintf(person->name, sizeof(person->name), "%s", entry->pw_name);
	/*
	 * Who is asked by name is root; who asks for themselves has a home that they may have
	 * named.
	 */
	const char *home = geteuid() ? getenv("HOME") : NULL;

	snprintf(person->home, sizeof(person->home), "%s",
		 home && *home == '/' ? home : entry->pw_dir);
	return 0;
}

/* Never back: the kernel's limits of this process are the person's, too. */
static int become(const struct cli_person *person)
{
	char runtime[64];

	if (geteuid())
		return 0;
	if (initgroups(person->name, person->gid) || setgid(person->gid) || setuid(person->uid))
		return -errno;
	setenv("HOME", person->home, 1);
	unsetenv("XDG_CONFIG_HOME");
	snprintf(runtime, sizeof(runtime), "/run/user/%u", (unsigned int)person->uid);
	if (!access(runtime, X_OK))
		setenv("XDG_RUNTIME_DIR", runtime, 1);
	return 0;
}

int cli_as_person(const struct cli_person *person, int (*run)(const struct cli_person *person))
{
	fflush(stdout);
	pid_t pid = fork();

	if (!pid) {
		int err = become(person);

		err = err ? err : run(person);
		fflush(stdout);
		_exit(err ? 1 : 0);
	}
	return cli_wait_for(pid);
}
