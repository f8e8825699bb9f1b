/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel source, whichever this machine has: copies its pool while it records, takes pictures
 * of all threads.
 */
#ifndef TIPME_KERNEL_SOURCE_H
#define TIPME_KERNEL_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "class_numbers.h"
#include "tipme_records.h"

struct tipme_kernel_source;
struct tipme_kallsyms; /* see kallsyms.h */
struct tipme_numbers; /* see kernel_numbers.h */

struct tipme_class {
	const char *name; /* as the schema names the record, where it is one */
	const char *says;
	int on; /* by default */
};

extern const struct tipme_class tipme_classes[TIPME_CLASSES];

int tipme_class_find(const char *name, size_t len); /* number, or -ENOENT */
uint32_t tipme_classes_default(void);
/*
 * "io,signal": these and no others; "+migrate,-io": changes of *mask; also "all" and "none".
 * Returns 0 or -ENOENT, and then leaves the mask as it was.
 */
int tipme_classes_parse(const char *text, uint32_t *mask);

#define TIPME_WAYLAND_PROBES 3

/* An event of the kernel at a function of a library. */
struct tipme_wayland_probe {
	int fd;
	int is_event; /* what the function is called for: events to clients; else their requests */
	uint64_t cookie; /* where it finds what is read: TIPME_WAYLAND_COOKIE() */
};

/* A libwayland-server that can be watched. */
struct tipme_wayland_library {
	uint64_t dev, ino; /* the file */
	uint32_t count, emulated; /* probes; those that take one trap alone */
	struct tipme_wayland_probe probe[TIPME_WAYLAND_PROBES];
	char why[256]; /* where it is refused */
};

/*
 * Offsets of the client in a resource, of its process in a client, of the message's arguments; then
 * which arguments of the function are resource, opcode, and what leads to the message's arguments.
 * helper/bpf/wayland_call.bpf.h takes it apart.
 */
#define TIPME_WAYLAND_COOKIE(client_at, pid_at, args_at, object, opcode, args)          \
	((uint64_t)(client_at) | (uint64_t)(pid_at) << 12 | (uint64_t)(args_at) << 24 | \
	 (uint64_t)(object) << 36 | (uint64_t)(opcode) << 40 | (uint64_t)(args) << 44)

/* Closes its probes. */
void tipme_wayland_library_close(struct tipme_wayland_library *lib);

/* Zero means the default, so a zeroed structure is a good one. */
struct tipme_kernel_options {
	unsigned int window_s; /* seconds to keep: 40 */
	/*
	 * records a second expected of the whole machine: 10000 of each CPU, as far as 2 % of
	 * memory go; at least 20000; half of all that where the pool grows
	 */
	unsigned int rate;
	/* computed: window x rate x 32 and one sub-buffer per possible CPU */
	uint64_t pool_bytes;
	/* 65536, less on machines of many CPUs; a power of two from 4096 */
	unsigned int subbuf_bytes;
	unsigned int stack_min_us; /* sleeps as long as this get their stack recorded: 1000 */
	/* bits by number; only with classes_given, else the default ones */
	uint32_t classes;
	int classes_given;
	/* enum tipme_source: this one or none; 0: the best that there is */
	unsigned int source;
	unsigned int idle_min_us; /* idle states that take as long to leave get records: 50 */
	/*
	 * distinct stacks kept: 4096, those of programs as many as there may be samples; a power of
	 * two up to 32768
	 */
	unsigned int stack_entries;
	/* a test's: stacks that are known again are unwound besides, and compared */
	int stacks_checked;
	/*
	 * May be NULL. As tipme_kernel_event_open(), for when that gives -EACCES: the process may
	 * have given up what it had when it began.
	 */
	int (*event_open)(unsigned int which, int cpu);
	/*
	 * May be NULL: no Wayland compositors. Opens, trusts, calibrates and probes a file. Returns
	 * 0, or -errno and a sentence in lib->why.
	 */
	int (*wayland_open)(const char *path, struct tipme_wayland_library *lib);
	/*
	 * May be NULL. Told once of each file that is watched from now on (err 0), or cannot be
	 * (-errno). On the thread that switches classes or looks.
	 */
	void (*wayland_say)(void *arg, const char *path, int err, const char *why);
	void *wayland_say_arg;
	const char *wayland_library; /* one beside those of the system; NULL: none */
	uint32_t wayland_uids[17]; /* whose compositors */
	unsigned int wayland_users; /* how many of these */
};

