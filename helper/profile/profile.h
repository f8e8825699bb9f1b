/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tipme profile: what its parts share. Answers are found in the records of display sources
 * (answers.c), counted by application, kind and stage (table.c), and each moment of the session is
 * waiting, thinking or background (moments.c).
 */
#ifndef TIPME_PROFILE_H
#define TIPME_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "tipme_latency_uapi.h" /* the buckets of distributions */
#include "tipme_records.h"

#define TIPME_MS_NS 1000000ULL

/* --- kinds and stages --- */

enum tipme_profile_kind {
	TIPME_KIND_KEY,
	TIPME_KIND_BUTTON,
	TIPME_KIND_MOTION,
	TIPME_KIND_WHEEL,
	TIPME_KIND_TOUCH,
	TIPME_KINDS
};

/* The stages of one answer; those before the last add up to it. */
enum tipme_profile_stage {
	/* from the kernel, or the server's waking, until the server worked on it */
	TIPME_PROFILE_READ,
	TIPME_PROFILE_SENT, /* until it was sent to the client */
	TIPME_PROFILE_DRAWN, /* until the screen began to change */
	TIPME_PROFILE_FINISHED, /* until it had changed */
	TIPME_PROFILE_RESPONSE, /* all of them */
	TIPME_PROFILE_STAGES
};

extern const char *const tipme_profile_kinds[TIPME_KINDS];
extern const char *const tipme_profile_stages[TIPME_PROFILE_STAGES];

/* --- answers --- */

enum tipme_outcome {
	TIPME_ANSWERED,
	TIPME_WITHOUT_EFFECT, /* the client came to rest, and had changed nothing */
	TIPME_CLIENT_GONE, /* it closed its connection before */
	TIPME_UNANSWERED /* it still had not answered when recording ended */
};

struct tipme_answer {
	uint32_t pid; /* 0: not a local process, or the pointer itself */
	uint16_t client; /* the server's number of it */
	uint8_t kind, outcome;
	bool ahead; /* typed before the answer to an earlier one: one change answered both */
	bool pointer; /* the pointer moved, and that was the answer */
	uint64_t entered_ns, device_ns, deliver_ns, first_ns, end_ns;
};

#define TIPME_PENDING 256
#define TIPME_DEVICES 256
#define TIPME_INPUTS 64

struct tipme_pending {
	struct tipme_answer a;
	uint32_t seq;
	uint16_t device;
	bool used, closed, dropped, release, overtaken, seen_busy, shared;
	bool whole; /* all of its answer is drawn: only its last picture is waited for */
	uint32_t picture; /* the callback of that; 0: none */
	uint64_t number; /* order of delivery, over all sources */
	uint64_t changed_ns; /* the last change that belongs to it */
	uint64_t worked_ns; /* that the client has worked since, as far as it was seen */
	uint32_t server_ms;
};

/* What is known of Wayland compositors and their clients (answers_wayland.c). */
#define TIPME_PICTURES 64
#define TIPME_METHODS 8

struct tipme_wayland {
	bool is; /* there was a record of one */
	uint32_t seq; /* of input events: we number them */
	struct {
		uint64_t ns;
		uint32_t client, object;
		uint8_t kind, what;
	} last; /* that was told */
	/* The last motion that counts, and wheel: until the client draws, others wait with it. */
	uint64_t motion_ns, wheel_ns;
	uint32_t motion_client, wheel_client;
	struct {
		uint64_t ns;
		uint32_t seq;
	} method[TIPME_METHODS]; /* keys that input methods have, the oldest first */
	unsigned int methods;
	struct {
		uint64_t ns;
		uint32_t pid, callback;
		uint16_t client;
	} picture[TIPME_PICTURES]; /* that their compositor has not used yet */
};

