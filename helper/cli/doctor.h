/* SPDX-License-Identifier: GPL-2.0-only */
/* What doctor looks at: one table, each check by itself, none of them disturbs anything. */
#ifndef TIPME_DOCTOR_H
#define TIPME_DOCTOR_H

#include <json-c/json.h>
#include <stdbool.h>

/* DOCTOR_NONE is worse than any finding: as a limit it lets none through. */
enum doctor_state { DOCTOR_OK, DOCTOR_LIMITED, DOCTOR_MISSING, DOCTOR_NONE };

struct doctor_finding {
	enum doctor_state state;
	char meaning[320]; /* what is so, and what that costs */
	char action[200]; /* what to do; empty: nothing */
	bool wants_root; /* more rights would mend it */
};

struct doctor_session {
	struct json_object *status; /* of the recorder; 0: none runs, or it does not answer us */
	bool exact_recorder; /* and it takes its records from the kernel itself */
	bool hooks; /* the X server of DISPLAY has hooks */
	bool observed; /* it has none; tipme-x-observer tells of it */
};

struct doctor_check {
	const char *name;
	bool needed; /* without it nothing can be recorded */
	void (*look)(struct doctor_session *session, struct doctor_finding *finding);
};

extern const struct doctor_check doctor_machine_checks[]; /* a check without a name ends them */
extern const struct doctor_check doctor_session_checks[];

/* Action and format are marked for translation; what is filled in comes translated. */
void doctor_say(struct doctor_finding *finding, enum doctor_state state, const char *action,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
