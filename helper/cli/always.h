/* SPDX-License-Identifier: GPL-2.0-only */
/* The recorder and the agent, now and at each login; and by a question of the desktop. */
#ifndef TIPME_CLI_ALWAYS_H
#define TIPME_CLI_ALWAYS_H

#include "cli.h"

/*
 * `tipme start --always`: says in four lines what is recorded. Returns an exit status, after
 * saying what went wrong.
 */
int cli_start_always(void);

/* `tipme stop --for-good`: what the other has set up is gone. What was saved stays. */
int cli_stop_for_good(void);

/*
 * `tipme start --ask`: starts the recorder by the right that polkit asks the user for: the
 * service by systemctl, or by pkexec where no systemd runs. Where pkexec is missing, the user's
 * own recorder. A recorder that runs is enough.
 */
int cli_start_ask(void);

#endif