/* One display source: what is known of its input events, and which are not answered yet. */
struct tipme_answers {
	uint64_t wakeup_ns, patience_ns;
	unsigned int held; /* buttons */
	struct {
		uint64_t entered_ns, device_ns;
		uint32_t seq, server_ms;
		uint16_t device;
		uint8_t kind;
	} device[TIPME_DEVICES];
	struct {
		uint64_t ns;
		uint8_t kind;
	} input[TIPME_INPUTS];
	unsigned int inputs;
	struct tipme_pending pending[TIPME_PENDING]; /* in order of delivery, from `first` on */
	unsigned int first, count;
	uint64_t last_ns; /* of all records */
	uint64_t last_drag_go_ns;
	struct tipme_wayland wayland;
	uint64_t lost; /* events for which there was no room */
	/* Called in order of delivery, once each answer is complete. */
	void (*done)(void *arg, const struct tipme_answer *a);
	/* Whether events of this process count; NULL: all. */
	bool (*wanted)(void *arg, uint32_t pid);
	void *arg;
};

/* `patience_ns`: an event whose client nobody looks at counts as without effect after that. */
void tipme_answers_init(struct tipme_answers *s, uint64_t patience_ns);

/* Takes one record; they come in order of time. */
void tipme_answers_record(struct tipme_answers *s, const struct tipme_head *rec);

/* All records up to `now_ns` have been taken: closes what is complete. */
void tipme_answers_until(struct tipme_answers *s, uint64_t now_ns);

/* How a client was seen. */
struct tipme_seen {
	uint32_t pid;
	bool rests; /* in its event loop */
	bool served; /* the server has come to all that it had asked for by then */
	uint64_t ran_ns; /* its CPU time since it was last seen */
	uint64_t now_ns;
};

/*
 * All records of what was served by then have been taken. Who rests, and has not computed either,
 * does not answer any more, unless the server still has to show that it did.
 */
void tipme_answers_seen(struct tipme_answers *s, const struct tipme_seen *seen);

/* Whether anybody has not answered; calls fn for each such process, once. */
bool tipme_answers_waiting(const struct tipme_answers *s, void (*fn)(void *arg, uint32_t pid),
			   void *arg);

/* When the oldest event entered that is not handed on yet; UINT64_MAX: none. */
uint64_t tipme_answers_oldest_ns(const struct tipme_answers *s);

/* Recording ends: what is open is handed on as such. */
void tipme_answers_end(struct tipme_answers *s, uint64_t now_ns);

/* --- counts --- */

#define TIPME_APPS 64 /* the last is "(others)" */
#define TIPME_PAIRS 96 /* of application and kind */
#define TIPME_ROWS 8192
#define TIPME_THRESHOLDS 8
#define TIPME_NAME 32

extern const unsigned int tipme_profile_thresholds_ms[TIPME_THRESHOLDS];

struct tipme_counts {
	uint64_t count, sum_ns, max_ns;
	uint32_t bucket[TIPME_LATENCY_BUCKETS];
	/* ns, of those in the bucket: so curves of sums are exact */
	uint64_t sum[TIPME_LATENCY_BUCKETS];
};

struct tipme_pair {
	uint8_t app, kind;
	uint64_t events, answered, ahead, without_effect, gone, unanswered;
	struct tipme_counts *stage; /* TIPME_PROFILE_STAGES of them */
};

/* What happened to one pair in one row's minutes. */
struct tipme_row {
	uint32_t row;
	uint16_t pair;
	uint32_t events, answered, over[TIPME_THRESHOLDS];
	uint64_t sum_ns, max_ns;
};

struct tipme_app {
	char name[TIPME_NAME];
	uint64_t waiting_ns, thinking_ns, background_ns;
};

struct tipme_table {
	uint64_t begin_ns, minute_ns; /* a row lasts `minutes` of these */
	unsigned int minutes;
	struct tipme_app app[TIPME_APPS];
	unsigned int apps;
	struct tipme_pair pair[TIPME_PAIRS];
	unsigned int pairs;
	struct tipme_row row[TIPME_ROWS];
	unsigned int rows;
	uint64_t lost; /* answers that found no room */
};

