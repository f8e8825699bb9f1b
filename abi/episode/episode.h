/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reader of episodes: the manifest's facts, sections, records, and what is made of them as columns.
 *
 * An episode comes from a stranger. The reader bounds every length, follows no link and opens no
 * device. A damaged episode opens as far as it goes; tipme_episode_damage() says where it ended.
 * Formats: docs/formats.md; records: abi/generated/record-format.md.
 *
 * All times are CLOCK_MONOTONIC nanoseconds (ns). All intervals are half-open: [from, to).
 * Functions return 0 or -errno unless a comment says otherwise. -EPROTO: a refused episode.
 * What one function gives belongs to the object it came from, and lives as long as that.
 * One object may be used by one thread at a time; tipme_episode_open() may run in any thread.
 */
#ifndef TIPME_EPISODE_H
#define TIPME_EPISODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "record_walk.h"
#include "tipme_records.h"

/* ---- one record ---- */

#define TIPME_EVENT_SIZE 32U /* bytes of a kernel record that this minor version knows */
#define TIPME_EVENT_FIRST TIPME_SCHED_SWITCH
#define TIPME_EVENT_LAST TIPME_NETWORK
/* Beside them, also in kernel sections: of Wayland compositors and screens. */
#define TIPME_EVENT_WAYLAND_FIRST TIPME_WL_DELIVER
#define TIPME_EVENT_WAYLAND_LAST TIPME_SCREEN_SHOWN

/* Writes why tipme_record_next() found no record at `at`, in the words of the Perl reader. */
void tipme_walk_why(const struct tipme_walk *w, char *why, size_t size);

/* A field of a record, 0 where the record is shorter (an older minor version). */
uint64_t tipme_record_field(const struct tipme_rec *r, size_t offset, size_t size);

