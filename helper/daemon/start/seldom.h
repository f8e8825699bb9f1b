/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TIPMED_SELDOM_H
#define TIPMED_SELDOM_H

#include <stdbool.h>

/*
 * To be called after tipmed_memory_lock(), with its answer: takes what will run into memory, and
 * gives back what only the start has used.
 */
void tipmed_programs_settle(bool locked);

#endif
