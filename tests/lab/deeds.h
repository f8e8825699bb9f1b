/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a client of the laboratory does before it answers: computes, sleeps, waits for a lock, a
 * disk, another process.
 */
#ifndef LAB_DEEDS_H
#define LAB_DEEDS_H

/*
 * Takes a list like "compute 300,ask /path/to/socket": what each later deeds_do() will do, in this
 * order. Says what is wrong with it on stderr and returns -EINVAL, or -errno where something could
 * not be prepared.
 */
int deeds_open(const char *list);

/*
 * Does all of them. roundtrip() asks the X server something and waits for the answer; NULL: the
 * client cannot.
 */
void deeds_do(void (*roundtrip)(void *arg), void *arg);

/* Asks who has the selection for it, and gives up after so many ms; a client that can sets it. */
extern void (*deeds_paste)(long long ms);

/* Writes what happened to the file named by LAB_TRUTH; call it after the answer is drawn. */
void deeds_tell(void);

#endif
