/* SPDX-License-Identifier: GPL-2.0-only */
/* tipme gui --dump: what the window would show, and what its timeline's keys lead to, as text. */
#ifndef TIPME_GUI_DUMPED_H
#define TIPME_GUI_DUMPED_H

#include "dump.h"

typedef struct {
	const char *episode; /* id, folder, file or `last`; NULL: the list */
	char *threads; /* as TipmeReading.more has them */
	char **pinned; /* lanes; NULL: none */
	gboolean grouped;
	TipmeDumped what;
} TipmeDumpWish;

/* Returns the exit status. */
int tipme_dump_run(const TipmeDumpWish *wish);

#endif