void tipme_table_init(struct tipme_table *t, uint64_t begin_ns);
void tipme_table_free(struct tipme_table *t);

/* The number of the application of this name; those without room share the last. */
unsigned int tipme_table_app(struct tipme_table *t, const char *name);

void tipme_table_add(struct tipme_table *t, unsigned int app, const struct tipme_answer *a);

/* --- moments --- */

/*
 * The state machine of Endo et al. 1996, figure 2. The session is cut where events enter and where
 * answers are complete. From the first to the second its application is waited for; else the time
 * is
 * background as far as the application in use computed, and thinking for the rest.
 *
 * When somebody turned to another application is as good as the time of a key. So the time in which
 * nobody waits is told by minutes: it belongs to the application that had most events in its
 * minute.
 */
struct tipme_moments {
	uint64_t begin_ns, until_ns; /* all before is classified */
	uint64_t window_ns; /* all before is in the table, or in the sums of the minute */
	uint64_t ran_ns, waited_ns; /* when CPU times were compared last; waiting since then */
	uint64_t beside[TIPME_APPS]; /* CPU time while nobody waited, not in the table yet */
	unsigned int in_use, minutes_app; /* now; of the last whole minute */
	uint64_t minute; /* of the sums below */
	uint32_t events[TIPME_APPS];
	uint64_t waited[TIPME_APPS], gap[TIPME_APPS]; /* in this window */
	uint64_t thinking_ns, background_ns; /* in this minute */
};

void tipme_moments_init(struct tipme_moments *m, uint64_t begin_ns, unsigned int app);

/* Somebody waited for `app` from `from_ns` to `to_ns`; calls come in order of from_ns. */
void tipme_moments_wait(struct tipme_moments *m, unsigned int app, uint64_t from_ns,
			uint64_t to_ns);

/* Nobody waits at `now_ns`: what the application in use has computed since the last call. */
void tipme_moments_ran(struct tipme_moments *m, uint64_t ran_ns, uint64_t now_ns);

/*
 * Ends the window at `now_ns`, and adds to the table what it was. `last`: so does what is left of
 * the minute.
 */
void tipme_moments_look(struct tipme_moments *m, struct tipme_table *t, uint64_t now_ns, bool last);

/* --- what the machine does --- */

#define TIPME_CPU_USES 8
#define TIPME_IRQ_CLASSES 4
#define TIPME_SOFTIRQS 10

struct tipme_machine {
	uint64_t cpu_ms[TIPME_CPU_USES]; /* user, nice, system, idle, iowait, irq, softirq, steal */
	uint64_t irqs[TIPME_IRQ_CLASSES]; /* device, timer, between CPUs, other */
	uint64_t softirqs[TIPME_SOFTIRQS];
};

#define TIPME_MACHINE_ROWS 1440

struct tipme_machine_rows {
	struct tipme_machine last, row[TIPME_MACHINE_ROWS];
	uint32_t events[TIPME_MACHINE_ROWS];
	unsigned int rows, minutes; /* minutes of a row */
	unsigned int part; /* minutes that the last row has so far */
};

extern const char *const tipme_cpu_uses[TIPME_CPU_USES];
extern const char *const tipme_irq_classes[TIPME_IRQ_CLASSES];

/* What the kernel has counted since it was started. Returns 0 or -errno. */
int tipme_machine_read(struct tipme_machine *m);
void tipme_machine_begin(struct tipme_machine_rows *rows);
/* A minute has passed, with so many input events. */
void tipme_machine_minute(struct tipme_machine_rows *rows, uint32_t events);
const char *tipme_softirq_name(unsigned int i);

/* --- the file --- */

#define TIPME_WORST 32

