/* SPDX-License-Identifier: GPL-2.0-only */
/* The spans of one lane as a list model: items are made when they are asked for. */
#ifndef TIPME_GUI_SPAN_LIST_H
#define TIPME_GUI_SPAN_LIST_H

#include <gio/gio.h>

#include "lanes.h"

#define TIPME_TYPE_SPAN_ITEM (tipme_span_item_get_type())
G_DECLARE_FINAL_TYPE(TipmeSpanItem, tipme_span_item, TIPME, SPAN_ITEM, GObject)

struct _TipmeSpanItem {
	GObject parent_instance;
	TipmeSpan span;
	char *words;
};

#define TIPME_TYPE_SPAN_LIST (tipme_span_list_get_type())
G_DECLARE_FINAL_TYPE(TipmeSpanList, tipme_span_list, TIPME, SPAN_LIST, GObject)

TipmeSpanList *tipme_span_list_new(void);

/* Shows a lane (or NULL: nothing), which must live until the next call. Announces the change. */
void tipme_span_list_set(TipmeSpanList *self, const TipmeLanes *lanes, const TipmeLane *lane);

#endif
