/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tells the recorder of a latency over the threshold, with its records: what the kernel module does
 * by itself.
 */
#ifndef TIPME_MEASURE_LATENCY_TELL_H
#define TIPME_MEASURE_LATENCY_TELL_H

#include "kallsyms.h"
#include "latency.h"

struct tipme_teller {
	int fd; /* -1: no recorder runs */
	uint64_t told_ns;
	struct tipme_kallsyms *symbols; /* NULL: not permitted */
};

/* A latency of a thread in user space; what it points to stays the caller's. */
struct tipme_late {
	const struct tipme_cause *cause;
	uint64_t seen_ns;
	uint32_t tid;
	unsigned int priority;
	unsigned int sample_us;
	uint8_t sample_kind;
};

/* A stream of sound that ran dry, or over. */
struct tipme_xrun {
	const char *stream; /* pcmC0D0p */
	uint64_t at_ns, buffer_ns;
	uint32_t pid, tid; /* of its owner; of the thread that feeds it */
};

/*
 * Without a recorder there is nobody to tell, and nothing fails. Closing one that was never opened
 * is fine if fd is -1.
 */
void tipme_teller_open(struct tipme_teller *teller);
void tipme_teller_close(struct tipme_teller *teller);

/* Has an episode saved, one in five seconds at most. Never waits. */
void tipme_teller_tell(struct tipme_teller *teller, const struct tipme_late *late);
void tipme_teller_tell_xrun(struct tipme_teller *teller, const struct tipme_xrun *x);

#endif
