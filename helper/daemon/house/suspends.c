// SPDX-License-Identifier: GPL-2.0-only
/* When the machine slept, and when its clock was set. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock.h"
#include "suspends.h"

/*
 * Reading clocks one after the other may be interrupted; no suspend is as short as this, and no
 * step that matters.
 */
#define LEAST_NS 50000000

struct tipmed_clocks tipmed_clocks_read(void)
{
	return (struct tipmed_clocks){ tipme_clock_ns(), tipme_clock_of_ns(CLOCK_BOOTTIME),
				       tipme_clock_of_ns(CLOCK_REALTIME) };
}

static int64_t offset_of(const struct tipmed_clocks *c)
{
	return (int64_t)(c->boottime_ns - c->monotonic_ns);
}

/*
 * That clock goes on with the other while the machine sleeps, and as fast as it: only who sets it
 * changes this.
 */
static int64_t wall_of(const struct tipmed_clocks *c)
{
	return (int64_t)(c->realtime_ns - c->boottime_ns);
}

void tipmed_suspends_init(struct tipmed_suspends *s, const struct tipmed_clocks *now)
{
	*s = (struct tipmed_suspends){ .lock = PTHREAD_MUTEX_INITIALIZER,
				       .offset_ns = offset_of(now),
				       .wall_ns = wall_of(now),
				       .looked_ns = now->monotonic_ns };
}

/*
 * It never expires; but the kernel cancels it when that clock makes a step, as it does by as much
 * as the machine slept.
 */
void tipmed_suspends_watch_again(int fd)
{
	const struct itimerspec never = { .it_value.tv_sec = LONG_MAX };
	uint64_t times;

	/* ECANCELED, which is what we wait for. */
	if (read(fd, &times, sizeof(times)) < 0 && errno == EAGAIN)
		return;
	timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

int tipmed_suspends_watch(void)
{
	const struct itimerspec never = { .it_value.tv_sec = LONG_MAX };
	int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static bool slept(struct tipmed_suspends *s, const struct tipmed_clocks *now, uint64_t from_ns,
		  uint64_t to_ns)
{
	int64_t slept_ns = offset_of(now) - s->offset_ns;
	bool seen = from_ns >= s->looked_ns && to_ns >= from_ns && to_ns <= now->monotonic_ns;

	if (slept_ns < LEAST_NS)
		return false;
	s->suspend[s->count++ % TIPMED_SUSPENDS_MAX] =
		(struct tipmed_suspend){ seen ? from_ns : s->looked_ns,
					 seen ? to_ns : now->monotonic_ns, (uint64_t)slept_ns };
	s->offset_ns = offset_of(now);
	return true;
}

static void stepped(struct tipmed_suspends *s, const struct tipmed_clocks *now)
{
	int64_t by_ns = wall_of(now) - s->wall_ns;

	if (by_ns > -LEAST_NS && by_ns < LEAST_NS)
		return;
	s->step[s->steps++ % TIPMED_SUSPENDS_MAX] =
		(struct tipmed_clock_step){ s->looked_ns, now->monotonic_ns, by_ns };
	s->wall_ns = wall_of(now);
}

bool tipmed_suspends_look(struct tipmed_suspends *s, const struct tipmed_clocks *now,
			  uint64_t from_ns, uint64_t to_ns)
{
	pthread_mutex_lock(&s->lock);
	bool has_slept = slept(s, now, from_ns, to_ns);

	stepped(s, now);
	s->looked_ns = now->monotonic_ns;
	pthread_mutex_unlock(&s->lock);
	return has_slept;
}

static unsigned int oldest_of(unsigned int count)
{
	return count > TIPMED_SUSPENDS_MAX ? count - TIPMED_SUSPENDS_MAX : 0;
}

unsigned int tipmed_suspends_since(struct tipmed_suspends *s, uint64_t since_ns,
				   struct tipmed_suspend *out)
{
	unsigned int n = 0;

	pthread_mutex_lock(&s->lock);
	for (unsigned int i = oldest_of(s->count); i < s->count; i++)
		if (s->suspend[i % TIPMED_SUSPENDS_MAX].to_ns >= since_ns)
			out[n++] = s->suspend[i % TIPMED_SUSPENDS_MAX];
	pthread_mutex_unlock(&s->lock);
	return n;
}

unsigned int tipmed_clock_steps_since(struct tipmed_suspends *s, uint64_t since_ns,
				      struct tipmed_clock_step *out)
{
	unsigned int n = 0;

	pthread_mutex_lock(&s->lock);
	for (unsigned int i = oldest_of(s->steps); i < s->steps; i++)
		if (s->step[i % TIPMED_SUSPENDS_MAX].to_ns >= since_ns)
			out[n++] = s->step[i % TIPMED_SUSPENDS_MAX];
	pthread_mutex_unlock(&s->lock);
	return n;
}