/*
 * What the source tells of processes, so that they have names when they are gone. Texts are as the
 * process has them: ends are NUL.
 */
enum { TIPME_LIFE_FORK = 1, TIPME_LIFE_EXEC = 2, TIPME_LIFE_EXIT = 3 };

struct tipme_life {
	uint64_t ts_ns;
	uint64_t start_ns; /* of the process */
	uint32_t kind, pid, ppid, uid;
	uint32_t exit_code;
	uint32_t args_len, args_total, env_len, exe_len;
	uint32_t env_total;
};

struct tipme_life_exec {
	struct tipme_life head;
	char args[2048];
	char exe[256];
	char env[12288]; /* only as much as env_len says is there */
};

/* A piece of a file that a process has mapped as code. */
struct tipme_mapping {
	uint64_t start, end, offset;
	uint64_t bytes; /* of the whole file */
	uint64_t space; /* as in the stacks */
	char path[224]; /* ends in " (deleted)" where another file, or none, has this path now */
};

/* A user stack: innermost first, addresses of this process. */
struct tipme_user_frames {
	uint32_t stack_id, pid, count;
	uint64_t used_ns, first_ns;
	/*
	 * one program's memory in one process: another pid, or another program, is another number
	 */
	uint64_t space;
	uint64_t frames[24];
};

/* From first_ns on nothing of this CPU is missing in the copy but what is counted as lost. */
struct tipme_kernel_coverage {
	uint64_t first_ns;
	/*
	 * up to when the CPU was looked at, not its last record; earlier where something later is
	 * missing
	 */
	uint64_t last_ns;
	uint64_t records;
};

/*
 * What one record costs, in ns of a CPU. The kernel measures the programs in rounds while the
 * recorder starts, and later if somebody has it measure them (kernel.bpf_stats_enabled).
 * The newest rounds count. A round that was disturbed does not move the median.
 */
struct tipme_record_cost {
	uint32_t ns; /* median of the rounds' means; 0: not measured (not permitted, or too few) */
	uint32_t low_ns, high_ns; /* their quartiles */
};

/*
 * Since recording began; take the difference of two for a window. `torn` belongs to a copy and is
 * counted there.
 */
struct tipme_kernel_lost {
	uint64_t pool; /* no sub-buffer was free */
	uint64_t nested; /* writers kept overtaking each other */
	uint64_t
		missed; /* a tracing program was busy already: the kernel did not run it for this */
	uint64_t stack_table; /* no room for another stack: records with stack_id 0 */
	uint64_t sleep_table; /* two threads met in the table of sleeps: records with stack_id 0 */
	/* what became of a process was not told: its arguments or its end are not known */
	uint64_t lives;
};

/*
 * Calls of one program that the kernel left out, since it was running on that CPU already. Some may
 * have made no record: lost.missed counts the others.
 */
#define TIPME_KERNEL_MISSED 16

struct tipme_kernel_missed {
	const char *program; /* as long as the source is open */
	uint64_t calls;
};

struct tipme_kernel_stats {
	uint64_t start_ns; /* when the last program was attached */
	uint64_t records;
	struct tipme_kernel_lost lost;
	/* of each program that has any, as far as there is room */
	struct tipme_kernel_missed missed[TIPME_KERNEL_MISSED];
	unsigned int missed_count;
	uint64_t pool_bytes;
	uint64_t map_bytes; /* pool and all tables */
	unsigned int cpus; /* possible CPUs: as many coverages */
	unsigned int subbufs;
	unsigned int subbuf_bytes;
	unsigned int programs; /* attached */
	/* The last is that of records without a class. */
	struct tipme_record_cost cost[TIPME_CLASSES + 1];
	uint64_t measured_ns; /* when that was; 0: never */
	/*
	 * that is still going on, and makes each record dearer; it ends when somebody asks after 2
	 * s
	 */
	int measuring;
};