struct tipme_worst {
	uint64_t response_ns;
	uint32_t row;
	unsigned int app;
	uint8_t kind;
	char episode[64], verdict[400], by[32];
};

struct tipme_profile {
	struct tipme_table table;
	struct tipme_moments moments;
	struct tipme_machine_rows machine;
	struct tipme_worst worst[TIPME_WORST];
	unsigned int worsts;
	char began[32], source[16]; /* UTC, to the minute; what kind of display source */
	bool exact; /* its times are */
	uint64_t lost_records;
	uint64_t own_cpu_ns;
	bool key_times;
};

/* Writes the profile beside `file` and renames it, mode 0600. Returns 0, or -errno and why. */
int tipme_profile_write(const struct tipme_profile *p, const char *file, uint64_t now_ns, char *why,
			size_t why_len);

/* Begins FILE.times anew, mode 0600. Returns 0 or -errno. */
int tipme_times_open(const char *file, FILE **to);
void tipme_times_put(FILE *to, const char *app, const struct tipme_answer *a);

/* --- sources --- */

/*
 * Takes the records of a file of an episode (x-PID.rec) as if they came now. Returns 0 or -errno.
 */
int tipme_profile_replay(const char *file, void (*fn)(void *arg, const struct tipme_head *rec),
			 void *arg, uint32_t *source);

struct tipme_rings;

/*
 * What the recorder answers to `rings` is taken; each ring has a number that stays its own. NULL:
 * no memory.
 */
struct tipme_rings *tipme_rings_new(void);
void tipme_rings_free(struct tipme_rings *r);

/* Connects, and asks for rings that are new. Returns how many there are, or -errno and why. */
int tipme_rings_update(struct tipme_rings *r, char *why, size_t why_len);

/* Those of X servers, and that of Wayland compositors. */
#define TIPME_RINGS 17

struct tipme_ring_facts {
	bool used, exact, wayland;
	uint64_t lost;
};

/* Reads what is new of ring `i`: fn gets each record, unless the user wants no input recorded. */
void tipme_rings_follow(struct tipme_rings *r, unsigned int i, uint64_t now_ns,
			void (*fn)(void *arg, const struct tipme_head *rec), void *arg);
const struct tipme_ring_facts *tipme_rings_facts(const struct tipme_rings *r, unsigned int i);

/* An X server that has a ring: what it is sent as a Wayland client, it tells better itself. */
bool tipme_rings_is_server(const struct tipme_rings *r, uint32_t pid);
/* Whether the server of ring `i` waits for something to do, as far as anybody can tell. */
bool tipme_rings_rests(const struct tipme_rings *r, unsigned int i);
/* Processes that talk with the user on the recorder's behalf. */
bool tipme_rings_is_agent(const struct tipme_rings *r, uint32_t pid);

/*
 * Asks for an episode; `saved` is called, from tipme_rings_update(), with the folder of each that
 * was asked for here.
 */
int tipme_rings_trigger(struct tipme_rings *r, const char *words);
void tipme_rings_on_saved(struct tipme_rings *r, void (*saved)(void *arg, const char *folder),
			  void *arg);
/* To be polled for reading; -1: not connected. */
int tipme_rings_fd(const struct tipme_rings *r);

/* --- processes --- */

/* Fills in the name of a process's program, made fit for a terminal. */
void tipme_process_name(uint32_t pid, char *name, size_t cap);
/* CPU time of all its threads; 0: it is gone. */
uint64_t tipme_process_ran_ns(uint32_t pid);
/*
 * Whether its main thread sleeps until something comes on any of several descriptors, as event
 * loops do; or it is gone.
 */
bool tipme_process_rests(uint32_t pid);
/* How it is at `now_ns`; *ran_ns is its CPU time when it was last seen, and now. */
struct tipme_seen tipme_process_see(uint32_t pid, uint64_t *ran_ns, uint64_t now_ns);
bool tipme_process_is_below(uint32_t pid, uint32_t ancestor);

#endif
