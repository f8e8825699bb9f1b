// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cause sampler: what each CPU does, many times a millisecond, kept for a moment; copied out
 * only when a latency was too long.
 */
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>
#include <asm/irq_regs.h>
#include <asm/unwind.h>
#ifdef CONFIG_X86_LOCAL_APIC
#include <asm/apic.h>
#include <asm/nmi.h>
#endif

#include "latency.h"

/* Half a second of them, at 10 kHz. A power of two. */
#define SAMPLES 4096

/*
 * One writer, on the CPU itself: an NMI handler or a hard interrupt, never both (one kind makes all
 * samples). One reader, a thread bound to the CPU: the writer comes between its instructions, but
 * never the other way round. So the reader copies a place, then looks whether the writer has come
 * round to it.
 */
struct cpu_sampler {
	struct tipme_latency_sample *sample;
	u64 head; /* samples ever made; the place of the next is head % SAMPLES */
	u64 copied_ns; /* the reader's: no sample up to here is copied again */
	struct hrtimer timer; /* sends NMIs to another CPU */
	struct perf_event *event;
	int pending; /* an NMI was sent to this CPU, and its handler has not ended */
};

static DEFINE_PER_CPU(struct cpu_sampler, samplers);
static u32 sample_period_us;
static u8 kind;

/*
 * What was interrupted. In an NMI handler the kernel counts that as one level of hard interrupt,
 * too.
 */
static u8 context_interrupted(void)
{
	unsigned int hardirq = (preempt_count() & HARDIRQ_MASK) >> HARDIRQ_SHIFT;

	if (hardirq > 1)
		return TIPME_CONTEXT_HARDIRQ;
	return in_serving_softirq() ? TIPME_CONTEXT_SOFTIRQ_MIXED : TIPME_CONTEXT_TASK;
}

static void take(struct pt_regs *regs)
{
	struct cpu_sampler *s = this_cpu_ptr(&samplers);
	struct tipme_latency_sample *to;
	struct unwind_state state;
	u64 head = s->head;

	if (!s->sample || !regs)
		return;
	to = &s->sample[head % SAMPLES];
	to->ts_ns = tipme_now();
	to->tid = current->pid;
	to->context = context_interrupted();
	to->irqs_off = !(regs->flags & X86_EFLAGS_IF);
	to->user = user_mode(regs);
	to->frames = 0;
	memcpy(to->comm, current->comm, sizeof(to->comm));
	if (!to->user) {
		/* The unwinder begins with who called what was interrupted. */
		to->frame[to->frames++] = regs->ip;
		for (unwind_start(&state, current, regs, NULL);
		     !unwind_done(&state) && to->frames < TIPME_LATENCY_FRAMES;
		     unwind_next_frame(&state)) {
			unsigned long ip = unwind_get_return_address(&state);

			if (!ip)
				break;
			to->frame[to->frames++] = ip;
		}
	}
	/*
	 * After the place is filled. Partner: the reader's two looks at head; both are on this CPU,
	 * so the compiler is all there is to hold.
	 */
	barrier();
	WRITE_ONCE(s->head, head + 1);
}

void tipme_sampler_timer(void)
{
	if (kind == TIPME_SAMPLE_KIND_TIMER_IRQ)
		take(get_irq_regs());
}

#ifdef CONFIG_PERF_EVENTS
/*
 * The counter's overflow is an NMI here. Another counter's, taken over by perf, would be one, too.
 */
static void on_overflow(struct perf_event *event, struct perf_sample_data *data,
			struct pt_regs *regs)
{
	take(regs);
}

static struct perf_event *counter_open(unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.size = sizeof(attr),
		.pinned = 1,
	};

	/* At the nominal frequency; a CPU that runs slower is sampled less often. */
	attr.sample_period = max_t(u64, (u64)tsc_khz * sample_period_us / 1000, 10000);
	return perf_event_create_kernel_counter(&attr, cpu, NULL, on_overflow, NULL);
}

static bool has_counter(void)
{
	struct perf_event *event = counter_open(raw_smp_processor_id());

	if (IS_ERR(event))
		return false;
	perf_event_release_kernel(event);
	return true;
}
#else
static struct perf_event *counter_open(unsigned int cpu)
{
	return ERR_PTR(-EOPNOTSUPP);
}
static bool has_counter(void)
{
	return false;
}
static void perf_event_release_kernel(struct perf_event *event)
{
}
#endif

#ifdef CONFIG_X86_LOCAL_APIC
/*
 * A CPU gets no second NMI from us before its handler has ended the first: so none of ours is
 * merged with another, none comes unknown, and what is not ours we leave to others. An NMI that
 * never arrives (its CPU went offline) would stop the sampling of that CPU; it begins anew when the
 * CPU comes up.
 */
static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	struct cpu_sampler *s = this_cpu_ptr(&samplers);

	if (!READ_ONCE(s->pending))
		return NMI_DONE;
	take(regs);
	/* partner: the sender's load; the next NMI may come at once and waits for this one's end */
	smp_store_release(&s->pending, 0);
	return NMI_HANDLED;
}

static enum hrtimer_restart on_send(struct hrtimer *timer)
{
	struct cpu_sampler *t;
	unsigned int cpu = cpumask_next(smp_processor_id(), cpu_online_mask);

