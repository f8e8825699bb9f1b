// SPDX-License-Identifier: GPL-2.0-only
/* Each page keeps the id of the episode that was open when it was filled. */
#include "config.h"

#include "follow.h"

#include <string.h>

#define AT "episode that was open"

/* It belongs to the caller; NULL: none, or it is not in the library. */
static TipmeRow *current_new(GtkWidget *episodes, TipmeSession *session)
{
	const char *open = tipme_session_episode(session);
	g_autoptr(GPtrArray) chosen = tipme_episodes_page_chosen(episodes);
	TipmeRow *row = NULL;

	if (open)
		row = tipme_episodes_page_find(episodes, open);
	else if (chosen->len)
		row = g_ptr_array_index(chosen, 0);
	return row ? g_object_ref(row) : NULL;
}

void tipme_follow(GtkWidget *page, void (*set)(GtkWidget *page, GPtrArray *rows),
		  GtkWidget *episodes, TipmeSession *session, gboolean told)
{
	g_autoptr(TipmeRow) row = current_new(episodes, session);
	g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_object_unref);

	if (!row || !g_strcmp0(g_object_get_data(G_OBJECT(page), AT), row->id))
		return;
	g_object_set_data_full(G_OBJECT(page), AT, g_strdup(row->id), g_free);
	g_ptr_array_add(rows, g_object_ref(row));
	if (!told)
		set(page, rows);
}