#define TIPME_FIELD(rec, kind, name)                                 \
	tipme_record_field(rec, offsetof(struct tipme_##kind, name), \
			   sizeof(((struct tipme_##kind *)0)->name))

/*
 * Copies `size` (at least 1) bytes of text at most, ends it with NUL; `max` 0: up to the record's
 * end.
 */
void tipme_record_text(const struct tipme_rec *r, size_t offset, size_t max, char *to, size_t size);

/* The first 32 bytes of a kernel record; what an older record lacks is 0. */
void tipme_record_event(const struct tipme_rec *r, uint8_t to[TIPME_EVENT_SIZE]);

/* ---- an episode ---- */

struct tipme_episode;

struct tipme_coverage {
	uint32_t source; /* enum tipme_source; 0: a name that this version does not know */
	uint32_t cpu;
	uint64_t first_ns, last_ns; /* complete between these, but for what `lost` counts */
	uint64_t records;
};

struct tipme_source_facts {
	uint32_t source; /* enum tipme_source or 0 */
	char name[32]; /* as the manifest has it */
	char file[68];
	char server_name[32]; /* X sources, else empty */
	uint32_t server_pid, server_tid, display; /* X sources, else 0 */
	uint64_t lost; /* records lost, all causes together */
};

/* When the machine slept: at some time in [from_ns, to_ns], for slept_ns, which no clock counts. */
struct tipme_suspend {
	uint64_t from_ns, to_ns, slept_ns;
};

struct tipme_episode_facts {
	uint32_t major, minor; /* of the manifest */
	char id[84], time[32], kernel[80], trigger_kind[16], trigger_text[256];
	uint32_t cpus;
	uint64_t trigger_ns;
	uint64_t before_ns; /* when an earlier episode was asked for; 0: it was not */
	uint64_t end_ns; /* the last recorded time */
	uint32_t recorder_pid; /* 0: not known */
	/* made by `tipme bundle`: only the records of bundle_from_ns to bundle_to_ns */
	bool has_bundle;
	uint64_t bundle_from_ns, bundle_to_ns;
	uint64_t lost; /* records lost, all sources together */
	const struct tipme_source_facts *sources;
	const struct tipme_coverage *coverage;
	const struct tipme_suspend *suspends;
	const uint32_t *agents; /* processes that talked with the user for the recorder */
	size_t source_count, coverage_count, suspend_count, agent_count;
};

struct tipme_episode_section {
	uint32_t file; /* number of the file, see tipme_episode_file() */
	uint32_t source; /* enum tipme_source as a number; larger ones are of a later minor */
	uint32_t cpu;
	uint64_t first_ns, last_ns, count; /* as its head says */
	uint64_t offset, body_len; /* bytes of its records in the file; body_len is what is there */
	uint64_t number; /* records before it in its file */
	bool cut; /* the file ends inside it */
};

/*
 * Opens the folder of an episode. 0, or -errno and one sentence in `why` (size 256 is enough):
 * -ENOENT no such folder or file, -EPROTO not an episode or one of another format, -ENOMEM.
 * Only the manifest and the sections' heads are read.
 */
int tipme_episode_open(struct tipme_episode **ep, const char *dir, char *why, size_t size);

/* Accepts NULL. */
void tipme_episode_close(struct tipme_episode *ep);

const struct tipme_episode_facts *tipme_episode_facts(const struct tipme_episode *ep);

/* Sections in order of first_ns, then file name, then place. */
const struct tipme_episode_section *tipme_episode_sections(const struct tipme_episode *ep,
							   size_t *count);

/* Name of a file (number as in a section), and how many there are. NULL beyond. */
const char *tipme_episode_file(const struct tipme_episode *ep, uint32_t file);

/* What could not be read, in sentences; at most 1,000 are kept. */
size_t tipme_episode_damage_count(const struct tipme_episode *ep);
const char *tipme_episode_damage(const struct tipme_episode *ep, size_t i);

/* Half-open. */
struct tipme_episode_span {
	uint64_t from_ns, to_ns;
	uint64_t records_ns; /* where its records begin: from_ns, or later */
};

/*
 * What an episode tells of: the kernel's records or, where it has none, those of display servers
 * (a quiet one keeps minutes). It begins at `about_ns`, if records that are asked about then begin
 * later (0: nothing is asked about): what a thread did before its first record follows from that
 * one.
 */
struct tipme_episode_span tipme_episode_span(const struct tipme_episode *ep, uint64_t about_ns);

/* Records with a number that this version does not know, counted while sections were read. */
uint64_t tipme_episode_unknown(const struct tipme_episode *ep);

/*
 * The user's words: copies them, NUL-ended, cut to size; returns their length, 0 without, or
 * -errno.
 */
int tipme_episode_note(const struct tipme_episode *ep, char *to, size_t size);

/*
 * The records of one section: *bytes is allocated, free() it. Walk it with tipme_record_next().
 * A section that ends early is noted as damage.
 */
int tipme_section_read(struct tipme_episode *ep, const struct tipme_episode_section *s,
		       uint8_t **bytes, size_t *len);

/* Calls each() with every record of one section that is whole, in the order of the file. */
int tipme_section_each(struct tipme_episode *ep, const struct tipme_episode_section *s,
		       int (*each)(void *arg, const struct tipme_rec *r), void *arg);

/* ---- kernel records as columns ---- */

#define TIPME_NONE UINT32_MAX /* no such record */

/* Lists of indices, by key: those of key[k] are index[first[k]] ... index[first[k + 1] - 1]. */
struct tipme_groups {
	uint32_t count; /* of keys, in ascending order */
	const uint32_t *key, *first, *index;
};

/*
 * All kernel records of a stretch, in one order of time (records of one time: by section, then
 * place). a, b, c, d are the four numbers behind a record's head, as the record's layout names
 * them.
 */
struct tipme_events {
	uint32_t count;
	const uint64_t *ts_ns;
	/*
	 * TIPME_EVENT_FIRST to TIPME_EVENT_LAST, TIPME_EVENT_WAYLAND_FIRST to
	 * TIPME_EVENT_WAYLAND_LAST
	 */
	const uint8_t *type;
	const uint16_t *cpu;
	const uint32_t *tid, *a, *b, *c, *d;
	const uint32_t *section; /* which of the sections that were loaded; sections[] maps it */
	const uint32_t *nr; /* which record of that section, from 1 */
	struct tipme_groups by_tid; /* switches (both threads), wakings, forks (the child) */
	struct tipme_groups by_cpu; /* switches */
	struct tipme_groups by_kind; /* all but switches and wakings, by type */
	uint64_t from_ns, to_ns; /* asked for; columns may begin before, never end after */
	uint64_t exact_ns; /* from here on the records of all CPUs are complete */
	bool sampled; /* only samples of /proc are there */
	const uint32_t *sections; /* numbers in tipme_episode_sections() */
	uint32_t section_count;
	void *map; /* private */
	size_t map_len;
};

/*
 * Loads the kernel records of [from, to]: sections whole, and of each CPU one section more before
 * `from`, so that who ran at `from` is known. -E2BIG: more than 64 Mi records.
 */
int tipme_events_load(struct tipme_events *ev, struct tipme_episode *ep, uint64_t from_ns,
		      uint64_t to_ns);
void tipme_events_free(struct tipme_events *ev);

/* Index of the first record at or after a time; `count` if there is none. */
uint32_t tipme_events_at(const struct tipme_events *ev, uint64_t ts_ns);

/* Indices of a key; *count 0 where there are none. */
const uint32_t *tipme_group(const struct tipme_groups *g, uint32_t key, uint32_t *count);

/* ---- who a thread was ---- */

struct tipme_threads;

struct tipme_who {
	uint32_t tid, pid, ppid;
	uint64_t start_ns; /* 0: not known */
	bool kernel; /* a kernel thread */
	bool known; /* false: nobody saw it; the name is "?" */
	uint8_t prio;
	char comm[64]; /* at most 15 characters, but for a damaged episode; may hold any byte */
};

/* A thread as a picture saw it. */
struct tipme_thread_picture {
	uint64_t ts_ns, start_ns, since_ns, cgroup, cpus_allowed;
	uint32_t tid, pid, ppid, stack_id, uid, flags, rss_kib;
	uint16_t cpu;
	uint8_t state, prio; /* enum tipme_task_state; kernel priority */
	char comm[17];
};

/* Reads pictures, processes, stacks and names; `ev` (or NULL) adds its forks and renames. */
int tipme_threads_load(struct tipme_threads **th, struct tipme_episode *ep,
		       const struct tipme_events *ev);
void tipme_threads_free(struct tipme_threads *th);

void tipme_threads_at(const struct tipme_threads *th, uint32_t tid, uint64_t ts_ns,
		      struct tipme_who *who);

/* From when to when the answer about a thread at a time stays the same: [*from_ns, *to_ns). */
void tipme_threads_same(const struct tipme_threads *th, uint32_t tid, uint64_t ts_ns,
			uint64_t *from_ns, uint64_t *to_ns);

/* Pictures of a thread in order of time; *count 0: none. */
const struct tipme_thread_picture *tipme_threads_pictures(const struct tipme_threads *th,
							  uint32_t tid, size_t *count);

/* Threads that a picture saw, ascending. */
const uint32_t *tipme_threads_tids(const struct tipme_threads *th, size_t *count);

/* Text of a kernel stack: frames innermost first, joined by ';'. NULL: not there. */
const char *tipme_threads_stack(const struct tipme_threads *th, uint32_t stack_id);

/* ---- what threads and CPUs did ---- */

enum tipme_interval_kind {
	TIPME_INTERVAL_RUNNING = 0,
	TIPME_INTERVAL_RUNNABLE = 1, /* waits for a CPU */
	TIPME_INTERVAL_BLOCKED = 2,
	TIPME_INTERVAL_ABSENT = 3, /* the thread did not exist */
};

/* Why a thread is runnable. */
enum tipme_interval_how {
	TIPME_HOW_UNKNOWN = 0,
	TIPME_HOW_PREEMPTED = 1,
	TIPME_HOW_WOKEN = 2,
	TIPME_HOW_RACED = 3, /* woken on its way to sleep: it never slept */
	TIPME_HOW_FORKED = 4,
};

#define TIPME_INTERVAL_GUESSED 1U /* no record says it; it must have been so */
#define TIPME_INTERVAL_SATURATED 2U /* irq_ns or softirq_ns: that or more */
#define TIPME_INTERVAL_NO_CPU 4U /* cpu is not known */
#define TIPME_INTERVAL_CLIPPED 8U /* it began before from_ns */

/* One interval of one thread, in rows of columns. Rules: docs/method.md. */
struct tipme_states {
	uint32_t count;
	const uint64_t *from_ns, *to_ns;
	const uint32_t *tid;
	const uint8_t *kind; /* enum tipme_interval_kind */
	const uint8_t *state; /* blocked: enum tipme_task_state; else TIPME_TASK_STATE_UNKNOWN */
	const uint8_t *how; /* runnable: enum tipme_interval_how */
	const uint8_t *flags;
	const uint16_t *cpu; /* running: where; runnable: where it was put */
	const uint8_t *prio; /* running, where the switch says it; else 0 */
	const uint32_t *irq_ns, *softirq_ns; /* running: interrupts in it */
	const uint32_t *wake; /* index of the waking that ended (blocked) or began (runnable) it */
	const uint32_t *waker_tid; /* of that waking; 0: none, or an interrupt */
	const uint32_t *stack_id; /* blocked: reason; tipme_threads_stack(); 0: none */
	const uint32_t *by; /* index of the switch or fork that began it */
	void *memory; /* private */
};

/*
 * Intervals of `tids` (in that order) that cover [from, to) without gap or overlap; those of one
 * thread stand together, in order. Samples of /proc are used where there is no better source.
 */
int tipme_states_make(struct tipme_states *st, const struct tipme_events *ev,
		      const struct tipme_threads *th, const uint32_t *tids, size_t tid_count,
		      uint64_t from_ns, uint64_t to_ns);
void tipme_states_free(struct tipme_states *st);

/* Who ran on a CPU. Idle: tid 0. Not known: TIPME_NONE. */
struct tipme_cpu_intervals {
	uint32_t count;
	const uint64_t *from_ns, *to_ns;
	const uint16_t *cpu;
	const uint32_t *tid;
	const uint8_t *prio;
	const uint32_t *by; /* index of the switch that says so, or TIPME_NONE */
	void *memory;
};

/* Covers [from, to) of each CPU that has switches, CPU after CPU, without gap or overlap. */
int tipme_cpu_intervals_make(struct tipme_cpu_intervals *ci, const struct tipme_events *ev,
			     const struct tipme_threads *th, uint64_t from_ns, uint64_t to_ns);
void tipme_cpu_intervals_free(struct tipme_cpu_intervals *ci);

/* ---- what lasted beside threads ---- */

/*
 * Requests in disks (TIPME_IO: from issue to completion), waits for kernel locks
 * (TIPME_LOCK_CONTENTION), interrupts that were long (TIPME_IRQ); by type, then from_ns. They may
 * overlap. What has no end in the records is open: it lasts up to to_ns of tipme_waits_make().
 */
struct tipme_waits {
	uint32_t count;
	const uint64_t *from_ns, *to_ns;
	const uint64_t *asked_ns; /* disk: when it was asked for, else from_ns */
	const uint32_t *tid; /* who asked (0: not known), waited, or was interrupted */
	const uint32_t *number; /* the device; who had the lock (0: not known); line or vector */
	const uint16_t *cpu; /* where it began */
	const uint8_t *type;
	const uint8_t *kind; /* enum tipme_io_op, tipme_lock_kind or tipme_irq_kind */
	const uint8_t *open; /* 1: the records have no end of it */
	void *memory; /* private */
};

int tipme_waits_make(struct tipme_waits *w, const struct tipme_events *ev, uint64_t to_ns);
void tipme_waits_free(struct tipme_waits *w);

/* What records name by a number: user stacks, files of code, disks, interrupt lines. */
struct tipme_names;

int tipme_names_load(struct tipme_names **nm, struct tipme_episode *ep);

/* Accepts NULL. */
void tipme_names_free(struct tipme_names *nm);

/* NULL: not known. */
const char *tipme_names_disk(const struct tipme_names *nm, uint32_t dev);
const char *tipme_names_irq(const struct tipme_names *nm, uint32_t line);

/*
 * The stack of a sample, kernel and user, innermost frame first, each "function TAB module
 * NEWLINE": cut to size (at least 1), NUL-ended. Returns its length; 0: nothing is known.
 */
size_t tipme_names_frames(const struct tipme_names *nm, const struct tipme_threads *th,
			  uint32_t kernel_id, uint32_t user_id, char *to, size_t size);

/* ---- input events and what the X server did ---- */

/*
 * Records of X servers, and of input devices, in order of time. Fields that a kind of record does
 * not have are 0.
 */
struct tipme_stages {
	uint32_t count;
	const uint64_t *ts_ns;
	const uint64_t *duration_ns; /* x_request, x_flush, x_idle */
	const uint8_t *type; /* TIPME_INPUT, TIPME_X_DEVICE to TIPME_X_PAINTED */
	/* enum tipme_input_kind; x_client, x_grab, x_output_full, x_present: theirs */
	const uint8_t *kind;
	const uint32_t *tid; /* the server's thread */
	const uint32_t *server; /* number of the file, by which servers are told apart */
	const uint32_t *pid; /* the client's process */
	const uint16_t *client; /* the server's number of the client */
	const uint32_t *window, *input_seq;
	const uint16_t *request; /* major << 8 | minor */
	void *memory;
};

int tipme_stages_load(struct tipme_stages *st, struct tipme_episode *ep, uint64_t from_ns,
		      uint64_t to_ns);
void tipme_stages_free(struct tipme_stages *st);

#endif