	if (cpu >= nr_cpu_ids)
		cpu = cpumask_first(cpu_online_mask);
	t = per_cpu_ptr(&samplers, cpu);
	/* Only this CPU sends to that one, except while CPUs come and go: hence the exchange. */
	if (cpu != smp_processor_id() && READ_ONCE(t->sample) && !xchg(&t->pending, 1))
		apic->send_IPI(cpu, NMI_VECTOR);
	hrtimer_forward_now(timer, ns_to_ktime((u64)sample_period_us * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

static bool nmi_open(void)
{
	return num_online_cpus() > 1 && !register_nmi_handler(NMI_LOCAL, on_nmi, 0, "tipme");
}

/* Waits for handlers that run. */
static void nmi_close(void)
{
	unregister_nmi_handler(NMI_LOCAL, "tipme");
}
#else
static enum hrtimer_restart on_send(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}
static bool nmi_open(void)
{
	return false;
}
static void nmi_close(void)
{
}
#endif

/* The best first: only NMIs see what runs with interrupts off. */
u8 tipme_sampler_open(u32 period_us)
{
	sample_period_us = period_us;
	if (!period_us)
		kind = 0;
	else if (has_counter())
		kind = TIPME_SAMPLE_KIND_CYCLES;
	else if (nmi_open())
		kind = TIPME_SAMPLE_KIND_NMI_IPI;
	else
		kind = TIPME_SAMPLE_KIND_TIMER_IRQ;
	return kind;
}

int tipme_sampler_cpu_up(unsigned int cpu)
{
	struct cpu_sampler *s = per_cpu_ptr(&samplers, cpu);
	struct tipme_latency_sample *sample;

	if (!kind)
		return 0;
	sample = vzalloc(array_size(SAMPLES, sizeof(*sample)));
	if (!sample)
		return -ENOMEM;
	s->head = s->copied_ns = s->pending = 0;
	if (kind == TIPME_SAMPLE_KIND_CYCLES) {
		s->event = counter_open(cpu);
		if (IS_ERR(s->event)) {
			int err = PTR_ERR(s->event);

			s->event = NULL;
			vfree(sample);
			return err;
		}
	}
	/*
	 * Release: the writer finds an empty ring. It is on this CPU, or sends to it after it has
	 * seen the pointer.
	 */
	smp_store_release(&s->sample, sample);
	if (kind == TIPME_SAMPLE_KIND_NMI_IPI) {
		tipme_hrtimer_setup(&s->timer, on_send, HRTIMER_MODE_REL_PINNED_HARD);
		hrtimer_start(&s->timer, ns_to_ktime((u64)sample_period_us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_PINNED_HARD);
	}
	return 0;
}

/*
 * On this CPU, or it is going. Its own timer first; then nobody writes its samples any more but
 * NMIs on it, which interrupts off do not hold.
 */
void tipme_sampler_cpu_down(unsigned int cpu)
{
	struct cpu_sampler *s = per_cpu_ptr(&samplers, cpu);
	struct tipme_latency_sample *sample = s->sample;

	if (!sample)
		return;
	if (kind == TIPME_SAMPLE_KIND_NMI_IPI)
		hrtimer_cancel(&s->timer);
	if (s->event)
		perf_event_release_kernel(s->event);
	s->event = NULL;
	WRITE_ONCE(s->sample, NULL);
	synchronize_rcu(); /* a handler that has seen the pointer has ended */
	vfree(sample);
}

void tipme_sampler_close(void)
{
	if (kind == TIPME_SAMPLE_KIND_NMI_IPI)
		nmi_close();
	kind = 0;
}

static void record(const struct tipme_latency_sample *from)
{
	struct tipme_sample r = {
		.ts_ns = from->ts_ns,
		.type = TIPME_SAMPLE,
		.tid = from->tid,
		.kernel_stack_id = tipme_stack_put(
			from->frame, min_t(u32, from->frames, TIPME_STACK_FRAMES), from->ts_ns),
		.period_us = sample_period_us,
		.cpu = smp_processor_id(),
		.kind = kind,
		.context = from->context,
	};

	tipme_record(&r);
}

u32 tipme_sampler_copy(u64 from_ns, u64 to_ns, struct tipme_latency_sample *to, u32 max, u32 *lost)
{
	struct cpu_sampler *s = this_cpu_ptr(&samplers);
	u64 i, head = READ_ONCE(s->head), begin = head > SAMPLES / 2 ? head - SAMPLES / 2 : 0;
	u32 n = 0;

	if (!s->sample)
		return 0;
	for (i = begin; i < head; i++) {
		struct tipme_latency_sample one = s->sample[i % SAMPLES];

		/*
		 * the copy before the look whether it was written meanwhile; the writer is on this
		 * CPU
		 */
		barrier();
		if (READ_ONCE(s->head) - i >= SAMPLES) {
			(*lost)++;
			continue;
		}
		if (one.ts_ns < from_ns || one.ts_ns <= s->copied_ns || one.ts_ns > to_ns)
			continue;
		record(&one);
		if (n < max)
			to[n++] = one;
		else
			(*lost)++;
	}
	s->copied_ns = max(s->copied_ns, to_ns);
	return n;
}
