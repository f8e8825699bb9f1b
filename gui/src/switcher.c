// SPDX-License-Identifier: GPL-2.0-only
/* The menu has the actions of the pages, which the keys have, too. */
#include "config.h"

#include "switcher.h"

#include "language.h"

static void on_page(AdwViewStack *stack, GParamSpec *property, GtkMenuButton *button)
{
	GtkWidget *page = adw_view_stack_get_visible_child(stack);

	if (page)
		gtk_menu_button_set_label(button, adw_view_stack_page_get_title(
							  adw_view_stack_get_page(stack, page)));
}

static GtkWidget *menu_new(AdwViewStack *stack)
{
	GtkWidget *button = gtk_menu_button_new();
	g_autoptr(GtkSelectionModel) pages = adw_view_stack_get_pages(stack);
	g_autoptr(GMenu) menu = g_menu_new();

	for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(pages)); i++) {
		g_autoptr(AdwViewStackPage) page = g_list_model_get_item(G_LIST_MODEL(pages), i);
		g_autofree char *action =
			g_strconcat("win.page-", adw_view_stack_page_get_name(page), NULL);

		g_menu_append(menu, adw_view_stack_page_get_title(page), action);
	}
	gtk_menu_button_set_menu_model(GTK_MENU_BUTTON(button), G_MENU_MODEL(menu));
	gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Pages"), -1);
	g_signal_connect_object(stack, "notify::visible-child", G_CALLBACK(on_page), button, 0);
	on_page(stack, NULL, GTK_MENU_BUTTON(button));
	return button;
}

GtkWidget *tipme_switcher_new(AdwViewStack *stack)
{
	GtkWidget *squeezer = adw_squeezer_new(), *switcher = adw_view_switcher_new();

	adw_view_switcher_set_stack(ADW_VIEW_SWITCHER(switcher), stack);
	adw_view_switcher_set_policy(ADW_VIEW_SWITCHER(switcher), ADW_VIEW_SWITCHER_POLICY_NARROW);
	adw_squeezer_add(ADW_SQUEEZER(squeezer), switcher);
	adw_squeezer_add(ADW_SQUEEZER(squeezer), menu_new(stack));
	adw_squeezer_set_homogeneous(ADW_SQUEEZER(squeezer), FALSE);
	return squeezer;
}
