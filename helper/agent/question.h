/* SPDX-License-Identifier: GPL-2.0-only */
/* The question what happened. */
#ifndef TIPME_AGENT_QUESTION_H
#define TIPME_AGENT_QUESTION_H

/*
 * About the episode in the folder `path`. Returns when it is closed, or nobody has answered
 * within `timeout_s` (0: for ever).
 */
void question_ask(const char *path, int timeout_s);

#endif
