// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much of a thread's running is user mode: samples by the CPU clock, one event for each mode.
 * The kernel's accounting by ticks cannot tell it of stretches as short as a repeat.
 */
#include "config.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "profile.h"

#define PERIOD_NS 100000
#define SAMPLES_ENOUGH 50 /* a standard error of the share of at most 0.07 */
#define ALL_NS_MAX 200000000
#define PAGES 32 /* of samples, 8 bytes each: more than a second */

static void open_mode(struct tipme_profile_mode *m, int user)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr) };
	size_t len = (PAGES + 1) * (size_t)getpagesize();

	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.sample_period = PERIOD_NS;
	attr.disabled = 1;
	attr.exclude_kernel = user;
	attr.exclude_user = !user;
	attr.exclude_hv = user;
	m->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	m->ring = m->fd < 0 ? MAP_FAILED
			    : mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
}

static void switch_on(const struct tipme_profile *p, bool on)
{
	unsigned long what = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	ioctl(p->kernel.fd, what, 0);
	ioctl(p->user.fd, what, 0);
}

void tipme_profile_begin(struct tipme_profile *p)
{
	p->begun_ns = p->begun_ns ? p->begun_ns : tipme_clock_ns();
	open_mode(&p->user, 1);
	open_mode(&p->kernel, 0);
	/* Only now: what making the rings takes is kernel mode, and not the task's. */
	switch_on(p, true);
}

/* Samples have no body, so that the bytes in the ring tell their number. */
static uint64_t end_mode(struct tipme_profile_mode *m)
{
	struct perf_event_mmap_page *page = m->ring;
	uint64_t n = 0;

	if (m->ring != MAP_FAILED) {
		n = page->data_head / sizeof(struct perf_event_header);
		munmap(m->ring, (PAGES + 1) * (size_t)getpagesize());
	}
	if (m->fd >= 0)
		close(m->fd);
	return n;
}

void tipme_profile_end(struct tipme_profile *p)
{
	switch_on(p, false);
	p->had = p->user.ring != MAP_FAILED && p->kernel.ring != MAP_FAILED;
	p->user_samples += end_mode(&p->user);
	p->kernel_samples += end_mode(&p->kernel);
}

bool tipme_profile_wants_more(const struct tipme_profile *p)
{
	return p->had && p->user_samples + p->kernel_samples < SAMPLES_ENOUGH &&
	       tipme_clock_ns() - p->begun_ns < ALL_NS_MAX;
}
