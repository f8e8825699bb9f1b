// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which tracepoints have our probes: found by name, registered class by class, so that what is off
 * costs nothing.
 */
#include <linux/module.h>
#include <linux/mutex.h>

#include "tipme.h"

static struct tipme_probes *const tables[] = { &tipme_scheduler_probes, &tipme_waits_probes,
					       &tipme_changes_probes };

/*
 * Looks at what is always measured, so that no probe is registered for them; thresholds as of the
 * other kernel sources.
 */
#define IRQ_MIN_NS (100 * NSEC_PER_USEC)
#define SPIN_MIN_NS (50 * NSEC_PER_USEC)

u64 tipme_irq_min_ns;
u64 tipme_spin_min_ns;

static u32 able, on; /* classes; `on` is what is wanted, and while recording what is */
static bool recording;
static bool core_missing;

#define for_each_probe(t, p)                     \
	for (t = 0; t < ARRAY_SIZE(tables); t++) \
		for (p = tables[t]->probe; p < tables[t]->probe + tables[t]->count; p++)

static void found(struct tracepoint *tp, void *unused)
{
	struct tipme_probe *p;
	unsigned int t;

	for_each_probe(t, p) if (!strcmp(tp->name, p->tracepoint)) p->tp = tp;
}

int tipme_tracepoints_init(void)
{
	struct tipme_probe *p;
	unsigned int t;

	for_each_kernel_tracepoint(found, NULL);
	able = BIT(TIPME_CLASS_IRQ) | (IS_ENABLED(CONFIG_INPUT) ? BIT(TIPME_CLASS_INPUT) : 0);
	for_each_probe(t, p)
	{
		if (p->tp && p->class != TIPME_CLASS_CORE)
			able |= BIT(p->class);
		if (p->tp)
			continue;
		pr_info("this kernel has no tracepoint %s: what it tells is not recorded\n",
			p->tracepoint);
		if (p->needed)
			return -EOPNOTSUPP;
		core_missing |= p->class == TIPME_CLASS_CORE;
	}
	return 0;
}

static void probe_end(struct tipme_probe *p)
{
	if (p->on)
		tracepoint_probe_unregister(p->tp, p->function, NULL);
	p->on = false;
}

static int probe_begin(struct tipme_probe *p)
{
	int err = p->on || !p->tp ? 0 : tracepoint_probe_register(p->tp, p->function, NULL);

	if (!err)
		p->on = p->tp;
	return err;
}

static void class_end(unsigned int class)
{
	struct tipme_probe *p;
	unsigned int t;

	if (class == TIPME_CLASS_IRQ)
		WRITE_ONCE(tipme_irq_min_ns, 0);
	if (class == TIPME_CLASS_LOCK)
		WRITE_ONCE(tipme_spin_min_ns, 0);
	if (class == TIPME_CLASS_INPUT)
		tipme_input_class(false);
	if (class == TIPME_CLASS_MEMORY)
		tipme_faults_end();
	for_each_probe(t, p) if (p->class == class) probe_end(p);
}

static int class_begin(unsigned int class)
{
	struct tipme_probe *p;
	unsigned int t;
	int err;

	for_each_probe(t, p)
	{
		err = p->class == class ? probe_begin(p) : 0;
		if (err) {
			class_end(class);
			return err;
		}
	}
	err = class == TIPME_CLASS_MEMORY ? tipme_faults_begin() : 0;
	if (err) {
		class_end(class);
		return err;
	}
	if (class == TIPME_CLASS_IRQ)
		WRITE_ONCE(tipme_irq_min_ns, IRQ_MIN_NS);
	if (class == TIPME_CLASS_LOCK)
		WRITE_ONCE(tipme_spin_min_ns, SPIN_MIN_NS);
	if (class == TIPME_CLASS_INPUT)
		tipme_input_class(true);
	return 0;
}

u32 tipme_classes_able(void)
{
	return able;
}

u32 tipme_classes_on(void)
{
	return READ_ONCE(on);
}

int tipme_classes_set(u32 mask)
{
	unsigned int class;
	int err;

	lockdep_assert_held(&tipme_control);
	if (mask & ~able)
		return -EOPNOTSUPP;
	for (class = 0; class < TIPME_CLASSES && recording; class ++) {
		if (!((mask ^ on) & BIT(class)))
			continue;
		if (!(mask & BIT(class))) {
			class_end(class);
		} else {
			err = class_begin(class);
			if (err)
				return err;
		}
		on ^= BIT(class);
	}
	on = mask;
	return 0;
}

/* What is always recorded comes first, and goes last: the others rely on its tables. */
int tipme_tracepoints_start(void)
{
	u32 wanted = on;
	int err = class_begin(TIPME_CLASS_CORE);

	if (err)
		return err;
	recording = true;
	on = 0;
	err = tipme_classes_set(wanted);
	if (err)
		tipme_tracepoints_stop();
	return err;
}

/* Waits for probes that are running: from here on the ring may go. */
void tipme_tracepoints_stop(void)
{
	unsigned int class;

	for (class = 0; class < TIPME_CLASSES; class ++)
		class_end(class);
	class_end(TIPME_CLASS_CORE);
	recording = false;
	tracepoint_synchronize_unregister();
}

void tipme_tracepoints_info(struct tipme_info *info)
{
	struct tipme_probe *p;
	unsigned int t;

	info->classes_able = able;
	info->classes = on;
	for_each_probe(t, p) info->probes += p->on;
	info->flags |= core_missing ? TIPME_INFO_NO_PROBE : 0;
	info->flags |= TIPME_HAS_WORK_CPU ? 0 : TIPME_INFO_NO_WORK_CPU;
}
