/* SPDX-License-Identifier: GPL-2.0-only */
/* A page that shows what a verb says, as tables; its data "box" is where these stand. */
#ifndef TIPME_GUI_FACTS_PAGE_H
#define TIPME_GUI_FACTS_PAGE_H

#include "run.h"

GtkWidget *tipme_facts_page_new(void);

/* While a verb is on its way. */
void tipme_facts_page_set_busy(GtkWidget *page, gboolean busy);

/*
 * The tables of what came, or why none did; below them the verb with its rows (TipmeRow; NULL:
 * none).
 */
void tipme_facts_page_show(GtkWidget *page, const TipmeResult *result,
			   GPtrArray *(*tables_of)(struct json_object *), const char *verb,
			   GPtrArray *rows);

#endif
