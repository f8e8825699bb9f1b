/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tipme latency: what its parts share: options, the distributions that are measured, and their
 * sources.
 */
#ifndef TIPME_MEASURE_LATENCY_H
#define TIPME_MEASURE_LATENCY_H

#include <json-c/json.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "tipme_latency_uapi.h"

#define TIPME_LATENCY_MAX_CPUS 1024
#define TIPME_LATENCY_SAMPLES 4096 /* of one latency, at most */
#define TIPME_LATENCY_WORST 20 /* latencies whose causes are kept: the longest */

/* Stages that tracing programs tell apart, behind those of the module. */
enum tipme_traced_stage {
	TIPME_STAGE_ENTRY = TIPME_STAGES, /* expiry to the timer interrupt's entry */
	TIPME_STAGE_WAKING, /* from the timer's handler to the waking of the thread */
	TIPME_STAGE_SWITCH, /* from the waking until the CPU goes to the thread */
	TIPME_STAGE_RETURN, /* from there to its first look at the clock in user space */
	TIPME_ALL_STAGES
};

struct tipme_latency_options {
	unsigned int duration_s, period_us, threshold_us, sample_us;
	unsigned int every_s; /* so often a block ends, and the result is saved */
	unsigned int high_priority, medium_priority, user_priority;
};

/* One stage on one CPU. */
struct tipme_distribution {
	bool measured;
	uint64_t count, sum_ns, min_ns, max_ns, max_expiry_ns, over, skipped;
	uint64_t bucket[TIPME_LATENCY_BUCKETS];
};

struct tipme_cause {
	struct tipme_latency_causes about; /* its `samples` means nothing here */
	struct tipme_latency_sample *sample;
};

/* Samples of all latencies over the threshold, by their three innermost frames. */
#define TIPME_LATENCY_PLACE_FRAMES 3
#define TIPME_LATENCY_PLACES 8192

struct tipme_place {
	uint64_t frame[TIPME_LATENCY_PLACE_FRAMES]; /* 0: no more */
	uint64_t samples, irqs_off; /* samples 0: free */
};

struct tipme_latencies {
	/*
	 * In the main thread, as each block ends and once at the end; NULL: nobody wants to know.
	 */
	void (*minute)(struct tipme_latencies *all, int ended);
	void *minute_arg;
	uint64_t begun_ns, ended_ns; /* of measuring; 0: not yet */
	const char *source; /* module, tracing, timerlat, user */
	uint8_t sample_kind;
	unsigned int cpus;
	unsigned int cpu_number[TIPME_LATENCY_MAX_CPUS];
	struct tipme_distribution *stage[TIPME_LATENCY_MAX_CPUS]; /* TIPME_ALL_STAGES of them */
	struct tipme_cause cause[TIPME_LATENCY_WORST];
	unsigned int causes;
	uint64_t causes_seen;
	struct tipme_place *place; /* TIPME_LATENCY_PLACES of them */
	uint64_t samples_seen, samples_user, samples_unplaced;
};

/* Set by signals: measuring ends early, and what there is counts. */
extern volatile sig_atomic_t tipme_latency_ended;
/* ... by a signal, before its time. */
extern volatile sig_atomic_t tipme_latency_interrupted;

const char *tipme_latency_stage_name(unsigned int stage);
int tipme_latency_stage_of(const char *name); /* -1: none */

/* Fills in which CPUs there are, and makes room for them. Returns 0 or -errno. */
int tipme_latencies_make(struct tipme_latencies *all);
void tipme_latencies_free(struct tipme_latencies *all);
void tipme_distribution_count(struct tipme_distribution *d, uint64_t ns, uint64_t expiry_ns,
			      uint64_t threshold_ns);
/*
 * Counts the samples of a latency, and keeps it if it is one of the longest; what it points to
 * stays the caller's.
 */
void tipme_cause_take(struct tipme_latencies *all, const struct tipme_cause *c);
uint64_t tipme_latencies_over(const struct tipme_latencies *all);

/*
 * Sources. Both return 0, or -errno and a sentence in `why`; -ENOENT from the module's: it is not
 * there.
 */
int tipme_latency_module(struct tipme_latencies *all, const struct tipme_latency_options *opt,
			 char *why, size_t why_len);
int tipme_latency_user(struct tipme_latencies *all, const struct tipme_latency_options *opt,
		       char *why, size_t why_len);
/* As the user's, with the stages before the thread, by tracing programs. */
int tipme_latency_tracing(struct tipme_latencies *all, const struct tipme_latency_options *opt,
			  char *why, size_t why_len);
/* By the kernel's own tracer; -ENOENT: it has none. */
int tipme_latency_timerlat(struct tipme_latencies *all, const struct tipme_latency_options *opt,
			   char *why, size_t why_len);

/*
 * The form in which results are kept (docs/formats.md). Symbols are looked up now. The
 * distributions may go on being written: what a stage's buckets hold is what it says that it
 * counted. NULL: no memory.
 */
struct json_object *tipme_latencies_json(const struct tipme_latencies *all,
					 const struct tipme_latency_options *opt);
/*
 * Of the machine: governor, idle states, interrupt affinity, preemption, kernel options without
 * names.
 */
struct json_object *tipme_latency_facts(void);
/*
 * Table, histogram and causes of such an object, on standard output. Returns 0, or -EINVAL and what
 * is wrong in `why`.
 */
int tipme_latency_print(struct json_object *o, char *why, size_t why_len);

#endif
