// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes that write to more memory than there is, or that compute: one endless hog, or a new one
 * every two seconds.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "loads.h"

#define FORK_EVERY_S 2

void tipme_compute(uint64_t ns)
{
	uint64_t end_ns = tipme_clock_of_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	volatile unsigned int sink = 0;

	/* The clock is asked rarely: what is burned is computing, not asking for the time. */
	while (tipme_clock_of_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		for (unsigned int i = 0; i < 5000; i++)
			sink = sink + i;
}

static void compute_for_ever(void)
{
	for (;;)
		tipme_compute(TIPME_NS_PER_S);
}

/* Forks a child that ends with us; 0 in the child. */
static pid_t child_start(const char *name)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid < 0 ? -errno : pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	prctl(PR_SET_NAME, name);
	return 0;
}

volatile char *tipme_load_buffer(uint64_t bytes, const char *folder)
{
	int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *buf;

	if (folder) {
		fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd < 0 || ftruncate(fd, (off_t)bytes))
			return NULL;
		flags = MAP_SHARED;
	}
	buf = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
	return buf == MAP_FAILED ? NULL : buf;
}

static void write_for_ever(const struct tipme_load_options *opt)
{
	volatile char *buf = tipme_load_buffer(opt->child_bytes, opt->folder);

	if (!buf)
		_exit(1);
	for (unsigned int turn = 0;; turn++)
		for (uint64_t i = 0; i < opt->child_bytes; i += TIPME_LOAD_STRIDE)
			*(volatile unsigned int *)(buf + i) = turn;
}

int tipme_load_memory(struct tipme_load *load, const struct tipme_load_options *opt)
{
	*load = (struct tipme_load){ 0 };
	for (unsigned int i = 0; i < opt->children; i++) {
		pid_t pid = child_start("tipme-writer");

		if (!pid)
			write_for_ever(opt);
		if (pid < 0) {
			tipme_load_stop(load);
			return pid;
		}
		load->pid[load->count++] = pid;
	}
	return 0;
}

/* The parent of short-lived hogs: ends one before it makes the next. */
static void fork_for_ever(void)
{
	for (;;) {
		pid_t pid = child_start("tipme-hog");

		if (!pid)
			compute_for_ever();
		sleep(FORK_EVERY_S);
		if (pid > 0) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
	}
}

int tipme_load_hog(struct tipme_load *load, const struct tipme_load_options *opt)
{
	pid_t pid = child_start(opt->forking ? "tipme-forker" : "tipme-hog");

	*load = (struct tipme_load){ 0 };
	if (!pid && opt->forking)
		fork_for_ever();
	if (!pid)
		compute_for_ever();
	if (pid < 0)
		return pid;
	load->pid[load->count++] = pid;
	return 0;
}

unsigned int tipme_load_stop(struct tipme_load *load)
{
	unsigned int ended = 0;

	for (unsigned int i = 0; i < load->count; i++) {
		if (waitpid(load->pid[i], NULL, WNOHANG) == load->pid[i]) {
			ended++;
			continue;
		}
		kill(load->pid[i], SIGKILL);
		waitpid(load->pid[i], NULL, 0);
	}
	load->count = 0;
	return ended;
}
