// SPDX-License-Identifier: GPL-2.0-only
/*
 * Latencies by the kernel's timerlat tracer, where it is built in: expiry to interrupt, and expiry
 * to a kernel thread of SCHED_FIFO 95. It runs in an instance of its own, which ends with us.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "latency.h"
#include "latency_timerlat.h"
#include "small_file.h"

#define TRACING "/sys/kernel/tracing"
#define PATH_LEN 160

int tipme_timerlat_line(const char *text, struct tipme_timerlat_line *to)
{
	const char *cpu = strstr(text, "] ") ? strchr(text, '[') : NULL,
		   *rest = strstr(text, ": #");
	uint64_t s, us;
	char context[16];

	if (!cpu || !rest || sscanf(cpu, "[%u]", &to->cpu) != 1)
		return 0;
	if (sscanf(rest, ": #%" SCNu64 " context %15s timer_latency %" SCNu64 " ns", &to->number,
		   context, &to->ns) != 3)
		return 0;
	while (rest > cpu && rest[-1] != ' ')
		rest--;
	if (sscanf(rest, "%" SCNu64 ".%6" SCNu64, &s, &us) != 2)
		return 0;
	to->seen_ns = s * 1000000000 + us * 1000;
	to->stage = !strcmp(context, "irq")	 ? TIPME_STAGE_IRQ
		    : !strcmp(context, "thread") ? TIPME_STAGE_TOTAL_HIGH
						 : -1;
	return to->stage >= 0;
}

/* Returns 0 or -errno. */
static int put(const char *dir, const char *name, const char *text)
{
	char path[PATH_LEN];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int has_tracer(void)
{
	char line[400];
	ssize_t len = tipme_file_read(TRACING "/available_tracers", line, sizeof(line));

	if (len < 0)
		return (int)len;
	return strstr(line, "timerlat") ? 0 : -ENOENT;
}

/*
 * What a line tells, in the distribution of its CPU. Numbers that were passed are latencies that
 * were lost.
 */
static void take(struct tipme_latencies *all, const struct tipme_timerlat_line *l,
		 uint64_t (*last)[2], uint64_t threshold_ns)
{
	for (unsigned int i = 0; i < all->cpus; i++) {
		struct tipme_distribution *d = &all->stage[i][l->stage];
		uint64_t *was = &last[i][l->stage == TIPME_STAGE_TOTAL_HIGH];

		if (all->cpu_number[i] != l->cpu)
			continue;
		d->measured = true;
		tipme_distribution_count(d, l->ns, l->seen_ns > l->ns ? l->seen_ns - l->ns : 0,
					 l->stage == TIPME_STAGE_IRQ ? 0 : threshold_ns);
		if (*was && l->number > *was + 1)
			d->skipped += l->number - *was - 1;
		*was = l->number;
	}
}

static void lines_take(struct tipme_latencies *all, char *buf, size_t *have, uint64_t (*last)[2],
		       uint64_t threshold_ns)
{
	char *begin = buf, *end;

	while ((end = memchr(begin, '\n', *have - (size_t)(begin - buf)))) {
		struct tipme_timerlat_line l;

		*end = '\0';
		if (tipme_timerlat_line(begin, &l))
			take(all, &l, last, threshold_ns);
		begin = end + 1;
	}
	*have -= (size_t)(begin - buf);
	memmove(buf, begin, *have);
}

static int read_all(struct tipme_latencies *all, const struct tipme_latency_options *opt, int fd)
{
	static uint64_t last[TIPME_LATENCY_MAX_CPUS][2];
	static char buf[1 << 16];
	uint64_t end = all->begun_ns + opt->duration_s * 1000000000ULL,
		 every = opt->every_s * 1000000000ULL;
	uint64_t next = all->begun_ns + every;
	size_t have = 0;

	while (!tipme_latency_ended && tipme_clock_ns() < end) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n;

		poll(&p, 1, 100);
		while ((n = read(fd, buf + have, sizeof(buf) - have)) > 0) {
			have += (size_t)n;
			lines_take(all, buf, &have, last, opt->threshold_us * 1000ULL);
			if (have == sizeof(buf))
				have = 0; /* no line is so long */
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (all->minute && tipme_clock_ns() >= next) {
			all->minute(all, 0);
			next += every;
		}
	}
	return 0;
}

/* The tracer's own settings are those of all its instances: they are put back. */
static int period_set(unsigned int period_us, char *was, size_t len)
{
	char text[24];

	tipme_file_line(TRACING "/osnoise/timerlat_period_us", was, len);
	snprintf(text, sizeof(text), "%u", period_us);
	return put(TRACING "/osnoise", "timerlat_period_us", text);
}

static int instance_run(struct tipme_latencies *all, const struct tipme_latency_options *opt,
			const char *dir)
{
	char path[PATH_LEN], was[24] = "";
	int fd, err = put(dir, "trace_clock", "mono");

	err = err ? err : period_set(opt->period_us, was, sizeof(was));
	err = err ? err : put(dir, "current_tracer", "timerlat");
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/trace_pipe", dir);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	err = fd < 0 ? -errno : 0;
	all->begun_ns = tipme_clock_ns();
	if (all->minute)
		all->minute(all, 0);
	err = err ? err : put(dir, "tracing_on", "1");
	err = err ? err : read_all(all, opt, fd);
	put(dir, "tracing_on", "0");
	all->ended_ns = tipme_clock_ns();
	if (all->minute)
		all->minute(all, 1);
	if (fd >= 0)
		close(fd);
	put(dir, "current_tracer", "nop");
	if (was[0])
		put(TRACING "/osnoise", "timerlat_period_us", was);
	return err;
}

int tipme_latency_timerlat(struct tipme_latencies *all, const struct tipme_latency_options *opt,
			   char *why, size_t why_len)
{
	char dir[80];
	int err = has_tracer();

	if (err) {
		snprintf(why, why_len,
			 err == -ENOENT
				 ? "this kernel has no timerlat tracer (CONFIG_TIMERLAT_TRACER)"
				 : TRACING ": %s: run as root",
			 strerror(-err));
		return err;
	}
	all->source = "timerlat";
	snprintf(dir, sizeof(dir), TRACING "/instances/tipme-latency-%d", (int)getpid());
	err = mkdir(dir, 0700) ? -errno : 0;
	if (!err) {
		err = instance_run(all, opt, dir);
		rmdir(dir);
	}
	if (err)
		snprintf(why, why_len, "the timerlat tracer: %s%s", strerror(-err),
			 err == -EACCES || err == -EPERM ? ": run as root" : "");
	return err;
}
