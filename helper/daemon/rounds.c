// SPDX-License-Identifier: GPL-2.0-only
/* What the main thread does each second while the recorder runs. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "clock.h"
#include "paths.h"
#include "recorder.h"
#include "rounds.h"
#include "seat.h"

/* Classes that began without their counters: said as long as it is so. They may begin again with
 * them. */
static void counters_tell(struct tipmed_recorder *r)
{
	static int said_sample, said_memory, number = -1;
	int sample = tipme_kernel_source_no_events(r->kernel, TIPME_CLASS_SAMPLE);
	int memory = tipme_kernel_source_no_events(r->kernel, TIPME_CLASS_MEMORY);
	int err = sample ? sample : memory;

	if (sample == said_sample && memory == said_memory)
		return;
	said_sample = sample;
	said_memory = memory;
	tipmed_limit_end(&r->limits, number);
	number = -1;
	if (!err)
		return;
	bool forbidden = err == -EACCES || err == -EPERM;

	number = tipmed_limit_add(&r->limits, "no counters (%s): %s%s%s%s", strerror(-err),
				  sample ? "no samples" : "", sample && memory ? ", and " : "",
				  memory ? "class memory_wait without page faults that read" : "",
				  forbidden ? ": start it as root, or with sysctl "
					      "kernel.perf_event_paranoid=2 where nothing else "
					      "forbids them"
					    : "");
}

/* `arg`: the pictures. */
static void keep(void *arg, const void *rec, size_t len)
{
	tipmed_pictures_keep(arg, rec, len);
}

/* The module counts page faults by itself. Where perf_event_paranoid was raised since the start
 * there is nobody who may open a counter, until it is lowered. */
static void cpus_look(struct tipmed_recorder *r)
{
	static int number = -1;
	int err = tipme_kernel_source_cpus_look(r->kernel);

	if (!err) {
		tipmed_limit_end(&r->limits, number);
		number = -1;
	} else if (number < 0) {
		number = tipmed_limit_add(
			&r->limits,
			"no samples%s any more of a CPU that was switched off, as they are when the machine sleeps (%s): start the recorder again; "
			"with sysctl kernel.perf_event_paranoid=2 it may go on",
			tipme_kernel_source_kind(r->kernel) == TIPME_SOURCE_KERNEL_MODULE
				? ""
				: " and page faults",
			strerror(-err));
	}
}

/* The clocks first: what sleeps after that is for the next time. Returns whether the machine slept.
 */
static bool clocks_look(struct tipmed_recorder *r)
{
	const struct tipmed_clocks now = tipmed_clocks_read();
	uint64_t from_ns = 0, to_ns = 0;

	tipme_kernel_source_suspended(r->kernel, r->suspends.looked_ns, &from_ns, &to_ns);
	return tipmed_suspends_look(&r->suspends, &now, from_ns, to_ns);
}

/* The pool grows before it overwrites what is to be kept, and shrinks: see kernel_growth.h. */
static void pool_adapt(struct tipmed_recorder *r)
{
	static int number = -1;
	int err = 0;

	tipme_kernel_source_adapt(r->kernel, &err);
	if (!err && number >= 0) {
		tipmed_limit_end(&r->limits, number);
		number = -1;
	} else if (err && number < 0) {
		number = tipmed_limit_add(
			&r->limits,
			"fewer seconds are kept than asked for: the ring got no more memory (%s)",
			strerror(-err));
	}
}

/* What was copied is given names when it is saved. */
static void old_give_up(struct tipmed_recorder *r, int seen, uint64_t now_ns)
{
	uint64_t window_ns = r->opt.window_s * TIPME_NS_PER_S;
	uint64_t keep_ns = now_ns > window_ns ? now_ns - window_ns : 0, reach_ns;

	if (seen <= 0 || r->server.snap.phase != TIPMED_IDLE)
		return;
	reach_ns = tipme_kernel_source_stacks_age(r->kernel, keep_ns);
	tipmed_pictures_keep_from(r->pictures, reach_ns < keep_ns ? reach_ns : keep_ns);
}

/* More files with code are in use than there are numbers for. */
static void code_tell(struct tipmed_recorder *r)
{
	static bool said;

	if (said || !tipmed_code_refused(r->code))
		return;
	tipmed_limit_add(
		&r->limits,
		"more than 4096 files with code are in use at one time: functions of the others show as ?");
	said = true;
}

#define PICTURE_SHARE 400 /* pictures take at most one part in so many of a CPU */

/* Of thousands of threads one takes milliseconds: then it is not taken each second. Returns how
 * many threads it has, 0 if none was taken. */
