// SPDX-License-Identifier: GPL-2.0-only
/*
 * tipme latency xruns: sound that ran dry. The kernel says of each open stream in /proc/asound
 * whether it has stopped for an underrun or an overrun, and since when; stock kernels have no other
 * word of it.
 */
#include "config.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "latency.h"
#include "latency_tell.h"
#include "latency_pipewire.h"
#include "latency_xruns.h"
#include "small_file.h"

#define STREAMS 64
#define FILE_LEN 1024
#define NAME_LEN 32
#define LOOK_NS 4000000 /* so often: an application that comes back may begin anew soon */
#define SEARCH 250 /* looks from one search for streams to the next */
#define SAME_NS 1000000
#define NEAR_NS (60 * TIPME_NS_PER_S)

struct stream {
	char dir[120];
	char name[NAME_LEN]; /* pcmC0D0p */
	uint64_t told_ns; /* of the last underrun that was told */
};

static bool file_text(const char *dir, const char *name, char *text, size_t len)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return tipme_file_read(path, text, len) > 0;
}

/* What stands behind "NAME" and a colon at the beginning of a line; NULL: no such line. */
static const char *field(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *at = line + len;

		if (strncmp(line, name, len))
			continue;
		while (*at == ' ' || *at == '\t')
			at++;
		if (*at == ':')
			return at + 1 + strspn(at + 1, " \t");
	}
	return NULL;
}

static uint64_t number(const char *text, const char *name)
{
	const char *at = field(text, name);

	return at ? strtoull(at, NULL, 10) : 0;
}

/*
 * The kernel stamps a stream by the wall clock or the monotonic one, as its owner has asked for:
 * the one that it is near to.
 */
static uint64_t stamp_ns(const char *text, uint64_t now_ns, uint64_t wall_ns)
{
	const char *at = field(text, "trigger_time");
	uint64_t s, frac, ns;

	if (!at || sscanf(at, "%" SCNu64 ".%9" SCNu64, &s, &frac) != 2)
		return 0;
	ns = s * TIPME_NS_PER_S + frac;
	if (ns <= now_ns && now_ns - ns < NEAR_NS)
		return ns;
	return ns <= wall_ns && wall_ns - ns < NEAR_NS ? now_ns - (wall_ns - ns) : 0;
}

/*
 * The thread that feeds a stream: the only real-time one of its owner's, else the one that opened
 * it.
 */
static uint32_t feeder(uint32_t owner)
{
	char pattern[64];
	glob_t found;
	uint32_t only = 0, n = 0;

	snprintf(pattern, sizeof(pattern), "/proc/%u/task/*", owner);
	if (glob(pattern, 0, NULL, &found))
		return owner;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		uint32_t tid = (uint32_t)strtoul(strrchr(found.gl_pathv[i], '/') + 1, NULL, 10);
		int policy = sched_getscheduler((pid_t)tid) & ~SCHED_RESET_ON_FORK;

		if (policy != SCHED_FIFO && policy != SCHED_RR)
			continue;
		only = tid;
		n++;
	}
	globfree(&found);
	return n == 1 ? only : owner;
}

static uint64_t times_slept(const char *task)
{
	char text[2048];

	return file_text(task, "status", text, sizeof(text))
		       ? number(text, "voluntary_ctxt_switches")
		       : 0;
}

/*
 * The thread of a process that serves cycles where it may have no real-time priority: who has slept
 * most often, since others have less to wait for.
 */
