/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of one test share. */
#ifndef TIPME_GUI_MODEL_TESTS_H
#define TIPME_GUI_MODEL_TESTS_H

#include <glib.h>

void ok(gboolean good, const char *what);

/* Frees what was got. */
void is_text(char *got, const char *wanted);

/* The same for text of several lines, which cannot be the name of a test. */
void is_lines(char *got, const char *wanted, const char *what);

void test_charts(void);
void test_ticks(void);

#endif