static int picture_look(struct tipmed_recorder *r)
{
	static uint64_t due_ns;
	uint64_t now_ns = tipme_clock_ns(), begin_ns = tipme_clock_of_ns(CLOCK_THREAD_CPUTIME_ID);

	if (now_ns < due_ns)
		return 0;
	int n = tipmed_pictures_take(r->pictures, r->kernel);
	uint64_t took_ns = tipme_clock_of_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;

	/* A look that comes a little early is as good. */
	due_ns = now_ns + took_ns * PICTURE_SHARE - TIPME_NS_PER_S / 4;
	if (n > 0)
		r->pictured = (struct tipmed_pictured){ (unsigned int)n, took_ns };
	return n;
}

static void machine_look(struct tipmed_recorder *r, uint64_t now_ns)
{
	struct tipme_memory_state rec;

	if (tipmed_classes_has(&r->classes, TIPME_CLASS_MEMORY_STATE) &&
	    !tipmed_memory_look(&r->memory, now_ns, &rec))
		keep(r->pictures, &rec, sizeof(rec));
	if (tipmed_classes_has(&r->classes, TIPME_CLASS_SPEED))
		tipmed_speed_look(&r->speed, now_ns, keep, r->pictures);
	tipmed_messages_look(&r->messages, now_ns,
			     tipmed_classes_has(&r->classes, TIPME_CLASS_MESSAGE) ? keep : NULL,
			     r->pictures);
}

#define WAYLAND_LOOKS 5 /* a new library is not in use in the second in which it is installed */

static void wayland_look(struct tipmed_recorder *r)
{
	static unsigned int n;

	if (!(++n % WAYLAND_LOOKS))
		tipme_kernel_source_wayland_look(r->kernel);
}

void tipmed_rounds_look(struct tipmed_recorder *r)
{
	uint64_t begin_ns = tipme_clock_ns();
	int n = picture_look(r);

	pool_adapt(r);
	cpus_look(r);
	wayland_look(r);
	counters_tell(r);
	tipmed_snapshot_expect(&r->server.snap, r->pictured.threads);
	tipmed_code_look(r->code, begin_ns);
	code_tell(r);
	tipmed_cgroups_look(r->cgroups, begin_ns,
			    tipmed_classes_has(&r->classes, TIPME_CLASS_THROTTLE) ? keep : NULL,
			    r->pictures);
	tipmed_steal_look(&r->steal, begin_ns,
			  tipmed_classes_has(&r->classes, TIPME_CLASS_STEAL) ? keep : NULL,
			  r->pictures);
	machine_look(r, begin_ns);
	clocks_look(r);
	tipmed_watch_look(r->watch, r->pictured.threads, r->pictured.took_ns);
	old_give_up(r, n, begin_ns);
}

static bool seat_changed(struct tipmed_recorder *r)
{
	return r->opt.owner_auto && tipmed_seat_left(r->opt.owner);
}

/* A recorder that nobody can see, ask or end is not to go on in secret, beside the one that is
 * started next. */
static bool socket_lost(struct tipmed_recorder *r)
{
	if (!tipmed_doors_gone(&r->server.doors, &r->opt))
		return false;
	fprintf(stderr,
		"tipme: tipmed: %s/" TIPME_SOCKET_NAME
		": was taken away, and nobody can ask for anything any more: start the recorder again\n",
		r->opt.rundir);
	return true;
}

/* What has come for us: a signal's number, or 0. */
static int signal_taken(int signal_fd)
{
	struct signalfd_siginfo info;

	return read(signal_fd, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}

/* Returns the signal that came before `due_ns`, or 0: then it is time to look, as it is when the
 * machine has slept: CPUs have lost their events by that. */
static int wait_until(struct tipmed_recorder *r, int signal_fd, int clock_fd, uint64_t due_ns)
{
	struct pollfd fds[] = { { .fd = signal_fd, .events = POLLIN },
				{ .fd = clock_fd, .events = POLLIN } };
	uint64_t now_ns;

	while ((now_ns = tipme_clock_ns()) < due_ns) {
		if (poll(fds, 2, (int)((due_ns - now_ns) / 1000000) + 1) <= 0)
			continue;
		if (fds[0].revents)
			return signal_taken(signal_fd);
		tipmed_suspends_watch_again(clock_fd);
		if (clocks_look(r))
			return 0;
	}
	return 0;
}

/* A picture each second, and what the trigger thread leaves to us, until somebody ends us. Returns
 * how we end. */
int tipmed_rounds_keep(struct tipmed_recorder *r, int signal_fd)
{
	/* Without it, looks find the same, a second late. */
	int clock_fd = tipmed_suspends_watch();
	uint64_t due_ns = tipme_clock_ns() + TIPME_NS_PER_S;

	for (;;) {
		int sig = wait_until(r, signal_fd, clock_fd, due_ns);

		if (sig && sig != SIGUSR1)
			return 0;
		if (sig) {
			tipmed_classes_do(&r->classes);
			continue;
		}
		tipmed_rounds_look(r);
		due_ns = tipme_clock_ns() + TIPME_NS_PER_S;
		/* What was recorded of one user is not for the next. */
		if (seat_changed(r))
			return TIPMED_EXIT_SEAT;
		if (socket_lost(r))
			return 1;
	}
}
