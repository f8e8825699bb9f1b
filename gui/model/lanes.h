/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lanes of a timeline: what threads and CPUs did, from abi/episode/episode.h, sorted and without
 * overlap. Free of GTK. Built in one thread, read in another after it was handed over.
 */
#ifndef TIPME_GUI_LANES_H
#define TIPME_GUI_LANES_H

#include <gio/gio.h>

typedef enum {
	TIPME_LANE_NOTHING, /* idle, absent, not recorded */
	TIPME_LANE_BLOCKED,
	TIPME_LANE_RUNNABLE, /* waits for a CPU */
	TIPME_LANE_RUNNING,
	TIPME_LANE_EVENT, /* of an input device, a display server or its client */
	TIPME_LANE_STATES
} TipmeLaneState;

/* Waits of this length and more are marked at any zoom. */
#define TIPME_LANE_WORST_NS 100000

typedef struct {
	gint64 from_ns, to_ns; /* half-open */
	/*
	 * CPU lanes: the thread that ran; thread lanes: the CPU, G_MAXUINT32: not known; where it
	 * is blocked: the kernel stack, 0: not known; events: the client's process.
	 */
	guint32 who;
	guint8 state; /* TipmeLaneState */
	guint8 task_state; /* blocked: enum tipme_task_state; events: the record's type */
	guint8 prio; /* running: the kernel's priority, 0: not known; events: what kind of input */
} TipmeSpan;

typedef struct {
	char *name; /* "CPU 0", "xterm (17515)" */
	gboolean is_cpu, is_events; /* neither: a thread */
	gboolean samples; /* the lane of all samples */
	gboolean has_facts; /* events whose spans' `who` is a place in TipmeLanes.facts */
	guint32 process; /* of a thread */
	guint place; /* in which it was read */
	gboolean pinned;
	guint32 number; /* of the CPU, or the thread's */
	TipmeSpan *spans;
	guint count;
	gint64 *sums; /* private: prefix sums of each state, a row of TIPME_LANE_STATES for each
			 block */
	guint *waits; /* private: long waits before each block */
} TipmeLane;

/* What lasted beside threads, or a sample: of lanes that have facts. */
typedef struct {
	gint64 ns; /* how long it was */
	gint64 queued_ns; /* disk: how long it waited before; sample: for how long it stands */
	guint32 tid; /* who asked, waited, was interrupted, or ran */
	guint32 number; /* owner of the lock, interrupt line; sample: place in TipmeLanes.frames */
	guint16 cpu;
	guint8 type, kind; /* the record's; as struct tipme_waits has it */
	gboolean open; /* it was not over at the end */
} TipmeFact;

/* A message between two threads that have lanes, perhaps. */
typedef struct {
	gint64 ns;
	guint32 from, to;
} TipmeMessage;

#define TIPME_LANES_MOST_DISKS 16U

/* What one pixel or a run of equal pixels of a lane shows. */
typedef struct {
	int x, width;
	guint8 state; /* that took most of the time */
	gboolean wait; /* a wait for a CPU of TIPME_LANE_WORST_NS or more lies in it, or an event */
} TipmePixels;

typedef struct {
	GPtrArray *lanes; /* TipmeLane */
	GPtrArray *said; /* char *: what could not be read */
	GHashTable *names; /* thread number to its name */
	GHashTable *processes; /* thread number to that of its process */
	GHashTable *stacks; /* number of a kernel stack to its frames, innermost first */
	GArray *facts; /* TipmeFact */
	GArray *messages; /* TipmeMessage, in order of time */
	GPtrArray *frames; /* char *: stacks of samples, "function TAB module" a line, innermost
			      first */
	GHashTable *irqs; /* interrupt line to its devices */
	GHashTable *stack_of; /* private: kernel and user stack to a place in frames */
	gint64 first_ns, last_ns;
	gint64 records_ns; /* where the records begin, not before first_ns: before it is inferred */
} TipmeLanes;

/* How an episode is read. */
typedef struct {
	const char *more; /* names or numbers of other threads, or how they begin; NULL: none */
	GCancellable *cancellable; /* or NULL */
	void (*progress)(double share, gpointer data); /* 0 to 1; or NULL */
	gpointer data;
	gint64 about_ns; /* when the problem began: lanes reach so far back; 0: there is none */
} TipmeReading;

/*
 * Reads the folder of an episode: a lane for each CPU, for each of `threads` and those of
 * TipmeReading.more; for input, requests, what was drawn, disks, locks, interrupts and samples.
 * NULL and an error, a sentence, where it does not open. What is damaged is said in `said`.
 */
TipmeLanes *tipme_lanes_load(const char *folder, const guint32 *threads, guint thread_count,
			     const TipmeReading *how, GError **error);

/*
 * Orders the lanes: pinned ones first (names, NULL behind the last), then as they were read; or
 * grouped: threads of one process stand together.
 */
void tipme_lanes_arrange(TipmeLanes *lanes, const char *const *pinned, gboolean grouped);

/* By which a lane is pinned: its name without the number of a thread. Free it. */
char *tipme_lane_pin_name(const TipmeLane *lane);

/* Without any lane. */
TipmeLanes *tipme_lanes_new(void);

/* Accepts NULL. */
void tipme_lanes_free(TipmeLanes *lanes);

/* A lane of spans (sorted, no overlap), which are copied. For tipme_lane_free(). */
TipmeLane *tipme_lane_new(char *name, const TipmeSpan *spans, guint count);
void tipme_lane_free(gpointer lane);

/* Time in each state within [from, to): the rest up to its length is TIPME_LANE_NOTHING. */
void tipme_lane_sums(const TipmeLane *lane, gint64 from_ns, gint64 to_ns,
		     gint64 sums[TIPME_LANE_STATES]);

/* Index of the span that covers a time, or else of the next one; `count` behind the last. */
guint tipme_lane_at(const TipmeLane *lane, gint64 ns);

/*
 * At most one element for each of `width` pixels of [from, to), in order; where two states took
 * as long, the later of TipmeLaneState wins. Elements are TipmePixels; nothing is left out.
 */
void tipme_lane_pixels(const TipmeLane *lane, gint64 from_ns, gint64 to_ns, int width,
		       GArray *pixels);

/* The stack of a sleep, a frame a line; NULL: not known. Free it. */
char *tipme_lanes_stack(const TipmeLanes *lanes, const TipmeSpan *span);

/* Text as a stranger may have made it, fit to be shown. Free it. */
char *tipme_lanes_safe(const char *text);

/* "xterm (812)": a name of a thread as a stranger may have made it, fit to be shown. Free it. */
char *tipme_lanes_who(const char *comm, guint32 tid);

/* A span in words, for tables and screen readers. Free it. */
char *tipme_lanes_words(const TipmeLanes *lanes, const TipmeLane *lane, const TipmeSpan *span);

#endif
