// SPDX-License-Identifier: GPL-2.0-only
/* Written when a page is left, when an episode has come, and when the window closes. */
#include "config.h"

#include "remember.h"

#include "pages.h"

struct TipmeRemember {
	GtkWindow *window;
	AdwViewStack *stack;
	GtkWidget *timeline;
	TipmeSession *session;
	TipmeState *state;
	gboolean keep;
};

static void set(char **text, const char *to)
{
	if (text == NULL || !g_strcmp0(*text, to))
		return;
	g_free(*text);
	*text = g_strdup(to);
}

static void save(TipmeRemember *remember)
{
	TipmeState *state = remember->state;
	const TipmeView *view = tipme_session_view(remember->session);

	if (!remember->keep)
		return;
	state->maximized = gtk_window_is_maximized(remember->window);
	gtk_window_get_default_size(remember->window, &state->width, &state->height);
	set(&state->page, adw_view_stack_get_visible_child_name(remember->stack));
	set(&state->episode, tipme_session_episode(remember->session));
	state->from_ns = state->episode ? view->from_ns : 0;
	state->to_ns = state->episode ? view->to_ns : 0;
	state->table = tipme_timeline_page_table(remember->timeline, state->table);
	g_strfreev(state->pinned);
	state->pinned = g_strdupv((char **)tipme_session_pinned(remember->session));
	state->grouped = tipme_session_is_grouped(remember->session);
	tipme_state_save(state);
}

static gboolean on_close(GtkWindow *window, TipmeRemember *remember)
{
	save(remember);
	return GDK_EVENT_PROPAGATE;
}

TipmeRemember *tipme_remember_new(GtkWindow *window, AdwViewStack *stack, GtkWidget *timeline,
				  TipmeSession *session, gboolean keep)
{
	TipmeRemember *remember = g_new0(TipmeRemember, 1);
	TipmeState *state = tipme_state_load();

	*remember = (TipmeRemember){ window, stack, timeline, g_object_ref(session), state, keep };
	if (!keep)
		return remember;
	if (state->width && state->height)
		gtk_window_set_default_size(window, state->width, state->height);
	if (state->maximized)
		gtk_window_maximize(window);
	tipme_timeline_page_set_table(timeline, state->table);
	tipme_session_arrange(session, (const char *const *)state->pinned, state->grouped);
	if (state->episode)
		tipme_session_restore(session, state->episode, state->from_ns, state->to_ns);
	g_signal_connect(window, "close-request", G_CALLBACK(on_close), remember);
	g_signal_connect_swapped(stack, "notify::visible-child", G_CALLBACK(save), remember);
	return remember;
}

void tipme_remember_free(TipmeRemember *remember)
{
	if (!remember)
		return;
	tipme_state_free(remember->state);
	g_object_unref(remember->session);
	g_free(remember);
}

const TipmeState *tipme_remember_state(TipmeRemember *remember)
{
	return remember->state;
}

void tipme_remember_newest(TipmeRemember *remember, const char *id)
{
	if (!g_strcmp0(remember->state->newest, id))
		return;
	set(&remember->state->newest, id);
	save(remember);
}
