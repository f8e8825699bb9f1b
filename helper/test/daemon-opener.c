// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process that opens events: what it may do, what it gives, what it refuses, and that it ends.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon-tap.h"
#include "opener.h"
#include "kernel_source.h"

/* A line of its status, without the name; "": there is none. */
static const char *status_of(pid_t pid, const char *name)
{
	static char line[256];
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name))) {
			fclose(f);
			line[strcspn(line, "\n")] = '\0';
			return line + strlen(name);
		}
	if (f)
		fclose(f);
	return "";
}

static void test_rights(pid_t pid, const struct tipmed_user *user)
{
	unsigned int uid = 0;

	ok(strtoull(status_of(pid, "CapEff:"), NULL, 16) == 1ULL << 21 &&
		   strtoull(status_of(pid, "CapPrm:"), NULL, 16) == 1ULL << 21,
	   "CAP_SYS_ADMIN, and nothing else");
	ok(atoi(status_of(pid, "NoNewPrivs:")) == 1, "it can get no more");
	sscanf(status_of(pid, "Uid:"), "%*u %u", &uid);
	ok(uid == (user->set ? user->uid : geteuid()), "it is user %u", uid);
	ok(strstr(status_of(pid, "Name:"), "tipmed-events") != NULL, "by its own name");
}

static void test_requests(void)
{
	uint64_t told[2];
	int sample = tipmed_opener_open(TIPME_CLASS_SAMPLE, 0),
	    faults = tipmed_opener_open(TIPME_CLASS_MEMORY, 0);

	usleep(20000);
	ok(sample >= 0 && read(sample, told, sizeof(told)) == sizeof(told) && told[1] > 0,
	   "an event of the first CPU, which is on (%d)", sample);
	ok(sample >= 0 && fcntl(sample, F_GETFD) & FD_CLOEXEC,
	   "... closed where another program is called");
	ok(faults >= 0, "one that counts page faults (%d)", faults);
	ok(tipmed_opener_open(TIPME_CLASS_IO, 0) == -EINVAL, "other classes have none");
	ok(tipmed_opener_open(TIPME_CLASS_SAMPLE, -1) == -EINVAL,
	   "not for all CPUs together, nor for a thread");
	ok(tipmed_opener_open(TIPME_CLASS_SAMPLE, 100000) < 0, "no such CPU");
	int again = tipmed_opener_open(TIPME_CLASS_SAMPLE, 0);

	ok(again >= 0, "what was refused has not disturbed it");
	close(sample);
	close(faults);
	close(again);
}

/* A recorder that ends, however, leaves none. */
static void test_end(const struct tipmed_user *user)
{
	int status;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid_t recorder = fork();

	if (!recorder) {
		tipmed_opener_fork(user);
		kill(getpid(), SIGKILL);
	}
	waitpid(recorder, &status, 0);
	alarm(180);
	ok(waitpid(-1, &status, 0) > 0, "a recorder was killed: it has ended, too");
}

int main(void)
{
	const struct passwd *nobody = getpwnam("nobody");
	struct tipmed_user user = { .set = nobody && !geteuid(),
				    .uid = nobody ? nobody->pw_uid : 0,
				    .gid = nobody ? nobody->pw_gid : 0 };
	int status = 0;

	if (geteuid()) {
		printf("1..0 # SKIP opening events of a whole CPU needs root (run it with sudo)\n");
		return 0;
	}
	ok(tipmed_opener_open(TIPME_CLASS_SAMPLE, 0) == -EACCES, "nobody is there: so it says");
	pid_t pid = tipmed_opener_fork(&user);

	ok(pid > 0, "it is there");
	test_requests();
	test_rights(pid, &user);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ok(tipmed_opener_open(TIPME_CLASS_SAMPLE, 0) == -EACCES,
	   "it was killed: as if there had been none");
	test_end(&user);
	return tap_end();
}
