// SPDX-License-Identifier: GPL-2.0-only
/* Programs that tasks start, wait for, and end. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "task.h"

extern char **environ;

int tipme_task_spawn(char *const argv[], int *out)
{
	posix_spawn_file_actions_t fa;
	int ends[2] = { -1, -1 }, pid, err;

	if (out && pipe2(ends, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (out)
		posix_spawn_file_actions_adddup2(&fa, ends[1], STDOUT_FILENO);
	else
		posix_spawn_file_actions_addopen(&fa, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&fa, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	err = posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	if (ends[1] >= 0)
		close(ends[1]);
	if (out && err)
		close(ends[0]);
	else if (out)
		*out = ends[0];
	return err ? -err : pid;
}

int tipme_task_wait(int pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
		else
			kill(pid, SIGTERM);
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

void tipme_task_end(int pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGTERM);
	tipme_task_wait(pid);
}
