/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tells the user in a line that the press was heard: as a notification of the desktop, or in a
 * small window that takes neither focus nor keys.
 */
#ifndef TIPME_AGENT_FEEDBACK_H
#define TIPME_AGENT_FEEDBACK_H

#include <X11/Xlib.h>
#include <stdbool.h>

struct agent_feedback;

/*
 * Without a display only notifications are left. `asks_s`: how long what asks may stay, 0: for
 * ever.
 */
struct agent_feedback *agent_feedback_new(Display *display, bool use_notifications, int asks_s);
void agent_feedback_free(struct agent_feedback *feedback);

/* A later text one takes the place of the one before. Does not wait. */
void agent_feedback_say(struct agent_feedback *feedback, const char *text);

/*
 * The text with a button: a notification that stays as long as the desktop's do, and takes the
 * place of no other. Calls `chosen` once, if and when the button is chosen. `free_arg` is called
 * when the offer is over. Where the desktop shows no notifications, `program` (tipme-dialog) shows
 * a notice; NULL: the line alone. `at_once`: the line comes besides, since a program takes its
 * time.
 */
struct agent_offer {
	const char *text, *button, *program;
	void (*chosen)(void *arg);
	void (*free_arg)(void *arg);
	void *arg;
	bool at_once;
};
void agent_feedback_offer(struct agent_feedback *feedback, const struct agent_offer *offer);

/* Takes one event of the display; false: it was not about our window. */
bool agent_feedback_event(struct agent_feedback *feedback, XEvent *event);

#endif
