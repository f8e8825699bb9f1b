/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TIPMED_SELDOM_H
#define TIPMED_SELDOM_H

/* To be called when all is locked: gives back what only the start has used. */
void tipmed_seldom_let_go(void);

#endif