static uint32_t cycler(uint32_t pid)
{
	uint32_t real_time = feeder(pid), best = real_time;
	uint64_t most = 0;
	char pattern[64];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/proc/%u/task/*", pid);
	if (real_time != pid || glob(pattern, 0, NULL, &found))
		return real_time;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		uint64_t n = times_slept(found.gl_pathv[i]);

		if (n <= most)
			continue;
		most = n;
		best = (uint32_t)strtoul(strrchr(found.gl_pathv[i], '/') + 1, NULL, 10);
	}
	globfree(&found);
	return best;
}

/* Streams that are there now; what is known of those that stay is kept. */
static unsigned int search(struct stream *s, unsigned int count)
{
	glob_t found;

	if (glob("/proc/asound/card*/pcm*/sub*", 0, NULL, &found))
		return 0;
	for (size_t i = 0; i < found.gl_pathc && count < STREAMS; i++) {
		unsigned int card, device, sub, k = 0;
		char kind;

		if (sscanf(found.gl_pathv[i], "/proc/asound/card%u/pcm%u%c/sub%u", &card, &device,
			   &kind, &sub) != 4)
			continue;
		while (k < count && strcmp(s[k].dir, found.gl_pathv[i]))
			k++;
		if (k < count || strlen(found.gl_pathv[i]) >= sizeof(s[k].dir))
			continue;
		s[k] = (struct stream){ .told_ns = 0 };
		strcpy(s[k].dir, found.gl_pathv[i]);
		snprintf(s[k].name, NAME_LEN, "pcmC%uD%u%c", card, device, kind);
		count++;
	}
	globfree(&found);
	return count;
}

bool tipme_xrun_read(const char *status, const char *hw_params, uint64_t now_ns, uint64_t wall_ns,
		     struct tipme_xrun *to)
{
	const char *state = field(status, "state");
	uint64_t rate = number(hw_params, "rate");

	if (!state || strncmp(state, "XRUN", 4))
		return false;
	to->at_ns = stamp_ns(status, now_ns, wall_ns);
	to->buffer_ns = rate ? number(hw_params, "buffer_size") * TIPME_NS_PER_S / rate : 0;
	to->pid = (uint32_t)number(status, "owner_pid");
	return to->at_ns && to->buffer_ns && to->pid;
}

/* Says it here and to the recorder. */
static void tell(struct tipme_teller *teller, const struct tipme_xrun *x, const char *what)
{
	char comm[NAME_LEN] = "?", path[64];

	snprintf(path, sizeof(path), "/proc/%u/comm", x->pid);
	tipme_file_line(path, comm, sizeof(comm));
	printf("%s of %.16s (pid %" PRIu32 ") %s, a buffer of %.1f ms\n", x->stream, comm, x->pid,
	       what, (double)x->buffer_ns / 1e6);
	fflush(stdout);
	tipme_teller_tell_xrun(teller, x);
}

/* Returns whether there was one. */
static bool look(struct stream *s, struct tipme_teller *teller)
{
	char status[FILE_LEN], setup[FILE_LEN] = "";
	struct tipme_xrun x = { .stream = s->name };

	if (!file_text(s->dir, "status", status, sizeof(status)) || !strstr(status, "XRUN"))
		return false;
	file_text(s->dir, "hw_params", setup, sizeof(setup));
	if (!tipme_xrun_read(status, setup, tipme_clock_ns(), tipme_clock_of_ns(CLOCK_REALTIME),
			     &x))
		return false;
	/* The wall clock is read a moment after the other, so the same time may differ by that. */
	if ((x.at_ns > s->told_ns ? x.at_ns - s->told_ns : s->told_ns - x.at_ns) < SAME_NS)
		return false;
	s->told_ns = x.at_ns;
	x.tid = feeder(x.pid);
	tell(teller, &x, s->name[strlen(s->name) - 1] == 'c' ? "ran over" : "ran dry");
	return true;
}

/* What PipeWire has reported since the last look. Returns how many. */
static unsigned int look_at_log(struct tipme_pipewire *log, struct tipme_teller *teller)
{
	struct tipme_pipewire_xrun report;
	unsigned int n = 0;

	while (tipme_pipewire_next(log, &report)) {
		char name[NAME_LEN];
		struct tipme_xrun x = { .stream = name,
					.at_ns = report.at_ns,
					.buffer_ns = report.cycle_ns };

		x.pid = report.client ? tipme_pipewire_process(report.node) : report.writer;
		if (!x.pid)
			continue;
		snprintf(name, sizeof(name), "pipewire-%" PRIu32, report.node);
		x.tid = cycler(x.pid);
		tell(teller, &x, report.client ? "came too late" : "ran dry");
		n++;
	}
	return n;
}

int tipme_latency_xruns(unsigned int duration_s, const char *pipewire, uint64_t *seen)
{
	static struct stream stream[STREAMS];
	struct tipme_teller teller = { .fd = -1 };
	uint64_t end = tipme_clock_ns() + duration_s * TIPME_NS_PER_S;
	struct sched_param param = { .sched_priority = 2 };
	unsigned int count = 0;
	struct tipme_pipewire log;
	int err = tipme_pipewire_open(&log, pipewire);

	if (err)
		return err;
	if (!pipewire && access("/proc/asound", F_OK)) {
		fputs("tipme: latency: /proc/asound: there is no sound card here\n", stderr);
		return -ENOENT;
	}
	/* Whatever keeps the sound waiting must not keep us. Without it we only look later. */
	mlockall(MCL_CURRENT | MCL_FUTURE);
	sched_setscheduler(0, SCHED_FIFO, &param);
	tipme_teller_open(&teller);
	for (unsigned int n = 0; !tipme_latency_ended && tipme_clock_ns() < end; n++) {
		if (n % SEARCH == 0)
			count = search(stream, count);
		for (unsigned int i = 0; i < count; i++)
			*seen += look(&stream[i], &teller);
		*seen += look_at_log(&log, &teller);
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	}
	tipme_teller_close(&teller);
	tipme_pipewire_close(&log);
	return 0;
}
