/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of tipme.ko offer each other. */
#ifndef TIPME_H
#define TIPME_H

#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/tracepoint.h>
#include <linux/types.h>

#include "tipme_compat.h"
#include "rules.h"
#include "tables.h"
#include "class_numbers.h"
#include "tipme_uapi.h"

#undef pr_fmt
#define pr_fmt(fmt) "tipme: " fmt

/* The clock of all records; safe in any context. */
static inline u64 tipme_now(void)
{
	return ktime_get_mono_fast_ns();
}

/* --- parts: main.c has the table; they begin in its order and end in the reverse one --- */

struct tipme_part {
	const char *name;
	/*
	 * When the module is loaded. May be NULL. Returns 0 or -errno, and then leaves nothing
	 * behind.
	 */
	int (*init)(void);
	void (*exit)(void);
	/*
	 * When recording begins, with tipme_control held: the ring is there. May be NULL. The same
	 * returns.
	 */
	int (*start)(void);
	/*
	 * When it ends, while the ring is still there: from its return on nothing of this part
	 * writes.
	 */
	void (*stop)(void);
	/*
	 * An ioctl of /dev/tipme that no other part knows. -ENOIOCTLCMD: not one of mine. No lock
	 * is held. May be NULL.
	 */
	long (*ioctl)(struct file *file, unsigned int cmd, unsigned long arg);
};

int tipme_parts_start(void);
void tipme_parts_stop(void);
long tipme_parts_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

extern struct mutex tipme_control; /* recording, classes */

/* --- ring.c --- */

int tipme_ring_make(struct tipme_start *start); /* tipme_control held */
/* Waits for who writes; the memory goes with it. tipme_control held. */
void tipme_ring_free(void);
int tipme_ring_mmap(struct vm_area_struct *vma);
bool tipme_ring_live(void);

/*
 * Writes a record of 32 bytes whose ts_ns, type, tid and body are filled in; len8 and gen are not
 * looked at. In any context, NMI included, also while nothing records: then it goes nowhere. Never
 * waits; counts what is lost.
 */
void tipme_record(const void *rec);

#define TIPME_NEW_RECORD(record, number, about) \
	struct record r = { .ts_ns = tipme_now(), .type = number, .tid = about }

/* Who does something now, for the record's `context`. */
u8 tipme_context_here(u32 *raiser_tid);

/* --- stack.c --- */

/* In any context. Id of a stack in the table, 0: none, or no room (which is counted). */
u32 tipme_stack_put(const u64 *frames, u32 count, u64 now);
/* Stacks that were last named before this may make room for others. */
void tipme_stacks_old(u64 before_ns);
/*
 * The stack of a blocked thread: its pi_lock is held (so that it stays blocked), or it is being
 * woken.
 */
u32 tipme_stack_of_sleeper(struct task_struct *p, u64 now);

/* --- trigger.c --- */

/* Asks for a snapshot. In any context, NMI included, whatever locks are held. */
void tipme_trigger(enum tipme_trigger_reason reason, u32 value, u64 measured_ns);
void tipme_trigger_counts(struct tipme_info *info);
void tipme_trigger_refused(void);
int tipme_trigger_init(void);
void tipme_trigger_exit(void);
ssize_t tipme_trigger_read(struct file *file, char __user *to, size_t len, loff_t *pos);
__poll_t tipme_trigger_poll(struct file *file, struct poll_table_struct *wait);
int tipme_trigger_fasync(int fd, struct file *file, int on);

/* --- tracepoints.c --- */

#define TIPME_CLASS_CORE 31 /* always recorded; no bit of its own */

struct tipme_probe {
	const char *tracepoint;
	void *function;
	u8 class;
	bool needed; /* recording without it makes no sense */
	struct tracepoint *tp; /* the kernel's, once found */
	bool on;
};

/*
 * A kernel that has no such tracepoint, or whose tracepoint has another prototype, must be told at
 * compile time.
 */
#define TIPME_PROBE(name, of_class, is_needed)                                         \
	{                                                                              \
		.tracepoint = #name, .function = (void *)on_##name, .class = of_class, \
		.needed = is_needed                                                    \
	}
#define TIPME_PROBE_CHECK(name) check_trace_callback_type_##name(on_##name)

struct tipme_probes {
	struct tipme_probe *probe;
	unsigned int count;
};

extern struct tipme_probes tipme_scheduler_probes, tipme_waits_probes, tipme_changes_probes;

int tipme_tracepoints_init(void);
int tipme_tracepoints_start(void);
void tipme_tracepoints_stop(void);
u32 tipme_classes_able(void);
u32 tipme_classes_on(void); /* also those that are asked for while nothing records */
/* tipme_control held. -EOPNOTSUPP: one cannot be recorded here; nothing has changed */
int tipme_classes_set(u32 mask);
void tipme_tracepoints_info(struct tipme_info *info);

/* Thresholds of classes that are a look at what is always measured: 0 while the class is off. */
extern u64 tipme_irq_min_ns;
extern u64 tipme_spin_min_ns;
extern unsigned int tipme_wakeup_threshold_us; /* a sysctl; 0: off */

/* --- picture.c --- */
long tipme_picture_take(struct tipme_picture_request *request);

/* --- scheduler.c: what it knows of a thread --- */
u64 tipme_state_since(struct task_struct *p, u8 state);
u8 tipme_state_of_flags(u32 flags);
bool tipme_is_blocked(u8 state);
/* Its last sleep in state disk_sleep, or another thread's. */
const struct tipme_disk_sleep *tipme_disk_sleep_of(u32 tid);

/* --- faults.c --- */
#if IS_ENABLED(CONFIG_PERF_EVENTS)
int tipme_faults_init(void);
void tipme_faults_exit(void);
/* With tipme_control held. */
int tipme_faults_begin(void);
void tipme_faults_end(void);
#else
static inline int tipme_faults_init(void)
{
	return 0;
}
static inline void tipme_faults_exit(void)
{
}
static inline int tipme_faults_begin(void)
{
	return 0;
}
static inline void tipme_faults_end(void)
{
}
#endif

/* --- selftest.c: compiled only for tests --- */
long tipme_selftest_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* --- device.c, sysctl.c, input.c --- */
int tipme_device_init(void);
void tipme_device_exit(void);
int tipme_sysctl_init(void);
void tipme_sysctl_exit(void);
extern int tipme_hotkeys, tipme_record_key_codes;
#if IS_ENABLED(CONFIG_INPUT)
int tipme_input_init(void);
void tipme_input_exit(void);
void tipme_input_class(bool on);
#else
static inline int tipme_input_init(void)
{
	return 0;
}
static inline void tipme_input_exit(void)
{
}
static inline void tipme_input_class(bool on)
{
}
#endif

#endif
