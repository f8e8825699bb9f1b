// SPDX-License-Identifier: GPL-2.0-only
/* A button that says by its tooltip how the same is done in a terminal, and by keys. */
#include "config.h"

#include "actions.h"
#include "pages.h"
#include "language.h"

GtkWidget *tipme_action_button(const char *name)
{
	const TipmeAction *action = tipme_action_find(name);
	GtkWidget *button = gtk_button_new_with_label(_(action->words));
	g_autofree char *detailed = g_strconcat("win.", name, NULL);
	g_autofree char *tip = g_strdup_printf("tipme %s", action->verb);
	guint key = 0;
	GdkModifierType modifiers = 0;

	if (action->keys && gtk_accelerator_parse(action->keys, &key, &modifiers)) {
		g_autofree char *label = gtk_accelerator_get_label(key, modifiers);
		char *both = g_strdup_printf("%s (%s)", tip, label);

		g_free(tip);
		tip = both;
	}
	gtk_actionable_set_action_name(GTK_ACTIONABLE(button), detailed);
	gtk_widget_set_tooltip_text(button, tip);
	return button;
}
