/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which locks a CPU spins for. Who spins stays on its CPU, and only interrupts come in between: a
 * few places a CPU, used as a stack. If a place is overwritten by mistake, a record of a short wait
 * is missing, no more.
 *
 * Who waits for a lock may have interrupts on. One may come while a program of lock_contention
 * runs, and wait for a lock, too. The kernel does not run a program again that runs on that CPU, so
 * that begin or end goes unseen. It is always that of a spin: in an interrupt nobody sleeps. Where
 * the begin is missing, the end finds no place. Where the end is missing, the place is still there
 * when the interrupt is over. Either way it is seen how long it was at most. If that is less than
 * what gets a record, nothing is missing, and tipme_spins_unseen counts the call.
 */

__u64 tipme_spin_min_ns; /* 0: no records of spinning locks */
__u64 tipme_spins_unseen;

/* On real-time kernels a softirq may sleep for a lock, as any thread. */
const volatile bool tipme_realtime = false;

#define TIPME_SPIN_NONE 0xffffffff

static __always_inline bool tipme_lock_is_interrupt(const struct tipme_kernel_cpu *c)
{
	return c->irq_depth || (c->softirq_depth && !tipme_realtime);
}

static __always_inline bool tipme_spin_is_long(__u64 begin_ns)
{
	return bpf_ktime_get_ns() - begin_ns >= tipme_spin_min_ns;
}

/*
 * A spin of which a call was left out. It did not begin before this. While the class is switched,
 * begins and ends are missing because their programs are not there.
 */
static __always_inline void tipme_spin_unseen(__u64 begin_ns)
{
	if (tipme_spin_min_ns && !tipme_spin_is_long(begin_ns))
		__sync_fetch_and_add(&tipme_spins_unseen, 1);
}

static __always_inline void tipme_spin_begin(__u64 lock)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();
	__u32 i;

	if (!c)
		return;
	i = c->spins++ % TIPME_SPINS;
	c->spin[i].lock = lock;
	c->spin[i].begin_ns = bpf_ktime_get_ns();
}

/* How many places lie below that of this lock; TIPME_SPIN_NONE: it has none. */
static __always_inline __u32 tipme_spin_find(const struct tipme_kernel_cpu *c, __u64 lock)
{
	__u32 spins = c->spins, k;

	for (k = 1; k <= TIPME_SPINS; k++)
		if (k <= spins && c->spin[(spins - k) % TIPME_SPINS].lock == lock)
			return spins - k;
	return TIPME_SPIN_NONE;
}

static __noinline int tipme_spins_drop(struct tipme_kernel_cpu *c, __u64 since_ns)
{
	__u32 k, i;

	for (k = 0; k < TIPME_SPINS && c->spins; k++) {
		i = (c->spins - 1) % TIPME_SPINS;
		if (c->spin[i].begin_ns < since_ns)
			break;
		tipme_spin_unseen(c->spin[i].begin_ns);
		c->spin[i].lock = 0;
		c->spins--;
	}
	return 0;
}

/* An interrupt that came then is over, and all that was spun for in it. */
static __always_inline void tipme_spins_over(struct tipme_kernel_cpu *c, __u64 since_ns)
{
	if (tipme_unlikely(c->spins))
		tipme_spins_drop(c, since_ns);
}
