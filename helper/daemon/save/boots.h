/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In which order the boots came of which a library has episodes: no clock tells that surely, so the
 * library notes each boot once, behind the others, in its file `boots`: one boot id a line.
 */
#ifndef TIPMED_BOOTS_H
#define TIPMED_BOOTS_H

#define TIPMED_BOOT_ID_CHARS 36
#define TIPMED_BOOTS_MAX 1024 /* of more the oldest are forgotten */

struct tipmed_boots {
	unsigned int count;
	char id[TIPMED_BOOTS_MAX][TIPMED_BOOT_ID_CHARS + 1];
};

/* None where there is no such file, or a damaged one. */
void tipmed_boots_read(struct tipmed_boots *boots, int library_fd);
/* 1 for the oldest, `count` for the latest; 0: not known. */
unsigned int tipmed_boots_find(const struct tipmed_boots *boots, const char *id);
/*
 * Notes the present boot, if it is not there yet. Returns 0 or -errno: then episodes of it count as
 * older than all that are known.
 */
int tipmed_boots_note(int library_fd);
/* The present boot's id; empty where the kernel does not tell. */
void tipmed_boot_id(char id[TIPMED_BOOT_ID_CHARS + 1]);

#endif