struct tipme_kernel_seen;

/*
 * Made by tipme_kernel_copy_alloc(); buf holds `len` bytes: section records, each followed by its
 * records, gen 0.
 */
struct tipme_kernel_copy {
	void *buf;
	size_t size;
	/* of it: memory that is there at any time; the rest is made when it is written */
	size_t kept;
	/* when the pass that goes on had begun: what came later is for the next */
	uint64_t until_ns;
	size_t len;
	uint64_t records;
	/* slots of full sub-buffers that were not whole: always 0 as far as we know */
	uint64_t torn;
	/* the newest records: no room in buf, or overwritten before the copy went on */
	uint64_t cut;
	unsigned int cpus;
	/* cpus of them; a CPU that never recorded has records 0 */
	struct tipme_kernel_coverage *coverage;
	struct tipme_kernel_seen *seen;
	/*
	 * Of what the second of a pair of sources records: its facts, as those above; its records
	 * are in buf. NULL: there is none.
	 */
	struct tipme_kernel_copy *second;
};

/*
 * What a picture gives of one thread: the record, and how often it was switched out: the same
 * number means nothing changed.
 */
struct tipme_kernel_thread {
	struct tipme_thread rec;
	uint64_t switches;
};

/*
 * Begins to record with the best source that this machine permits. Returns 0 or -errno; then `why`
 * is one sentence for the user (what is missing here and what to do). After 0, `why` is empty, or
 * tells why a better source was refused. Close with tipme_kernel_source_close(), which takes NULL.
 */
int tipme_kernel_source_open(struct tipme_kernel_source **src,
			     const struct tipme_kernel_options *opt, char *why, size_t why_len);
void tipme_kernel_source_close(struct tipme_kernel_source *src);

/* What is left out here, since the kernel refuses it: the n-th sentence; NULL: there are no more.
 */
const char *tipme_kernel_source_left_out(const struct tipme_kernel_source *src, unsigned int n);

enum tipme_source tipme_kernel_source_kind(const struct tipme_kernel_source *src);
/* as the schema names it */
const char *tipme_kernel_source_name(const struct tipme_kernel_source *src);
/*
 * The same of the source that records what this one cannot; NULL: there is none. Sections say which
 * of the two wrote.
 */
const char *tipme_kernel_source_beside_name(const struct tipme_kernel_source *src);

/*
 * Readable when the source itself asks for a snapshot (a key on the console, a threshold); -1: this
 * one never does.
 */
int tipme_kernel_source_trigger_fd(struct tipme_kernel_source *src);
/*
 * Then: takes the request, puts into `text` what it was, and into *by which user asked, if one did.
 * Returns 0, or -EAGAIN if there was none. Does not block.
 */
int tipme_kernel_source_trigger_taken(struct tipme_kernel_source *src, uint32_t *by, char *text,
				      size_t len);

/* Classes that are on, and in *able those that this source can record here. */
uint32_t tipme_kernel_source_classes(const struct tipme_kernel_source *src, uint32_t *able);
/*
 * Not on the trigger thread: it may wait for the kernel. Returns 0 or -errno; -ENOTSUP: this source
 * cannot record it here.
 */
int tipme_kernel_source_class_set(struct tipme_kernel_source *src, unsigned int which, int on);
/*
 * To be called each second or so, by whom switches classes: what is recorded of each CPU for itself
 * (samples, page faults) goes on for CPUs that were away. Returns 0, or -errno where the kernel
 * refuses that (-EACCES: perf_event_paranoid); it is tried again at the next call.
 */
