/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupts and softirqs: their time for the switch records, who raised a softirq, and records of
 * those that last.
 */
#include "spins.bpf.h"

__u64 tipme_irq_min_ns; /* set while recording: 0: no records of long interrupts */

/* Written when it is over, with the time of its beginning. */
static __noinline int tipme_irq_put(__u64 begin_ns, __u64 duration_ns, __u32 number, __u32 kind,
				    __u32 context)
{
	TIPME_RECORD(tipme_irq, TIPME_IRQ, tipme_current_tid());
	if (r) {
		r->ts_ns = begin_ns;
		r->duration_ns = duration_ns < 0xffffffff ? duration_ns : 0xffffffff;
		r->number = number;
		r->raiser_tid = context == TIPME_CONTEXT_SOFTIRQ_TASK ||
						context == TIPME_CONTEXT_SOFTIRQ_MIXED
					? (__u32)c->serving
					: 0;
		r->pad0 = 0;
		r->kind = kind;
		r->context = context;
	}
	return tipme_record_end(c, (void *)r, false, gen);
}

static __always_inline bool tipme_irq_is_long(__u64 ns)
{
	return tipme_irq_min_ns && ns >= tipme_irq_min_ns;
}

static __always_inline int tipme_irq_enter(void)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();

	if (!c)
		return 0;
	tipme_irq_charge(c);
	if (!c->irq_depth++) {
		c->irq_begin_ns = c->irq_mark_ns;
		c->irq_before_ns = c->irq_ns;
	}
	return 0;
}

/* The first exit after attaching may have had no entry. */
static __always_inline int tipme_irq_leave(__u32 kind, __u32 number)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();

	if (!c || !c->irq_depth)
		return 0;
	tipme_irq_charge(c);
	if (--c->irq_depth)
		return 0;
	tipme_spins_over(c, c->irq_begin_ns);
	if (tipme_irq_is_long(c->irq_ns - c->irq_before_ns))
		tipme_irq_put(c->irq_begin_ns, c->irq_ns - c->irq_before_ns, number, kind,
			      TIPME_CONTEXT_HARDIRQ);
	return 0;
}

#define TIPME_IRQ_PROGRAMS(entry, exit, kind)                       \
	SEC("tp_btf/" #entry) int tipme_##entry(void *ctx)          \
	{                                                           \
		return tipme_irq_enter();                           \
	}                                                           \
	SEC("tp_btf/" #exit) int BPF_PROG(tipme_##exit, int number) \
	{                                                           \
		return tipme_irq_leave(kind, number);               \
	}

TIPME_IRQ_PROGRAMS(irq_handler_entry, irq_handler_exit, TIPME_IRQ_KIND_HARDIRQ)
TIPME_IRQ_PROGRAMS(local_timer_entry, local_timer_exit, TIPME_IRQ_KIND_TIMER)
TIPME_IRQ_PROGRAMS(reschedule_entry, reschedule_exit, TIPME_IRQ_KIND_IPI)
TIPME_IRQ_PROGRAMS(call_function_entry, call_function_exit, TIPME_IRQ_KIND_IPI)
TIPME_IRQ_PROGRAMS(call_function_single_entry, call_function_single_exit, TIPME_IRQ_KIND_IPI)
TIPME_IRQ_PROGRAMS(irq_work_entry, irq_work_exit, TIPME_IRQ_KIND_IPI)

SEC("tp_btf/softirq_entry")
int BPF_PROG(tipme_softirq_entry, unsigned int vec)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();
	__u64 by;

	if (!c)
		return 0;
	tipme_irq_charge(c);
	c->softirq_depth = 1;
	c->softirq_begin_ns = c->irq_mark_ns;
	c->softirq_before_ns = c->softirq_ns;
	by = __sync_lock_test_and_set(&c->raised[vec % TIPME_SOFTIRQS], 0);
	c->serving = by ? by : TIPME_RAISED_BY_IRQ;
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(tipme_softirq_exit, unsigned int vec)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();

	if (!c || !c->softirq_depth)
		return 0;
	tipme_irq_charge(c);
	tipme_spins_over(c, c->softirq_begin_ns);
	if (tipme_irq_is_long(c->softirq_ns - c->softirq_before_ns))
		tipme_irq_put(c->softirq_begin_ns, c->softirq_ns - c->softirq_before_ns, vec,
			      TIPME_IRQ_KIND_SOFTIRQ, tipme_softirq_context(c));
	c->softirq_depth = 0;
	c->serving = 0;
	return 0;
}

/* Interrupts are off, so raised[] may be read and written in two steps. */
static __always_inline int tipme_softirq_raised(unsigned int vec, bool counted)
{
	struct tipme_kernel_cpu *c = tipme_this_cpu();
	__u32 tid = tipme_current_tid(), raiser = 0;
	__u8 context;

	if (!c)
		return 0;
	context = tipme_context_of(c, tid, &raiser, counted);
	c->raised[vec % TIPME_SOFTIRQS] =
		tipme_rule_raised(c->raised[vec % TIPME_SOFTIRQS], context, tid, c->serving);
	return 0;
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(tipme_softirq_raise_counted, unsigned int vec)
{
	return tipme_softirq_raised(vec, true);
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(tipme_softirq_raise_plain, unsigned int vec)
{
	return tipme_softirq_raised(vec, false);
}
