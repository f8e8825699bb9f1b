/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Record classes that say what was changed from outside: signals, priority and affinity,
 * migrations, CPU quota, frequency, idle states.
 */

/* --- signal --- */

/*
 * Those that by default end, stop or continue: HUP INT QUIT ILL ABRT BUS FPE KILL SEGV TERM CONT
 * STOP TSTP TTIN TTOU XCPU XFSZ SYS.
 */
#define TIPME_SIGNALS                                                                            \
	(1U << 1 | 1U << 2 | 1U << 3 | 1U << 4 | 1U << 6 | 1U << 7 | 1U << 8 | 1U << 9 |         \
	 1U << 11 | 1U << 15 | 1U << 18 | 1U << 19 | 1U << 20 | 1U << 21 | 1U << 22 | 1U << 24 | \
	 1U << 25 | 1U << 31)

static __always_inline int tipme_signal(int sig, struct task_struct *p, int result, bool counted)
{
	__u32 tid = tipme_current_tid(), raiser = 0;

	if (sig < 1 || sig > 31 || !(TIPME_SIGNALS & 1U << sig))
		return 0;
	TIPME_RECORD(tipme_signal, TIPME_SIGNAL, p->pid);
	if (r) {
		r->sender_tid = tid;
		r->pid = p->tgid;
		r->signal = sig;
		r->context = tipme_context_of(c, tid, &raiser, counted);
		r->result = result;
		r->pad0 = 0;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

SEC("tp_btf/signal_generate")
int BPF_PROG(tipme_signal_counted, int sig, void *info, struct task_struct *p, int group,
	     int result)
{
	return tipme_signal(sig, p, result, true);
}

SEC("tp_btf/signal_generate")
int BPF_PROG(tipme_signal_plain, int sig, void *info, struct task_struct *p, int group, int result)
{
	return tipme_signal(sig, p, result, false);
}

/* --- priority: lent by who waits for a lock --- */

SEC("tp_btf/sched_pi_setprio")
int BPF_PROG(tipme_priority_lent, struct task_struct *p, struct task_struct *lender)
{
	int old = p->prio, new = p->normal_prio;
	__u32 by = 0;

	if (lender) {
		by = lender->pid;
		new = lender->prio < new ? lender->prio : new;
	}
	if (old == new)
		return 0;
	TIPME_RECORD(tipme_priority, TIPME_PRIORITY, p->pid);
	if (r) {
		r->changer_tid = by;
		r->old_prio = old;
		r->new_prio = new;
		r->inherited = 1;
		r->policy = 255;
		r->pad0 = 0;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

/*
 * --- priority: set by somebody, where functions of the kernel may be hooked: no tracepoint tells
 * it, else the next switch shows it ---
 */

static __always_inline struct tipme_priority_before *tipme_priority_place(void)
{
	__u32 i = tipme_current_tid() % TIPME_PRIORITIES;

	return bpf_map_lookup_elem(&tipme_priorities, &i);
}

static __always_inline int tipme_priority_begin(struct task_struct *p)
{
	struct tipme_priority_before *b = tipme_priority_place();

	if (!b)
		return 0;
	b->changer = tipme_current_tid();
	b->tid = p->pid;
	b->prio = p->prio;
	b->policy = p->policy;
	return 0;
}

/* What was refused has changed nothing. */
static __always_inline int tipme_priority_end(struct task_struct *p)
{
	struct tipme_priority_before *b = tipme_priority_place();
	__u32 tid = p->pid, policy = p->policy;
	int old, new = p->prio;

	if (!b || b->changer != tipme_current_tid() || b->tid != tid)
		return 0;
	old = b->prio;
	if (old == new && b->policy == policy)
		return 0;
	TIPME_RECORD(tipme_priority, TIPME_PRIORITY, tid);
	if (r) {
		r->changer_tid = tipme_current_tid();
		r->old_prio = old;
		r->new_prio = new;
		r->inherited = 0;
		r->policy = policy;
		r->pad0 = 0;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

SEC("fentry/set_user_nice")
int BPF_PROG(tipme_priority_nice_begin, struct task_struct *p)
{
	return tipme_priority_begin(p);
}

SEC("fexit/set_user_nice")
int BPF_PROG(tipme_priority_nice_end, struct task_struct *p)
{
	return tipme_priority_end(p);
}

SEC("fentry/__sched_setscheduler")
int BPF_PROG(tipme_priority_policy_begin, struct task_struct *p)
{
	return tipme_priority_begin(p);
}

SEC("fexit/__sched_setscheduler")
int BPF_PROG(tipme_priority_policy_end, struct task_struct *p)
{
	return tipme_priority_end(p);
}

/*
 * --- priority: on which CPUs a thread may run; all ways of changing that end here, with the thread
 * locked ---
 */

static __always_inline struct tipme_affinity_before *tipme_affinity_place(void)
{
	__u32 i = tipme_current_tid() % TIPME_AFFINITIES;

	return bpf_map_lookup_elem(&tipme_affinities, &i);
}

SEC("fentry/set_cpus_allowed_common")
int BPF_PROG(tipme_priority_affinity_begin, struct task_struct *p)
{
	struct tipme_affinity_before *b = tipme_affinity_place();

	if (!b)
		return 0;
	b->changer = tipme_current_tid();
	b->tid = p->pid;
	b->cpus = p->cpus_mask.bits[0];
	return 0;
}

/*
 * Keeping a thread on its CPU for a moment (migrate_disable()) comes here, too, and changes no mask
 * of its own.
 */
SEC("fexit/set_cpus_allowed_common")
int BPF_PROG(tipme_priority_affinity_end, struct task_struct *p)
{
	struct tipme_affinity_before *b = tipme_affinity_place();
	__u32 tid = p->pid, changer = tipme_current_tid();
	__u64 cpus = p->cpus_mask.bits[0];

	if (!b || b->changer != changer || b->tid != tid || b->cpus == cpus)
		return 0;
	TIPME_RECORD(tipme_affinity, TIPME_AFFINITY, tid);
	if (r) {
		r->cpus_allowed = cpus;
		r->changer_tid = changer;
		r->within_ns = 0;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

/* --- migrate --- */

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(tipme_migrate_task, struct task_struct *p, int to)
{
	TIPME_RECORD(tipme_migrate, TIPME_MIGRATE, p->pid);
	if (r) {
		r->from_cpu = p->thread_info.cpu;
		r->to_cpu = to;
		r->mover_tid = tipme_current_tid();
		r->pad0 = 0;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

/* --- cpu_throttle: exact, where functions of the kernel may be hooked --- */

/* By the scheduler's own clock, which it has just read or will in a moment. */
static __always_inline __u32 tipme_throttled_us(struct cfs_rq *rq)
{
	__u64 since, now;

	if (!bpf_core_field_exists(rq->throttled_clock))
		return 0;
	since = rq->throttled_clock;
	now = rq->rq->clock;
	return since && now > since ? (now - since) / 1000 : 0;
}

static __always_inline int tipme_throttle(struct cfs_rq *rq, __u32 phase)
{
	TIPME_RECORD(tipme_cpu_throttle, TIPME_CPU_THROTTLE, tipme_current_tid());
	if (r) {
		r->cgroup = rq->tg->css.cgroup->kn->id;
		r->throttled_us = phase == TIPME_PHASE_END ? tipme_throttled_us(rq) : 0;
		r->cpu = rq->rq->cpu;
		r->phase = phase;
		r->pad0 = 0;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

SEC("fentry/throttle_cfs_rq")
int BPF_PROG(tipme_throttle_begin, struct cfs_rq *rq)
{
	return tipme_throttle(rq, TIPME_PHASE_BEGIN);
}

SEC("fentry/unthrottle_cfs_rq")
int BPF_PROG(tipme_throttle_end, struct cfs_rq *rq)
{
	return tipme_throttle(rq, TIPME_PHASE_END);
}

/* --- cpu_frequency --- */

SEC("tp_btf/cpu_frequency")
int BPF_PROG(tipme_frequency, unsigned int khz, unsigned int of_cpu)
{
	TIPME_RECORD(tipme_cpu_frequency, TIPME_CPU_FREQUENCY, 0);
	if (r) {
		r->khz = khz;
		r->cpu = of_cpu;
		r->pad0 = 0;
		r->pad1 = 0;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

/* --- cpu_idle: waking up from a state that takes long to leave --- */

__u32 tipme_idle_latency_ns[TIPME_IDLE_STATES]; /* as the kernel says it; 0: not worth a record */

static __noinline int tipme_idle_put(__u32 state, __u64 idle_ns)
{
	TIPME_RECORD(tipme_cpu_idle, TIPME_CPU_IDLE, 0);
	if (r) {
		r->idle_ns = idle_ns < 0xffffffff ? idle_ns : 0xffffffff;
		r->exit_latency_ns = tipme_idle_latency_ns[state % TIPME_IDLE_STATES];
		r->state = state;
		r->cpu = cpu;
		r->pad0 = 0;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

SEC("tp_btf/cpu_idle")
int BPF_PROG(tipme_idle, unsigned int state, unsigned int of_cpu)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();

	if (!c)
		return 0;
	if (state != (__u32)-1) {
		c->idle_state = state;
		c->idle_begin_ns = state < TIPME_IDLE_STATES && tipme_idle_latency_ns[state]
					   ? bpf_ktime_get_ns()
					   : 0;
		return 0;
	}
	if (c->idle_begin_ns)
		tipme_idle_put(c->idle_state, bpf_ktime_get_ns() - c->idle_begin_ns);
	c->idle_begin_ns = 0;
	return 0;
}
