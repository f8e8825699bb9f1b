/* SPDX-License-Identifier: GPL-2.0-only */
/* Deeds of which the kernel makes something slow: memory, unwritten data, a network, a fence. */
#ifndef LAB_DEEDS_KERNEL_H
#define LAB_DEEDS_KERNEL_H

#include <stddef.h>

/*
 * "PATH u|t PORT MS": a socket that a stage passes (tests/causes/stage.c), behind which nobody
 * answers. Returns it, or -errno.
 */
int lab_mute_open(const char *arg);

/* Asks there as a resolver does by UDP, as programs connect by TCP; gives up after so many ms. */
void lab_mute(int fd, const char *arg);

/* As one saves a document, and does not ask for it to be on the disk. */
void lab_write(int fd, long long bytes);

/* Memory that the kernel has swapped out; NULL: there is none. Each page must differ. */
char *lab_swapped_out(size_t bytes);
void lab_touch(char *memory, size_t bytes);

/* Memory in large pieces, used once and given back. */
void lab_huge(size_t bytes);

/* Waits for a fence that nobody signals, of the graphics driver vgem; it gives up after 10 s. */
void lab_fence(int card);

#endif
