// SPDX-License-Identifier: GPL-2.0-only
/* tipmed: keeps the last seconds of what the machine did, and saves them when asked. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"
#include "recorder.h"
#include "rounds.h"
#include "seat.h"
#include "translate.h"

static struct tipmed_recorder recorder = { .messages = { .fd = -1 }, .rundir_fd = -1 };

/* Before any thread is there. The parent stays until the child says how it went, and ends with
 * that. */
static int go_background(void)
{
	int ready[2];
	char result = 1;

	if (pipe2(ready, O_CLOEXEC))
		return -errno;
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (!child) {
		close(ready[0]);
		setsid();
		return ready[1];
	}
	close(ready[1]);
	/* The end without a word is a failure that was told already, or a crash. */
	if (read(ready[0], &result, 1) != 1)
		result = 1;
	_exit(result);
}

static void background_ready(int ready_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char result = 0;

	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	if (chdir("/"))
		fprintf(stderr, "tipme: start: /: cannot go there\n");
	if (write(ready_fd, &result, 1) == 1)
		close(ready_fd);
}

/* Signals are waited for, not caught; before any thread is made, so that all inherit it. */
static void signals_block(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGHUP);
	sigaddset(signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, signals, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/*
 * Until somebody sits at the screen. Returns 0, or -EINTR when we are to end, -ENOENT in the
 * background, where nobody waits, or -ENAMETOOLONG: what failed is said.
 */
static int seat_wait(struct tipmed_options *opt, const sigset_t *signals)
{
	const struct timespec second = { .tv_sec = 1 };
	uid_t owner;

	while (!tipmed_seat_user(&owner)) {
		if (!opt->foreground)
			return tipmed_start_refused(
				"nobody sits at the screen, as far as logind knows: name the owner with --owner",
				-ENOENT);
		tipmed_service_tell("READY=1\nSTATUS=waiting for somebody at the screen");
		int sig = sigtimedwait(signals, NULL, &second);

		if (sig > 0 && sig != SIGUSR1)
			return -EINTR;
	}
	return tipmed_owner_set(opt, owner);
}

/* Locked memory that is free inside of the heap stays ours: large pieces, which loading and naming
 * need, are mapped each for itself. */
static void memory_frugal(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_ARENA_MAX, 1);
}

/* Counters of each CPU, the tracing programs and connections: on a large machine more than shells
 * and services are given unasked. */
static void descriptors_allow(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
	sigset_t signals;
	int ready_fd = -1;

	if (tipmed_options_parse(argc, argv, &recorder.opt))
		return 64;
	if (recorder.opt.help || recorder.opt.version) {
		fputs(recorder.opt.help ? tipme_help(tipmed_usage) : "tipmed " PACKAGE_VERSION "\n",
		      stdout);
		return 0;
	}
	umask(022);
	memory_frugal();
	descriptors_allow();
	if (!recorder.opt.foreground && (ready_fd = go_background()) < 0)
		return tipmed_start_fails("no process for the background", ready_fd) ? 1 : 0;
	signals_block(&signals);
	int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);

	if (signal_fd < 0)
		return tipmed_start_fails("no descriptor for signals", -errno) ? 1 : 0;
	int err = recorder.opt.owner_auto ? seat_wait(&recorder.opt, &signals) : 0;

	if (err)
		return err == -EINTR ? 0 : 1;
	if (tipmed_recorder_start(&recorder))
		return 1;
	tipmed_recorder_tell(&recorder);
	tipmed_service_tell("READY=1\nSTATUS=recording");
	if (ready_fd >= 0)
		background_ready(ready_fd);
	int end = tipmed_rounds_keep(&recorder, signal_fd);

	tipmed_service_tell("STOPPING=1");
	tipmed_recorder_stop(&recorder);
	return end;
}
