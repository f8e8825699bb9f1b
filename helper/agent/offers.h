/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the agent offers by a button: to start recording, and the details of what was saved
 * without a human.
 */
#ifndef TIPME_AGENT_OFFERS_H
#define TIPME_AGENT_OFFERS_H

#include "feedback.h"

/* Nothing could be saved: [Start recording], by `tipme start --ask`. What comes of it is said. */
void agent_offer_start(struct agent_feedback *feedback, const char *dialog);

/*
 * An episode was saved without a human: what it was, as `tipme diagnose` says it, and [Details],
 * which opens it in the window, or the question about it where the window is not installed. Looks
 * for the cause first, beside the main loop. `dialog`: the program of the question, NULL: none is
 * wanted.
 */
void agent_offer_details(struct agent_feedback *feedback, const char *dialog, const char *path);

/*
 * Asks about the episode in the folder `path`, for `timeout_s` (0: for ever). Returns whether the
 * program could be started.
 */
bool agent_question_start(const char *dialog, const char *path, int timeout_s);

#endif
