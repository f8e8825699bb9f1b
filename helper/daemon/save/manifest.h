/* SPDX-License-Identifier: GPL-2.0-only */
/* The facts of an episode, as JSON. */
#ifndef TIPMED_MANIFEST_H
#define TIPMED_MANIFEST_H

#include "identity.h"
#include "limitations.h"
#include "options.h"
#include "snapshot.h"
#include "suspends.h"

struct tipmed_manifest {
	const struct tipmed_options *opt;
	const struct tipmed_limits *limits;
	const struct tipmed_snapshot *snap;
	uint64_t recorder_start_ns;
	struct tipmed_suspends *suspends;
	struct tipme_kernel_lost lost; /* in the window of the episode */
	struct tipme_record_cost cost[TIPME_CLASSES + 1];
	uint32_t classes, classes_able;
	struct tipmed_identity_facts identity;
	uint64_t identity_count;
	bool identity_cut;
	uint64_t pictures_first_ns, pictures_last_ns, pictures_count;
};

/* The text, to be freed by the caller; NULL without memory. */
char *tipmed_manifest_text(const struct tipmed_manifest *manifest);

#endif
