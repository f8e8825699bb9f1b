/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of interrupt lines and disks, as records name them by number. */
#ifndef TIPMED_DEVICES_H
#define TIPMED_DEVICES_H

#include <stddef.h>

/* Emits irq_name and disk_name records; stops at the first value but 0 and returns it. */
int tipmed_devices_names(int (*emit)(void *arg, const void *rec, size_t len), void *arg);

#endif