int tipme_kernel_source_cpus_look(struct tipme_kernel_source *src);
/*
 * Why a class goes without the software events that are part of it (page faults of
 * TIPME_CLASS_MEMORY) or all of it (TIPME_CLASS_SAMPLE), since it was last to be switched on:
 * -errno (-EACCES: perf_event_paranoid, -EPERM: a filter of system calls), or 0.
 */
int tipme_kernel_source_no_events(struct tipme_kernel_source *src, unsigned int which);
#define TIPME_SAMPLES_PER_S 99 /* of each CPU, while it is busy */

/*
 * The software event by which a class (TIPME_CLASS_SAMPLE or TIPME_CLASS_MEMORY) records on a CPU:
 * a descriptor, or -errno.
 */
int tipme_kernel_event_open(unsigned int which, int cpu);

/*
 * Looks whether there are libraries that class wayland does not watch yet, for one may have been
 * replaced; some seconds apart. Not on the trigger thread.
 */
void tipme_kernel_source_wayland_look(struct tipme_kernel_source *src);
/*
 * The ring of what class wayland records of the first of wayland_uids: a descriptor that can be
 * mapped for reading, and stays the source's; -1: there is none, or the class is off. *memory is
 * another number where the ring is another.
 */
int tipme_kernel_source_wayland_fd(struct tipme_kernel_source *src, uint64_t *memory);

/*
 * Who may run where, in class priority: 1 if each change has its record, -ENOTSUP if pictures have
 * to be compared, which shows that there was one, and -EAGAIN while nobody asks for that class.
 */
int tipme_kernel_source_tells_affinity(const struct tipme_kernel_source *src);

/*
 * Between which moments of CLOCK_MONOTONIC the machine slept, of all sleeps that began at or after
 * `since_ns`: the clock stood still somewhere in there, and the kernel did nothing else. Returns 0,
 * -ENOENT if it did not sleep, or -ENOTSUP where no source sees that.
 */
int tipme_kernel_source_suspended(struct tipme_kernel_source *src, uint64_t since_ns,
				  uint64_t *from_ns, uint64_t *to_ns);

int tipme_kernel_source_stats(struct tipme_kernel_source *src, struct tipme_kernel_stats *stats);
/*
 * What each CPU has now, without a copy and without counting records. Returns the number of CPUs,
 * -EINVAL if `n` is less.
 */
int tipme_kernel_source_coverage(struct tipme_kernel_source *src, struct tipme_kernel_coverage *cov,
				 unsigned int n);

/* Bytes that one copy with its second phase may need: the pool and half of it again. */
size_t tipme_kernel_source_copy_bytes(const struct tipme_kernel_source *src);
/*
 * Allocates all that copies need, and touches each page; lock them with mlockall(). Returns 0 or
 * -errno.
 */
int tipme_kernel_copy_alloc(const struct tipme_kernel_source *src, struct tipme_kernel_copy *c);
/*
 * Once a second, on one thread: has the pool grow before it overwrites what is younger than the
 * window, up to a share of the machine's memory, and gives memory back that was not needed for a
 * minute. Nothing of the window is lost by either. Returns by how many sub-buffers the pool has
 * changed, and in *refused 0, or -errno while it got no memory that it needs. Between a copy and
 * the tipme_kernel_source_copy_more() that ends it nothing is given back.
 */
int tipme_kernel_source_adapt(struct tipme_kernel_source *src, int *refused);
/*
 * The i-th part of this program's own constants that opening alone has used, and its size; NULL:
 * there are no more. A megabyte, for who counts its memory.
 */
const void *tipme_kernel_source_image(unsigned int i, size_t *bytes);
/*
 * Most of a copy's memory is made when it is written to, and given back here, whether it was used
 * or locked. Who locks all of its memory hides that part before, or it would all be made then.
 */
void tipme_kernel_copy_spare_hide(struct tipme_kernel_copy *c);
void tipme_kernel_copy_spare_release(struct tipme_kernel_copy *c);
void tipme_kernel_copy_free(struct tipme_kernel_copy *c);
/*
 * At the trigger: everything; recording goes on. Begins the copy anew. No allocation, and no system
 * call but for what making memory takes. Returns 0, or -ENOSPC if something was cut.
 */
