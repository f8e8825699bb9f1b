// SPDX-License-Identifier: GPL-2.0-only
/* A virtual list: a lane may have millions of spans, a table shows some dozens. */
#include "config.h"

#include "span_list.h"

G_DEFINE_FINAL_TYPE(TipmeSpanItem, tipme_span_item, G_TYPE_OBJECT)

static void tipme_span_item_finalize(GObject *object)
{
	g_free(TIPME_SPAN_ITEM(object)->words);
	G_OBJECT_CLASS(tipme_span_item_parent_class)->finalize(object);
}

static void tipme_span_item_class_init(TipmeSpanItemClass *klass)
{
	G_OBJECT_CLASS(klass)->finalize = tipme_span_item_finalize;
}

static void tipme_span_item_init(TipmeSpanItem *self)
{
}

struct _TipmeSpanList {
	GObject parent_instance;
	const TipmeLanes *lanes;
	const TipmeLane *lane;
	guint count; /* the lane may be gone when the next is set */
};

static GType get_item_type(GListModel *model)
{
	return TIPME_TYPE_SPAN_ITEM;
}

static guint get_n_items(GListModel *model)
{
	TipmeSpanList *self = TIPME_SPAN_LIST(model);

	return self->count;
}

static gpointer get_item(GListModel *model, guint position)
{
	TipmeSpanList *self = TIPME_SPAN_LIST(model);
	TipmeSpanItem *item;

	if (position >= get_n_items(model))
		return NULL;
	item = g_object_new(TIPME_TYPE_SPAN_ITEM, NULL);
	item->span = self->lane->spans[position];
	item->words = tipme_lanes_words(self->lanes, self->lane, &item->span);
	return item;
}

static void list_model_init(GListModelInterface *iface)
{
	iface->get_item_type = get_item_type;
	iface->get_n_items = get_n_items;
	iface->get_item = get_item;
}

G_DEFINE_FINAL_TYPE_WITH_CODE(TipmeSpanList, tipme_span_list, G_TYPE_OBJECT,
			      G_IMPLEMENT_INTERFACE(G_TYPE_LIST_MODEL, list_model_init))

static void tipme_span_list_class_init(TipmeSpanListClass *klass)
{
}

static void tipme_span_list_init(TipmeSpanList *self)
{
}

TipmeSpanList *tipme_span_list_new(void)
{
	return g_object_new(TIPME_TYPE_SPAN_LIST, NULL);
}

void tipme_span_list_set(TipmeSpanList *self, const TipmeLanes *lanes, const TipmeLane *lane)
{
	guint removed = get_n_items(G_LIST_MODEL(self));

	self->lanes = lanes;
	self->lane = lane;
	self->count = lane ? lane->count : 0;
	g_list_model_items_changed(G_LIST_MODEL(self), 0, removed, get_n_items(G_LIST_MODEL(self)));
}
