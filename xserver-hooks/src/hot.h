/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is executed and touched for each event and request lies together: a server that has slept finds nothing of it in the caches, and each page and
 * line that is not needed is time of the person's key.
 */
#ifndef TIPME_HOT_H
#define TIPME_HOT_H

/* Sections of such names have symbols at both ends. */
#define TIPME_HOT __attribute__((section("tipme_code")))
#define TIPME_HOT_DATA __attribute__((section("tipme_hot")))

#endif