int tipme_kernel_source_copy(struct tipme_kernel_source *src, struct tipme_kernel_copy *c);
/* Later: appends only what is new since. The same returns. */
int tipme_kernel_source_copy_more(struct tipme_kernel_source *src, struct tipme_kernel_copy *c);
/*
 * tipme_kernel_source_copy() in parts, so that who copies a large pool can do something else in
 * between: what was written up to the begin is copied, the oldest first, so that nothing is lost as
 * long as copying is faster than recording. A part ends soon after so many bytes; 1: there is more.
 */
void tipme_kernel_source_copy_begin(struct tipme_kernel_source *src, struct tipme_kernel_copy *c);
int tipme_kernel_source_copy_part(struct tipme_kernel_source *src, struct tipme_kernel_copy *c,
				  size_t bytes);

/*
 * Looks at all threads: fills at most `max`, and `picture` (time of the begin, number seen, time of
 * the end; changed = seen). Returns the number filled, or -errno. Allocates in the kernel only.
 */
int tipme_kernel_source_picture(struct tipme_kernel_source *src, struct tipme_picture *picture,
				struct tipme_kernel_thread *threads, unsigned int max);

/*
 * Calls fn for each recorded stack, innermost frame first; stops at the first value but 0 and
 * returns it.
 */
int tipme_kernel_source_stacks(struct tipme_kernel_source *src,
			       int (*fn)(void *arg, uint32_t stack_id, const uint64_t *frames,
					 unsigned int count),
			       void *arg);

/* Calls fn for each user stack that samples may name. The same return. */
int tipme_kernel_source_user_stacks(struct tipme_kernel_source *src,
				    int (*fn)(void *arg, const struct tipme_user_frames *f),
				    void *arg);

/*
 * To be called each second or so, after a picture, but not between a copy and the emission of its
 * names: stacks that were named last by overwritten records, or before `keep_ns`, make room for
 * others where there is none. Without it they stay for twice the seconds to keep, and a minute.
 * Returns from when on all CPUs that write are covered.
 */
uint64_t tipme_kernel_source_stacks_age(struct tipme_kernel_source *src, uint64_t keep_ns);

/* What code a process has mapped. Returns the number filled, at most `max`, or -errno. */
int tipme_kernel_source_mappings(struct tipme_kernel_source *src, uint32_t pid,
				 struct tipme_mapping *m, unsigned int max);

/*
 * Becomes readable when much has come; look each second anyway. -1: this source tells nothing of
 * processes.
 */
int tipme_kernel_source_lives_fd(struct tipme_kernel_source *src);
/* Calls fn for all that have come since; one thread only. Returns how many, or -errno. */
int tipme_kernel_source_lives_take(struct tipme_kernel_source *src,
				   int (*fn)(void *arg, const struct tipme_life *life), void *arg);
/* The same for stacks of which only the name of the innermost frame is known. */
int tipme_kernel_source_named_stacks(struct tipme_kernel_source *src,
				     int (*fn)(void *arg, uint32_t stack_id, const char *name),
				     void *arg);

/*
 * Emits what names the numbers that tipme_numbers_apply() has put into records, in their order: a
 * `stack` record for each stack that is still known, and a `function` record for each function.
 * ts_ns of them is 0. A kallsyms of NULL gives "?".
 */
int tipme_kernel_source_names(struct tipme_kernel_source *src, const struct tipme_kallsyms *ks,
			      const struct tipme_numbers *numbers,
			      int (*emit)(void *arg, const void *rec, size_t len), void *arg);
/*
 * The same for records as the recorder has them, `len` bytes at `recs` (may be 0), and for all
 * stacks: what is emitted tells where the kernel lies, and is for root's eyes alone.
 */
int tipme_kernel_source_names_bare(struct tipme_kernel_source *src, const struct tipme_kallsyms *ks,
				   const void *recs, size_t len,
				   int (*emit)(void *arg, const void *rec, size_t len), void *arg);

#endif
